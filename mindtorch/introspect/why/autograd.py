"""Why there is no gradient: graphs never built, used up, or cut; tensors written too late; what has no place in one."""
from __future__ import annotations

import ast
import linecache
import math
import re
from collections.abc import Iterator
from typing import Any

from ..graph import nodes_behind
from ..libraries import is_tensor, library_of
from ..writes import Write, suspected_writes, watching_writes, writes_to
from .explanation import (
    CLASH, GONE, GOOD, Cell, Diagnosis, Fields, Fix, Group, Groups, Involved, ShapeRow, Shapes, Step, Steps, given,
)
from .failure import SIGNS, Failure, is_computed

LONGEST = 7  #: nodes at most of a path that is drawn
ASSIGNING = ("copy", "fill", "index_put")  #: what an assignment to a part calls
LEAVES = 6  #: tensors at most that are listed


def _outputs(failure: Failure) -> list[Any]:
    """Return the tensors that backward was called on."""
    call = failure.called("backward", "grad")
    outputs = call.args[0] if call else ()
    return [t for t in ([outputs] if is_tensor(outputs) else outputs or ()) if is_tensor(t)]


def _label(outputs: list[Involved]) -> str:
    return outputs[0].label if outputs else "the output"


# -- writing in place ----------------------------------------------------------------------------------------------


def leaf(failure: Failure, f: Fields) -> Diagnosis:
    tensor = failure.facts["tensor"]
    base = library_of(tensor).record(tensor, 0).base
    found = failure.involved(tensor if base is None else base, "self")
    part = "" if base is None else "a part of "
    call = failure.innermost
    statement = failure.statement or f"{found}.{call.packet if call else 'copy_'}(…)"
    anew = call and not failure.is_assignment and call.anew(found.label)
    node = failure.wrote.node
    grown = isinstance(node, ast.AugAssign) and f"{ast.unparse(node.target)} = " + ast.unparse(
        ast.BinOp(node.target, node.op, node.value))
    steps = (Step(found.label, f"a leaf, version {found.version}", GOOD),
             Step("write in place", f"into {part}{found}", CLASH),
             Step("backward", "would take the gradient for the value before or after?"))
    return Diagnosis(
        f"{found} is a leaf that requires grad: it cannot be written while operators are recorded",
        f"{found} was made by the program and not computed, so its gradient is to be kept in "
        f"{found}.grad. If it became the result of a write, it would no longer be such a leaf.",
        (Fix("to change its values, as an optimizer does, record nothing", f"with torch.no_grad(): {statement}"),
         Fix("to compute with it, make a new tensor, under the same name or another", grown) if grown else
         Fix("to compute with it, make a new tensor", f"y = {anew}") if anew else None,
         Fix("to write into a copy that the graph knows", f"y = {found}.clone()")), (Steps(steps),), (found,))


def modified(failure: Failure, f: Fields) -> Diagnosis:
    saved, node = failure.facts["tensor"], failure.facts["node"]
    now, wanted = f.now, f.wanted
    name = node.name() if node is not None else "a node"
    tensor = _origin(failure, saved)
    steps = [Step(name, f"keeps {tensor} {tensor.size} at version {wanted}", GOOD)]
    writes = [] if saved is None else writes_to(library_of(saved).counted(saved), wanted, now)
    exact = bool(writes)
    if saved is not None and not writes:
        writes = suspected_writes([name for name, tensor in failure.named.items() if _counted_together(saved, tensor)],
                                  [frame.f_code for frame, _ in failure.users])
        here = [write for write in writes if write.file == failure.users[-1][0].f_code.co_filename]
        writes = here if len(here) >= now - wanted else writes  # names of other cells may have meant something else
    steps += [_write_step(write) for write in writes]
    if not exact and len(writes) < now - wanted:
        steps.append(Step("write in place", f"{now - wanted} in all, up to version {now}", CLASH))
    steps.append(Step("backward", f"{name} needs version {wanted} and finds {now}", CLASH))
    guessed = " Which lines these are is read from the program's text, not from what ran."
    guessed += " There are more of them than writes: not all are to blame." * (len(writes) > now - wanted)
    said = guessed if writes and not exact else ""
    writers = [name for name, value in failure.modules() if getattr(value, "inplace", False)]
    if writers and not tensor.name and not writes:
        fixes = [Fix(f"{writers[0]} writes into its input: make it without inplace=True", "nn.ReLU()"),
                 Fix("the same for the module that is there", f"{writers[0]}.inplace = False")]
    elif tensor.requires_grad and not tensor.node and tensor.name:  # a parameter, which its owner means to change
        fixes = [Fix("go back before it is changed: an optimizer's step comes after the last backward of a graph",
                      "loss.backward(); optimizer.step()"),
                 *(Fix(f"or cut {name}, which is carried from the step before and leads into its graph",
                       f"{name} = {name}.detach()") for name in [*_carried(failure)][:1]),
                 Fix("or run forward again after the change, and go back through the new graph")]
    else:
        fixes = [Fix("compute a new tensor where it is written", _instead(tensor.label, writes)),
                 Fix("or write into a copy, so that the old values stay", f"{tensor} = {tensor}.clone()")]
    if not exact and not watching_writes():
        fixes.append(Fix("to learn which lines wrote, watch from now on and run the program again", "%why --watch"))
    return Diagnosis(
        f"{tensor} was written in place after {name} kept it for backward",
        f"{name} needs the values that {tensor} had at version {wanted} to compute a gradient. Every write in "
        f"place, also through a view, adds one to the version; it is {now} now, and the old values are gone.{said}",
        tuple(fixes), (Steps(tuple(steps)),), (tensor,))


def _origin(failure: Failure, saved: Any) -> Involved:
    """Return the tensor that a node saved, or a named one that shares its memory."""
    if saved is None:
        return Involved("saved", "", "", "", (), (), 0, "", None, True, "", 0)
    found = failure.involved(saved, "saved")
    others = (tensor for tensor in failure.named.values() if _counted_together(saved, tensor))
    return found if found.name else next((failure.involved(other, "saved") for other in others), found)


def _counted_together(tensor: Any, other: Any) -> bool:
    """Return True if writes to the one are counted as writes to the other."""
    library = library_of(tensor)
    counter = library.counted(tensor) if library_of(other) is library else None
    return counter is not None and library.counted(other) == counter


def _instead(label: str, writes: list[Write]) -> str:
    """Rewrite an in-place write as an operator that returns a new tensor, or return ''."""
    name = writes[-1].operator.partition(".")[0].removesuffix("()").rstrip("_") if writes else "add"
    if name in SIGNS or name == "an assignment with an operator":
        return f"{label} = {label} {SIGNS.get(name, '+')} …"
    return f"{label} = {label}.{name}(…)" if name.isidentifier() and name not in ASSIGNING else ""


def _write_step(write: Write) -> Step:
    line = linecache.getline(write.file, write.line).strip()
    version = "" if write.version is None else f" → version {write.version}"
    return Step(line or write.operator, f"line {write.line}: {write.operator}{version}", CLASH)


# -- backward ------------------------------------------------------------------------------------------------------


def twice(failure: Failure, f: Fields) -> Diagnosis:
    node, outputs = failure.facts["node"], _outputs(failure)
    involved = [failure.involved(t, "output") for t in outputs]
    label = _label(involved)
    path: list[Any] = _path([library_of(t).root(t) for t in outputs if is_computed(t)], node)
    name = node.name() if node is not None else "a node"
    steps = [Step(label, involved[0].size if outputs else "", GOOD)]
    if len(path) > LONGEST:
        path = [*path[: LONGEST // 2], None, *path[-(LONGEST // 2):]]
    for step in path:
        if step is None:
            steps.append(Step("…"))
        elif step is node:
            steps.append(Step(step.name(), "freed by an earlier backward", CLASH))
        else:
            freed = library_of(step).node(step).kept is None
            steps.append(Step(step.name(), "new, freed just now" if freed else "", GONE if freed else ""))
    if node is None:
        steps += [Step("…"), Step("a node", "freed by an earlier backward", CLASH)]
    # this backward came through nodes of its own before: where that is not known, the loop tells that it is in
    carried = list(_carried(failure))
    partly = any(step.mark == GONE for step in steps) or (
        (node is None or bool(carried)) and _computed_in_a_loop(failure))
    hidden = next(iter(carried), failure.names.of_outputs.get(id(node), ["h"])[0])
    before, in_a_loop = _before_the_loop(failure), bool(_loops(failure))
    add_up = Fix("or add losses up and go back once", "(loss1 + loss2).backward()")
    first = _gone_through(failure, outputs)
    fixes = (
        Fix("keep the graph at the first backward", f"{first}.backward(retain_graph=True)"),
        Fix("or add both up and go back once", f"({first} + {label}).backward()")) if first else (
        Fix("cut what comes from an earlier step, such as a hidden state", f"{hidden} = {hidden}.detach()"), add_up,
        Fix("or keep the graph at the first backward, if no weight is changed in between",
             f"{label}.backward(retain_graph=True)"),
    ) if partly and not before else (
        Fix("run forward again before each backward: compute inside the loop what is computed once before it", before)
        if before else Fix("run forward again before each backward" + ": compute the loss inside the loop" * in_a_loop),
        Fix("or keep the graph the first time", f"{label}.backward(retain_graph=True)"), add_up)
    return Diagnosis(
        f"{'a part of ' * (partly and not before)}this graph was used up: {name} has freed what it kept",
        "To save memory, backward frees what the nodes keep as soon as it has gone through them. The second backward "
        "through the same part of the graph finds nothing."
        + (f" The statement {before} stands before the loop: its part of the graph is made once, and used up "
           f"by the first "
           "backward." if before else
           " Here a new graph leads into an older one, which an earlier backward went through." * partly), fixes,
        (Steps(tuple(steps), "The walk of backward, from the output towards the leaves.", "←"),),
        tuple(involved) or None)


def _loops(failure: Failure) -> list[Any]:
    """Return the loops that were running when backward was called."""
    return [loop for piece in failure.pieces for loop in piece.loops]


def _targets(node: Any) -> list[str]:
    """Return the names and attributes that a statement assigns to."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [ast.unparse(part) for target in targets
            for part in (target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target])]


def _carried(failure: Failure) -> Iterator[str]:
    """Yield the names that one step of a loop hands to the next, such as a hidden state: ``out, h = rnn(x, h)``."""
    methods = [node for node in ast.walk(failure.wrote.source) if isinstance(node, ast.FunctionDef)]
    for part in [node for area in (*_loops(failure), *methods) for node in ast.walk(area)]:
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Call):
            given_ = {ast.unparse(node) for argument in part.value.args for node in ast.walk(argument)}
            yield from (name for name in _targets(part) if name in given_ and (
                name.startswith("self.") or any(part in ast.walk(loop) for loop in _loops(failure))))


def _before_the_loop(failure: Failure) -> str:
    """Return the statement before a loop that computed what each pass goes back through; '' if there is none."""
    tree = failure.wrote.source
    for loop in _loops(failure):
        inside = {name for node in ast.walk(loop) for name in _targets(node)}
        used = {node.id for node in ast.walk(loop) if isinstance(node, ast.Name)} - inside
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and node.lineno < loop.lineno and isinstance(node.value, ast.Call):
                names = [name for name in _targets(node) if name in used]
                values = [failure.named.get(name) for name in names]
                if any(value is not None and is_computed(value) for value in values):
                    return ast.unparse(node)
    return ""


def _gone_through(failure: Failure, outputs: list[Any]) -> str:
    """Return the name of another backward root whose graph overlaps the outputs', or ''."""
    called = {ast.unparse(node.func.value) for node in ast.walk(failure.wrote.source) if isinstance(node, ast.Call)
              and isinstance(node.func, ast.Attribute) and node.func.attr == "backward"}
    given = {id(output) for output in outputs}
    others = {name: tensor for name, tensor in failure.named.items() if name in called and id(tensor) not in given
              and is_computed(tensor)}
    common = {id(node) for node in nodes_behind(outputs) if library_of(node).node(node).kept is None} if others else ()
    return next((name for name, tensor in others.items() if any(id(node) in common for node in nodes_behind([tensor]))),
                "")


def _computed_in_a_loop(failure: Failure) -> bool:
    """Return True if backward is called in a loop that computes its output anew each time."""
    wrote = failure.wrote
    called = wrote.text(wrote.node)
    for loop in _loops(failure):
        if called and called in ast.unparse(loop):
            assigned = {name.id for node in ast.walk(loop) for name in [node] if isinstance(name, ast.Name)
                        and isinstance(name.ctx, ast.Store)}
            return any(isinstance(node, ast.Name) and node.id in assigned for node in ast.walk(wrote.node))
    return False


def _path(roots: list[Any], goal: Any) -> list[Any]:
    """Return nodes on a shortest way from one of the roots to a node; only the goal if there is none."""
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
        for edge in library_of(node).node(node).edges:
            if edge is not None and id(edge[0]) not in before:
                before[id(edge[0])] = edge[0], node
                queue.append(edge[0])
    return [] if goal is None else [goal]


def no_graph(failure: Failure, f: Fields) -> Diagnosis:
    outputs = [failure.involved(t, "output") for t in _outputs(failure)]
    label = _label(outputs[f.number:])
    leaves = tuple(name for name, tensor in failure.named.items() if tensor.requires_grad and not is_computed(tensor))
    frozen = tuple(name for name, tensor in failure.named.items()
                   if type(tensor).__name__ == "Parameter" and not tensor.requires_grad)
    frozen = tuple(sorted(frozen, key=lambda name: "." not in name))  # of a module rather than a variable of a loop
    groups = (Group("requires grad", leaves[:LEAVES] or ("nothing here",), GOOD if leaves else ""),
              *((Group("parameters that are frozen", frozen[:LEAVES]),) if frozen else ()),
              Group("no grad_fn", (label,), CLASH))
    if found := _detached_gradient(failure):
        return Diagnosis(
            f"{label} has no graph behind it: gradients are recorded only if that is asked for",
            f"{found} was computed by a backward pass that recorded nothing, as backward passes do: it is a plain "
            "tensor. To go back through a gradient, that pass must be recorded itself.",
            (Fix("record the first backward pass", "torch.autograd.grad(y, x, create_graph=True)"),
             Fix("or", "y.backward(create_graph=True)")),
            (Steps((Step("grad(y, x)", "computes, records nothing", GONE), Step(found, "no grad_fn", CLASH),
                    Step("backward", "has no way back"))),), tuple(outputs))
    if leaves:
        cause = (f"There are tensors that require grad ({', '.join(leaves[:3])}), but {label} was not recorded as "
                 "computed from them: either it was not, or it was inside no_grad or inference_mode, or after "
                 "detach(), .data, .item(), a round through NumPy, or what has no derivative: argmax, a comparison, "
                 "integers.")
        fixes = [Fix("compute it where grad mode is on: outside of no_grad and inference_mode"),
                 Fix("and without leaving the graph: no detach(), .item(), argmax, ==, .long() in between")]
    else:
        cause = f"{label} was computed from tensors none of which requires grad, so nothing was recorded."
        fixes = [Fix("declare which tensors need gradients, before computing", "w = torch.ones(3, requires_grad=True)")]
    if frozen:
        fixes.append(Fix("if it was computed from the frozen parameters, let them learn",
                          f"{frozen[0].partition('.')[0]}.requires_grad_()"))
    return Diagnosis(f"{label} has no graph behind it: there is nothing to go back through", cause, fixes,
                     (Groups(groups),), tuple(outputs))


def _detached_gradient(failure: Failure) -> str:
    """Return the name of a gradient in the failing expression that was computed without a graph, or ''."""
    wrote = failure.wrote
    for node in ast.walk(wrote.node) if wrote.node is not None else ():
        if isinstance(node, ast.Attribute) and node.attr == "grad" and isinstance(node.value, ast.Name):
            return ast.unparse(node)
        for value in wrote.assignments(node.id) if isinstance(node, ast.Name) else ():
            calls = [inner for inner in ast.walk(value) if isinstance(inner, ast.Call)]
            if any(ast.unparse(call.func).endswith("autograd.grad") and not any(
                    word.arg == "create_graph" for word in call.keywords) for call in calls):
                return ast.unparse(node)
            if any(isinstance(inner, ast.Attribute) and inner.attr == "grad" for inner in ast.walk(value)):
                return ast.unparse(node)
    return ""


def nan(failure: Failure, f: Fields) -> Diagnosis:
    """Explain a NaN gradient found by anomaly mode."""
    node: Any = f.node
    function = re.sub(r"Backward\d*$", "", node.name()).lower() if node is not None else "an operator"
    cause, fixes = NAN.get(function, ("The gradient of the operator is infinite or undefined at its input.", (
        Fix("keep its input away from there", "x.clamp(min=1e-6)"),)))
    lines = (node.metadata if node is not None else {}).get("traceback_", [])
    where = re.search(r'line (\d+), in .+\n\s*(.+)', lines[-1]) if lines else None
    place = f"forward was called in line {where[1]}: {where[2]}" if where else ""
    return Diagnosis(
        f"the backward of {function} made a NaN",
        f"{cause} Anomaly mode stops at the first gradient that is not a number.", fixes,
        (Steps((Step("forward", place, GOOD), Step(node.name() if node is not None else "backward",
                                                   f"gradient number {f.number} is NaN", CLASH))),), ())


#: Where gradients become NaN, by the operator: why, and what helps.
NAN: dict[str, tuple[str, tuple[Fix, ...]]] = {
    "sqrt": ("The slope of a square root at 0 is infinite, and 0 times infinity is no number.",
             (Fix("stay away from 0", "(x + 1e-8).sqrt()"),)),
    "log": ("The slope of a logarithm at 0 is infinite, and 0 times infinity is no number.",
            (Fix("stay away from 0", "(x + 1e-8).log()"),
             Fix("of a softmax, take both at once", "F.log_softmax(x, -1)"))),
    "div": ("A division by 0 has an infinite slope, and 0 times infinity is no number.",
            (Fix("stay away from 0", "a / (b + 1e-8)"),)),
    "pow": ("The slope of a power smaller than 1 at 0 is infinite, and 0 times infinity is no number.",
            (Fix("stay away from 0", "(x + 1e-8) ** 0.5"),)),
    "norm": ("The slope of a norm at 0 is undefined.", (Fix("stay away from 0", "(x * x).sum().add(1e-8).sqrt()"),)),
}


def unused(failure: Failure, f: Fields) -> Diagnosis:
    asked = failure.called("grad").args[1]  # type: ignore[union-attr]
    inputs = [asked] if is_tensor(asked) else list(asked.values() if isinstance(asked, dict) else asked)
    involved = [failure.involved(t, f"inputs[{i}]") for i, t in enumerate(inputs) if is_tensor(t)]
    label = involved[f.number].label if f.number < len(involved) else f"inputs[{f.number}]"
    outputs = [failure.involved(t, "output") for t in _outputs(failure)]
    out = _label(outputs)
    leaves = _leaves(failure)
    return Diagnosis(
        f"{label} has no part in {out}: no path of the graph leads to it",
        f"The gradient of {out} was asked for with respect to a tensor that it was not computed from (or only through "
        "detach() or no_grad).",
        (Fix("if that is intended, take None in its place", "torch.autograd.grad(…, allow_unused=True)"),
         Fix("else see what it was computed from", f"%graph {out}")),
        (Groups((Group(f"{out} was computed from", leaves[:LEAVES] or ("tensors without a name",), GOOD),
                 Group("asked for", (label,), CLASH))),), (*outputs, *involved))


def _leaves(failure: Failure) -> tuple[str, ...]:
    """Return the named leaves that backward can reach."""
    leaves = (library_of(node).node(node).variable for node in nodes_behind(_outputs(failure)))
    return tuple(dict.fromkeys(failure.name(leaf, "a leaf without a name") for leaf in leaves if leaf is not None))


# -- what cannot take part -----------------------------------------------------------------------------------------


def one_of_views(failure: Failure, f: Fields) -> Diagnosis:
    operator = f.function.removesuffix("Backward0").lower()
    steps = (Step(f"{operator}()", "makes several views at once", GOOD), Step(f.x.label, f"output {f.number}"),
             Step("write in place", f"into {f.x}", CLASH))
    return Diagnosis(
        f"{f.x} is one of several views that {operator} made: it cannot be written in place",
        "A write in place through a view changes the graph of what it is a view of. Autograd does not do that for "
        "functions that return several views at once.",
        (Fix("compute a new tensor", f"{f.x} = {failure.anew(f.x)}") if failure.calls else None,
         Fix("or take one view alone, which may be written", "part = x[0]"),
         Fix("or write into a copy", f"{f.x} = {f.x}.clone()")), (Steps(steps),))


def needs_grad(failure: Failure, f: Fields) -> Diagnosis:
    floats = f.x.dtype.startswith(("float", "bfloat", "complex"))
    return Diagnosis(
        f"{f.x} does not require grad: there will be no gradient",
        f"Nothing is computed for it in backward, so there is nothing to {f.wanted}.",
        (Fix("ask for gradients before it is used", f"{f.x}.requires_grad_()") if floats else
         Fix("only floats have gradients", f"{f.x}.float().requires_grad_()"),
         Fix("or look whether it was computed under no_grad or after detach()")),
        (Steps((Step("backward", "goes where grad is required"), Step(f.x.label, "does not require it", CLASH)), "",
               "↛"),))


def out_argument(failure: Failure, f: Fields) -> Diagnosis:
    needing = tuple(t.label for t in f.tensors if t.requires_grad) or ("an argument",)
    return Diagnosis(
        f"{needing[0]} requires grad, and {failure.packet} was to write its result into out=",
        "A result that is written into a tensor that is there already has no place of its own in the graph.",
        (Fix("let it make a new tensor, without out="),
         Fix("or write without recording", f"with torch.no_grad(): torch.{failure.packet}(…, out=…)")),
        (Groups((Group("require grad", needing, CLASH), Group("written into", ("out",)))),))


def assigned(failure: Failure, f: Fields) -> Diagnosis:
    value, one = failure.facts["value"], f.tensor
    clear = Fix("to clear it", f"{one}.grad = None")
    if not is_tensor(value):
        kind = type(value).__name__
        return Diagnosis(
            f"the gradient of {one} is a tensor or None, and was to become {kind}",
            f"What is assigned to {one}.grad must have one number for each of its elements.",
            (clear, Fix("or set its elements to one number", f"{one}.grad = torch.full_like({one}, …)")),
            (given([kind], "Tensor", "None"),), (one,))
    other = failure.involved(value, "grad")
    pairs = (("shape", one.size, other.size), ("dtype", one.dtype, other.dtype), ("device", one.device, other.device))
    wrong = [name for name, mine, theirs in pairs if mine != theirs]
    rows = (ShapeRow(one.label, tuple(Cell(mine) for _, mine, _ in pairs)),
            ShapeRow(other.label, tuple(Cell(theirs, CLASH if name in wrong else GOOD) for name, _, theirs in pairs)))
    fixes = () if "shape" in wrong else (Fix("convert it", f"{one}.grad = {other}.to({one})"),)
    if "shape" in wrong and math.prod(one.shape) == math.prod(other.shape):
        fixes = (Fix("give it the shape", f"{one}.grad = {other}.view_as({one})"),)
    return Diagnosis(
        f"a gradient of {one} must have its shape, dtype and device; its {' and '.join(wrong)} differs",
        f"The gradient says how much the result changes with each element of {one}, which an optimizer then changes "
        "by it.", (*fixes, clear), (Shapes(rows, tuple(name for name, _, _ in pairs)),), (one, other))
