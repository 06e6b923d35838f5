"""Why something cannot take part in a graph: leaves and results, views, what is assigned, gradients of a function."""
from __future__ import annotations

import math
import re

from ..._tensor import Tensor
from .facts import CLASH, GONE, GOOD, Cell, Cure, Finding, Group, Groups, ShapeRow, Shapes, Step, Steps
from .scene import Scene
from .shapes import cells, sizes, text


def one_of_views(scene: Scene, match: re.Match[str]) -> Finding:
    number, operator = match[1], match[2].removesuffix("Backward0").lower()
    tensor = scene.of_call(scene.innermost)[0]
    call = scene.innermost
    steps = (Step(f"{operator}()", "makes several views at once", GOOD), Step(tensor.label, f"output {number}"),
             Step("write in place", f"into {tensor.label}", CLASH))  # fmt: skip
    cures = [Cure("compute a new tensor", f"{tensor.label} = {call.anew(tensor.label)}")] if call else []
    return Finding(
        f"{tensor.label} is one of several views that {operator} made: it cannot be written in place",
        "A write in place through a view changes the graph of what it is a view of. For functions that return several "
        "views at once autograd does not do that.",
        (*cures, Cure("or take one view alone, which may be written", "part = x[0]"),
         Cure("or write into a copy", f"{tensor.label} = {tensor.label}.clone()")),
        (Steps(steps),),
    )  # fmt: skip


def needs_grad(scene: Scene, match: re.Match[str]) -> Finding:
    tensor = scene.of_innermost()[0]
    what = "keep its gradient" if "retain" in match[0] else "call a hook with its gradient"
    cures = [Cure("ask for gradients before it is used", f"{tensor.label}.requires_grad_()")]
    if not tensor.dtype.startswith(("float", "bfloat", "complex")):
        cures = [Cure("only floats have gradients", f"{tensor.label}.float().requires_grad_()")]
    return Finding(
        f"{tensor.label} does not require grad: there will be no gradient",
        f"Nothing is computed for it in backward, so there is nothing to {what}.",
        (*cures, Cure("or look whether it was computed under no_grad or after detach()")),
        (Steps((Step("backward", "goes where grad is required"), Step(tensor.label, "does not require it", CLASH)), "", "↛"),),
    )  # fmt: skip


def number_of_gradients(scene: Scene, match: re.Match[str]) -> Finding:
    function, wanted, got = match[1].removesuffix("Backward"), int(match[2]), int(match[3])
    return Finding(
        f"{function}.backward returned {got} gradient{'s' * (got != 1)}, {function}.forward took {wanted} argument"
        f"{'s' * (wanted != 1)}",
        "backward returns one gradient for each argument of forward, in that order, without ctx; None for one that "
        "needs none.",
        (Cure("return as many as forward has arguments", f"return {', '.join(['grad', 'None', '…'][:min(wanted, 3)])}"),),
        (Shapes((ShapeRow("arguments of forward", (Cell(str(wanted), GOOD),)),
                 ShapeRow("gradients returned", (Cell(str(got), CLASH),)))),),
        (),
    )  # fmt: skip


def shape_of_gradient(scene: Scene, match: re.Match[str]) -> Finding:
    function, number, got, wanted = match[1], match[2], sizes(match[3]), sizes(match[4])
    name = function.removesuffix("Backward")
    return Finding(
        f"{name} returned a gradient {text(got)} for an argument of shape {text(wanted)}",
        f"The gradient with index {number} belongs to the argument of forward at that place, and has its shape: one "
        "number for each element (or more, which are summed, where the argument was broadcast).",
        (Cure("return them in the order of forward's arguments, each in the shape of its own"),
         Cure("of a product with a matrix, the gradient is one with its transpose", "grad @ w.T, x.T @ grad")),
        (Shapes((ShapeRow("argument", cells(wanted, (), range(len(wanted)))),
                 ShapeRow("its gradient", cells(got, range(len(got)))))),),
        (),
    )  # fmt: skip


# -- requires_grad -------------------------------------------------------------------------------------------------


def needs_floats(scene: Scene, match: re.Match[str]) -> Finding:
    tensors = scene.of_innermost()
    label = next((t.dtype for t in tensors), "") or "an integer or bool dtype"
    return Finding(
        "only floats and complex numbers have gradients",
        "A gradient says how a result changes with small changes of a value; integers and bools have no small changes.",
        (Cure("make it of floats", "torch.tensor([1., 2.], requires_grad=True)"),
         Cure("or convert, before asking for gradients", "x.float().requires_grad_()")),
        (Groups((Group("can require grad", ("float16, bfloat16, float32, float64", "complex64, complex128"), GOOD),
                 Group("cannot", (label,), CLASH))),),
    )  # fmt: skip


def flag_of_result(scene: Scene, match: re.Match[str]) -> Finding:
    tensor = scene.of_innermost()[0]
    return Finding(
        f"{tensor.label} was computed: whether it requires grad follows from what it was computed from",
        f"Its grad_fn is {tensor.node}. Only a leaf, which no operator made, can be told not to require grad.",
        (Cure("a tensor over the same values outside the graph", f"{tensor.label}.detach()"),),
        (Steps((Step("leaf", "may be set", GOOD), Step(tensor.node), Step(tensor.label, "follows", CLASH))),),
    )


def inference(scene: Scene, match: re.Match[str]) -> Finding:
    tensors = scene.of_innermost()
    label = next((t.label for t in tensors if t.version is None), tensors[0].label if tensors else "the tensor")
    return Finding(
        f"{label} was made in inference mode, and autograd cannot take part in what is done with it",
        "Tensors made in inference_mode count no writes and know no views, which makes them cheap, and unfit for "
        "graphs.",
        (Cure("make a normal tensor of it", f"{label}.clone()"), Cure("or compute it where graphs may follow",
                                                                        "with torch.no_grad(): …")),
        (Steps((Step("inference_mode", "no versions, no graph", GONE), Step(label), Step("autograd", "", CLASH))),),
    )  # fmt: skip


def copied(scene: Scene, match: re.Match[str]) -> Finding:
    tensor = scene.of_innermost()[0]
    return Finding(
        f"{tensor.label} was computed: a deep copy would need a copy of its graph",
        "Leaves can be deep-copied. A computed tensor belongs to the graph that made it, of which there is only one.",
        (Cure("copy the values", f"{tensor.label}.detach().clone()"),
         Cure("copy inside the graph", f"{tensor.label}.clone()")),
        (Steps((Step(tensor.node or "its graph", "cannot be copied", CLASH), Step(tensor.label))),),
    )


def out_argument(scene: Scene, match: re.Match[str]) -> Finding:
    call = scene.outermost
    needing = [t for t in scene.of_call(call) if t.requires_grad]
    label = needing[0].label if needing else "an argument"
    return Finding(
        f"{label} requires grad, and {match[1]} was to write its result into out=",
        "A result that is written into a tensor that is there already has no place of its own in the graph.",
        (Cure("let it make a new tensor: leave out= away"),
         Cure("or write without recording", f"with torch.no_grad(): torch.{match[1]}(…, out=…)")),
        (Groups((Group("require grad", tuple(t.label for t in needing) or (label,), CLASH),
                 Group("written into", ("out",)))),),
    )  # fmt: skip


def assigned(scene: Scene, match: re.Match[str]) -> Finding:
    tensor, value = scene.local("tensor"), scene.local("value")
    one = scene.involved(tensor, "tensor")
    clear = Cure("to clear it", f"{one.label}.grad = None")
    if not isinstance(value, Tensor):
        kind = type(value).__name__
        return Finding(
            f"the gradient of {one.label} is a tensor or None, and was to become {kind}",
            f"What is assigned to {one.label}.grad must have one number for each of its elements.",
            (clear, Cure("or set its elements to one number", f"{one.label}.grad = torch.full_like({one.label}, …)")),
            (Groups((Group("given", (kind,), CLASH), Group("taken", ("Tensor", "None"), GOOD))),),
            (one,),
        )
    other = scene.involved(value, "grad")
    pairs = (("shape", text(one.shape), text(other.shape)), ("dtype", one.dtype, other.dtype),
             ("device", one.device, other.device))  # fmt: skip
    wrong = [name for name, mine, theirs in pairs if mine != theirs]
    rows = (ShapeRow(one.label, tuple(Cell(mine) for _, mine, _ in pairs)),
            ShapeRow(other.label, tuple(Cell(theirs, CLASH if name in wrong else GOOD) for name, _, theirs in pairs)))
    cures = () if "shape" in wrong else (Cure("convert it", f"{one.label}.grad = {other.label}.to({one.label})"),)
    if "shape" in wrong and math.prod(one.shape) == math.prod(other.shape):
        cures = (Cure("give it the shape", f"{one.label}.grad = {other.label}.view_as({one.label})"),)
    return Finding(
        f"a gradient of {one.label} must have its shape, dtype and device; its {' and '.join(wrong)} differs",
        f"The gradient says how much the result changes with each element of {one.label}, which an optimizer then changes "
        "by it.",
        (*cures, clear),
        (Shapes(rows, tuple(name for name, _, _ in pairs)),),
        (one, other),
    )

