"""Optimisation of a graph before it becomes a program (AOTAutograd's functionalisation, Inductor's passes).

Steps that write in place into memory that is visible outside keep their order, and steps that read that memory are not
changed. All other steps may be shared, left out, computed beforehand and moved.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from .._dispatch.dispatcher import registry
from .._tensor import Tensor, from_array
from .graph import Graph, Step, Value, mapped, values_in

#: Operators whose result depends on the shape of their input alone.
OF_SHAPE = frozenset({"ones_like", "zeros_like", "full_like", "new_zeros", "new_ones", "new_full"})
FOLDED = 1 << 18  #: elements of a constant that is kept in place of being computed again
#: Views that are equal to their input once derivatives are recorded.
SAME = frozenset({"detach", "alias", "lift_fresh"})


def optimise(graph: Graph) -> list[str]:
    """Apply all passes; return a sentence on each that changed something."""
    done = [pass_(graph) for pass_ in (functionalise, expand_addmm, skip_aliases, cancel, share, fold, drop_dead)]
    return [sentence for sentence in done if sentence]


def replace(graph: Graph, renamed: dict[Value, Value], steps: list[Step] | None = None) -> None:
    """Replace values by others, in the steps and among the outputs."""
    def final(value: Any) -> Any:
        while value.__class__ is Value and value in renamed:
            value = renamed[value]
        return value

    for step in graph.steps if steps is None else steps:
        step.args = tuple([mapped(arg, final) for arg in step.args])
    graph.outputs = [final(value) for value in graph.outputs]


def functionalise(graph: Graph) -> str:
    """Make in-place steps return a new value, if the graph itself made the memory and nothing else refers to it."""
    made: dict[object, Step] = {}
    names: dict[object, int] = {}
    for value in graph.inputs:
        names[value.memory] = 2
    for value in graph.constants:
        names[value.memory] = 2
    for step in graph.steps:
        for value in step.outputs:
            if value is not None and value not in step.inputs:
                names[value.memory] = names.get(value.memory, 0) + 1
                made.setdefault(value.memory, step)
    count = 0
    for position, step in enumerate(graph.steps):
        op = step.op
        if not (op.is_inplace and not op.writes_lists and op.functional is not None and len(step.outputs) == 1):
            continue
        old = step.outputs[0]
        if names[old.memory] != 1 or old not in values_in(step.args[:1]) or op.functional.family == "random" or (
                step.is_random) or not old.is_contiguous or not _keeps_kind(op.functional, step, old):
            continue
        new = Value(f"{old.name}_{op.packet.strip('_')}", old.shape, old.stride, 0, old.dtype, object(),
                    old.requires_grad)
        graph.steps[position] = Step(op.functional, step.args, [new], step.site, False, step.grad_enabled)
        replace(graph, {old: new}, graph.steps[position + 1:])
        names[new.memory] = 1
        count += 1
    return f"functionalised {count} in-place operators" if count else ""


def _keeps_kind(op: Any, step: Step, old: Value) -> bool:
    """Return whether the functional form gives the dtype and shape that the in-place form keeps."""
    values = [*values_in(step.args)]
    return all(value.dtype is old.dtype for value in values) and all(
        len(value.shape) <= len(old.shape) and value.size <= old.size for value in values)


def expand_addmm(graph: Graph) -> str:
    """Divide matrix products with a bias into a product and a sum, which can be fused with later steps."""
    steps, count = [], 0
    for step in graph.steps:
        if step.op.name == "addmm" and not any(factor != 1 for factor in step.args[3:]) and (
                len({value.dtype for value in step.inputs}) == 1):
            bias, first, second = step.args[:3]
            out = step.outputs[0]
            product = Value(f"{out.name}_mm", out.shape, out.stride, 0, out.dtype, object())
            steps += [Step(registry["mm"], (first, second), [product], step.site),
                      Step(registry["add.Tensor"], (product, bias), [out], step.site)]
            count += 1
        else:
            steps.append(step)
    graph.steps = steps
    return f"divided {count} addmm into product and bias" if count else ""


def skip_aliases(graph: Graph) -> str:
    """Remove ``detach`` and other aliases, which have no effect once derivatives are recorded."""
    renamed: dict[Value, Value] = {}
    kept = []
    for step in graph.steps:
        if step.op.name in SAME or (step.makes_view and not step.is_list and not step.op.is_inplace
                                    and _is_same(step.args[0], step.outputs[0])):
            renamed[step.outputs[0]] = step.args[0]
        else:
            kept.append(step)
    graph.steps = kept
    replace(graph, renamed)
    return f"left out {len(renamed)} aliases" if renamed else ""


def _is_same(source: Any, out: Value | None) -> bool:
    """Return whether a view has the layout of its base."""
    return source.__class__ is Value and out is not None and (
        (source.shape, source.stride, source.offset, source.dtype) == (out.shape, out.stride, out.offset, out.dtype))


def cancel(graph: Graph) -> str:
    """Replace a matrix that is transposed twice by the matrix."""
    turned: dict[Value, Value] = {}
    renamed: dict[Value, Value] = {}
    for step in graph.steps:
        if step.op.name == "t" and step.outputs[0] is not None:
            source = renamed.get(step.args[0], step.args[0])
            if source in turned:
                renamed[step.outputs[0]] = turned[source]
            else:
                turned[step.outputs[0]] = source
    replace(graph, renamed)
    return f"cancelled {len(renamed)} transpositions of transpositions" if renamed else ""


def _is_pure(step: Step, written: set[object]) -> bool:
    return not (step.is_random or step.written
                or any(value is not None and value.memory in written for value in (*step.inputs, *step.outputs)))


def share(graph: Graph) -> str:
    """Compute common subexpressions once."""
    written, outputs = graph.written_memory(), set(graph.outputs)
    seen: dict[Any, Step] = {}
    renamed: dict[Value, Value] = {}
    kept = []
    for step in graph.steps:
        step.args = tuple([mapped(arg, lambda leaf: renamed.get(leaf, leaf) if leaf.__class__ is Value else leaf)
                           for arg in step.args])
        key = None
        if _is_pure(step, written) and not any(value in outputs for value in step.outputs):
            key = (step.op.name, _hashable(step.args))
        first = seen.get(key) if key is not None else None
        if first is None or key is None:
            if key is not None:
                seen[key] = step
            kept.append(step)
        else:
            renamed.update({old: new for old, new in zip(step.outputs, first.outputs, strict=True) if old is not None})
    shared = len(graph.steps) - len(kept)
    graph.steps = kept
    replace(graph, renamed)
    return f"shared {shared} common subexpressions" if shared else ""


def _hashable(value: Any) -> Any:
    if value.__class__ in (list, tuple):
        return tuple(map(_hashable, value))
    if value.__class__ is Value:
        return value
    return type(value), repr(value) if isinstance(value, (float, complex)) else value if _can_hash(value) else id(value)


def _can_hash(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def fold(graph: Graph) -> str:
    """Compute steps that do not depend on inputs now (constant folding)."""
    written, outputs = graph.written_memory(), {value.memory for value in graph.outputs}
    kept, count = [], 0
    for step in graph.steps:
        values = step.inputs
        known = all(value in graph.constants for value in values) or step.op.name in OF_SHAPE
        out = step.outputs[0]
        if (not known or step.makes_view or not _is_pure(step, written) or step.is_list or out is None
                or out.memory in outputs or out.size > FOLDED or out.dtype.is_complex or not out.is_contiguous):
            kept.append(step)
            continue
        args = [mapped(arg, lambda leaf: _constant_of(graph, leaf)) for arg in step.args]
        graph.constants[out] = step.op.call(*args)
        count += 1
    graph.steps = kept
    return f"folded {count} constants" if count else ""


def _constant_of(graph: Graph, leaf: Any) -> Any:
    """Return a constant's tensor; for another value, an uninitialised tensor of its layout."""
    if leaf.__class__ is not Value:
        return leaf
    found: Tensor | None = graph.constants.get(leaf)
    return from_array(np.empty(leaf.shape, leaf.dtype.np), leaf.dtype) if found is None else found


def drop_dead(graph: Graph) -> str:
    """Remove steps whose results are not used (dead code elimination)."""
    wanted = set(graph.outputs)
    kept = []
    for step in reversed(graph.steps):
        if step.is_random or step.written or any(value in wanted for value in step.outputs):
            wanted.update(step.inputs)
            kept.append(step)
    dropped = len(graph.steps) - len(kept)
    graph.steps = kept[::-1]
    graph.constants = {value: tensor for value, tensor in graph.constants.items() if value in wanted}
    return f"dropped {dropped} dead steps" if dropped else ""
