"""Why there is no gradient: graphs that were never built, were used up, or were cut; tensors written too late."""
from __future__ import annotations

import linecache
import re
from typing import Any

from ..._autograd.accumulate import AccumulateGrad
from ..._tensor import Tensor
from ..writes import Write, suspected_writes, watching_writes, writes_to
from .facts import CLASH, GONE, GOOD, Cell, Cure, Finding, Group, Groups, Involved, ShapeRow, Shapes, Step, Steps
from .scene import SIGNS, Scene
from .shapes import cells, sizes, text

LONGEST = 7  #: nodes at most of a path that is drawn
ASSIGNING = ("copy", "fill", "index_put")  #: what an assignment to a part calls
LEAVES = 6  #: tensors at most that are listed


def _outputs(scene: Scene) -> list[Involved]:
    """What backward was called on."""
    given = scene.local("outputs") or scene.local("tensors")
    tensors = [given] if isinstance(given, Tensor) else list(given or ())
    return [scene.involved(t, "output") for t in tensors if isinstance(t, Tensor)]


# -- writing in place ----------------------------------------------------------------------------------------------


def leaf(scene: Scene, match: re.Match[str]) -> Finding:
    tensor = scene.local("tensor", "check_inplace")
    base = tensor if tensor._base is None else tensor._base
    found = scene.involved(base, "self")
    part = "a part of " if tensor._base is not None else ""
    call = scene.innermost
    statement = scene.statement or f"{found.label}.{call.op.packet if call else 'copy_'}(…)"
    new = () if call is None or scene.is_assignment else (
        Cure("to compute with it, make a new tensor", f"y = {call.anew(found.label)}"),
    )  # fmt: skip
    steps = (Step(found.label, f"a leaf, version {found.version}", GOOD),
             Step("write in place", f"into {part}{found.label}", CLASH),
             Step("backward", "would take the gradient for the value before or after?"))  # fmt: skip
    return Finding(
        f"{found.label} is a leaf that requires grad: it cannot be written while operators are recorded",
        f"{found.label} was made by the program and not computed, so its gradient is to be kept in "
        f"{found.label}.grad. If it became the result of a write, it would no longer be such a leaf.",
        (Cure("to change its values, as an optimizer does, record nothing", f"with torch.no_grad(): {statement}"),
         *new,
         Cure("to write into a copy that the graph knows", f"y = {found.label}.clone()")),
        (Steps(steps),),
        (found,),
    )  # fmt: skip


def modified(scene: Scene, match: re.Match[str]) -> Finding:
    saved = scene.local("tensor", "unpack")
    if saved is None:  # a node keeps what was never written as it is
        saved = next((value for place in ("_unpacked", "apply") if (value := scene.local("value", place)) is not None),
                     None)  # fmt: skip
    node = scene.local("node")
    node = scene.local("self", "apply") if node is None else node
    now, wanted = int(match["now"]), int(match["wanted"])
    name = node.name() if node is not None else "a node"
    tensor = _origin(scene, saved)
    steps = [Step(name, f"keeps {tensor.label} {text(tensor.shape)} at version {wanted}", GOOD)]
    writes = [] if saved is None else writes_to(saved, wanted)
    exact = bool(writes)
    if saved is not None and not writes:
        writes = suspected_writes(saved, scene.named, [frame.f_code for frame, _ in scene.users])
        here = [write for write in writes if write.file == scene.users[-1][0].f_code.co_filename]
        writes = here if len(here) >= now - wanted else writes  # names of other cells may have meant something else
    steps += [_write_step(write) for write in writes]
    if not exact and len(writes) < now - wanted:
        steps.append(Step("write in place", f"{now - wanted} in all, up to version {now}", CLASH))
    steps.append(Step("backward", f"{name} needs version {wanted} and finds {now}", CLASH))
    guessed = " Which lines these are is read from the program's text, not from what ran."
    guessed += " There are more of them than writes: not all are to blame." * (len(writes) > now - wanted)
    said = guessed if writes and not exact else ""
    if tensor.requires_grad and not tensor.node and tensor.name:  # a parameter, which its owner means to change
        cures = [Cure("go back before it is changed: an optimizer's step comes after the last backward of a graph",
                      "loss.backward(); optimizer.step()"),
                 Cure("or run forward again after the change, and go back through the new graph")]
    else:
        cures = [Cure("compute a new tensor where it is written", _instead(tensor.label, writes)),
                 Cure("or write into a copy, so that the old values stay", f"{tensor.label} = {tensor.label}.clone()")]
    if not exact and not watching_writes():
        cures.append(Cure("to learn which lines wrote, watch from now on and run the program again", "%why --watch"))
    return Finding(
        f"{tensor.label} was written in place after {name} kept it for backward",
        f"{name} needs the values that {tensor.label} had at version {wanted} to compute a gradient. Every write in "
        f"place, also through a view, adds one to the version; it is {now} now, and the old values are gone.{said}",
        tuple(cures),
        (Steps(tuple(steps)),),
        (tensor,),
    )


def _origin(scene: Scene, saved: Any) -> Involved:
    """The tensor that a node keeps, or one that the program names and that shares its memory."""
    if saved is None:
        return Involved("saved", "", "", "", (), (), 0, "", None, True, "", 0)
    found = scene.involved(saved, "saved")
    if not found.name and saved._cell is not None:
        for tensor in scene.named.values():
            if tensor._cell is saved._cell:
                return scene.involved(tensor, "saved")
    return found


def _instead(label: str, writes: list[Write]) -> str:
    """A write in place as one that makes a new tensor; '' if there is no such one."""
    name = writes[-1].operator.partition(".")[0].removesuffix("()").rstrip("_") if writes else "add"
    if name in SIGNS or name == "an assignment with an operator":
        return f"{label} = {label} {SIGNS.get(name, '+')} …"
    return f"{label} = {label}.{name}(…)" if name.isidentifier() and name not in ASSIGNING else ""


def _write_step(write: Write) -> Step:
    line = linecache.getline(write.file, write.line).strip()
    version = "" if write.version is None else f" → version {write.version}"
    return Step(line or write.operator, f"line {write.line}: {write.operator}{version}", CLASH)


# -- backward ------------------------------------------------------------------------------------------------------


def twice(scene: Scene, match: re.Match[str]) -> Finding:
    node = scene.local("node")
    node = scene.local("self", "apply") if node is None else node
    roots = scene.local("roots") or ()
    outputs = _outputs(scene)
    label = outputs[0].label if outputs else "the output"
    path = _path([edge[0] for edge in roots], node)
    name = node.name() if node is not None else "a node"
    steps = [Step(label, text(outputs[0].shape) if outputs else "", GOOD)]
    if len(path) > LONGEST:
        path = [*path[: LONGEST // 2], None, *path[-(LONGEST // 2):]]
    for step in path:
        if step is None:
            steps.append(Step("…"))
        elif step is node:
            steps.append(Step(step.name(), "freed by an earlier backward", CLASH))
        else:
            freed = getattr(step, "saved", ()) is None
            steps.append(Step(step.name(), "new, freed just now" if freed else "", GONE if freed else ""))
    partly = any(step.mark == GONE for step in steps)  # this backward came through nodes of its own before
    add_up = Cure("or add losses up and go back once", "(loss1 + loss2).backward()")
    cures = (
        Cure("cut what comes from an earlier step, such as a hidden state", _detached(scene, node)), add_up,
        Cure("or keep the graph at the first backward, if no weight is changed in between",
             f"{label}.backward(retain_graph=True)"),
    ) if partly else (
        Cure("run forward again before each backward: compute the loss inside the loop"),
        Cure("or keep the graph the first time", f"{label}.backward(retain_graph=True)"), add_up,
    )  # fmt: skip
    return Finding(
        f"{'a part of ' * partly}this graph was used up: {name} has let go of what it kept",
        "To save memory, backward frees what the nodes keep as soon as it has gone through them. The second backward "
        "through the same part of the graph finds nothing."
        + " Here a new graph leads into an older one, which an earlier backward went through." * partly,
        cures,
        (Steps(tuple(steps), "The walk of backward, from the output towards the leaves.", "←"),),
        tuple(outputs) or None,
    )  # fmt: skip


def _detached(scene: Scene, node: Any) -> str:
    """How to cut the graph at a node, by its output's name if it still has one."""
    names = scene.names.of_outputs.get(id(node), ["h"])
    return f"{names[0]} = {names[0]}.detach()"


def _path(roots: list[Any], goal: Any) -> list[Any]:
    """Nodes on a shortest way from one of the roots to a node; only the goal if there is none."""
    before: dict[int, tuple[Any, Any]] = {id(root): (root, None) for root in roots}
    queue = list(roots)
    while queue:
        node = queue.pop(0)
        if node is goal:
            path = []
            while node is not None:
                path.append(node)
                node = before[id(node)][1]
            return path[::-1]
        for edge in node._edges:
            if edge is not None and id(edge[0]) not in before:
                before[id(edge[0])] = edge[0], node
                queue.append(edge[0])
    return [] if goal is None else [goal]


def not_scalar(scene: Scene, match: re.Match[str]) -> Finding:
    output = scene.local("output")
    found = scene.involved(output, "output")
    rows = (ShapeRow(found.label, cells(found.shape, range(len(found.shape)))), ShapeRow("needed", (Cell("1", GOOD),),
                                                                                         "one number"))  # fmt: skip
    return Finding(
        f"{found.label} {text(found.shape)} is not one number: backward does not know of what to take the gradient",
        "backward computes the gradient of a number. For a tensor it needs to know how much each element counts: the "
        "gradient argument, of the output's shape.",
        (Cure("make it a number", f"{found.label}.sum().backward()"), Cure("or", f"{found.label}.mean().backward()"),
         Cure("or say how much each element counts", f"{found.label}.backward(torch.ones_like({found.label}))")),
        (Shapes(rows),),
        (found,),
    )  # fmt: skip


def no_graph(scene: Scene, match: re.Match[str]) -> Finding:
    outputs = _outputs(scene)
    number = int(match[1])
    output = outputs[number] if number < len(outputs) else None
    label = output.label if output else "the output"
    leaves = tuple(name for name, tensor in scene.named.items() if tensor.requires_grad and tensor._grad_fn is None)
    frozen = tuple(name for name, tensor in scene.named.items() if type(tensor) is not Tensor and not tensor.requires_grad)
    groups = (Group("requires grad", leaves[:LEAVES] or ("nothing here",), GOOD if leaves else ""),
              *((Group("parameters that are frozen", frozen[:LEAVES]),) if frozen else ()),
              Group("no grad_fn", (label,), CLASH))  # fmt: skip
    if leaves:
        cause = (f"There are tensors that require grad ({', '.join(leaves[:3])}), but {label} was not recorded as "
                 "computed from them: either it was not, or it was inside no_grad or inference_mode, or after "
                 "detach(), .data, .item(), a round through NumPy, or what has no derivative: argmax, a comparison, "
                 "integers.")  # fmt: skip
        cures = [Cure("compute it where grad mode is on: outside of no_grad and inference_mode"),
                 Cure("and without leaving the graph: no detach(), .item(), argmax, ==, .long() in between")]  # fmt: skip
    else:
        cause = f"{label} was computed from tensors none of which requires grad, so nothing was recorded."
        cures = [Cure("say of which tensors gradients are wanted, before computing",
                      "w = torch.ones(3, requires_grad=True)")]
    if frozen:
        cures.append(Cure("if it was computed from the frozen parameters, let them learn",
                          f"{frozen[0].partition('.')[0]}.requires_grad_()"))
    return Finding(
        f"{label} has no graph behind it: there is nothing to go back through",
        cause,
        tuple(cures),
        (Groups(groups),),
        tuple(outputs),
    )


def gradient_shape(scene: Scene, match: re.Match[str]) -> Finding:
    given, wanted = sizes(match[1]), sizes(match[2])
    outputs = _outputs(scene)
    label = outputs[0].label if outputs else "the output"
    rows = (ShapeRow(label, cells(wanted, range(len(wanted)))), ShapeRow("gradient", cells(given, range(len(given)))))
    return Finding(
        f"the gradient {text(given)} has not the shape of {label} {text(wanted)}",
        "The gradient says how much each element of the output counts: one number for each.",
        (Cure("for ones", f"{label}.backward(torch.ones_like({label}))"),),
        (Shapes(rows),),
        tuple(outputs) or None,
    )


def unused(scene: Scene, match: re.Match[str]) -> Finding:
    number = int(match[1])
    inputs: Any = scene.local("inputs")
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs or ())
    involved = [scene.involved(t, f"inputs[{i}]") for i, t in enumerate(inputs) if isinstance(t, Tensor)]
    tensor = involved[number] if number < len(involved) else None
    label = tensor.label if tensor else f"inputs[{number}]"
    outputs = _outputs(scene)
    leaves = _leaves(scene)
    out = outputs[0].label if outputs else "the output"
    return Finding(
        f"{label} has no part in {out}: no path of the graph leads to it",
        f"The gradient of {out} was asked for with respect to a tensor that it was not computed from (or only through "
        "detach() or no_grad).",
        (Cure("if that may be so, have None in its place", "torch.autograd.grad(…, allow_unused=True)"),
         Cure("else see what it was computed from", f"%graph {out}")),
        (Groups((Group(f"{out} was computed from", leaves[:LEAVES] or ("tensors without a name",), GOOD),
                 Group("asked for", (label,), CLASH))),),
        (*outputs, *involved),
    )  # fmt: skip


def _leaves(scene: Scene) -> tuple[str, ...]:
    """The named leaves that the walk can reach."""
    found: list[str] = []
    seen: set[int] = set()
    stack = [edge[0] for edge in scene.local("roots") or scene.local("edges") or () if edge]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, AccumulateGrad):
            found.append(scene.name(node.variable, "a leaf without a name"))
        stack += [edge[0] for edge in node._edges if edge is not None]
    return tuple(dict.fromkeys(found))
