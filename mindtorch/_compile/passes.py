"""Optimisation of a graph before it becomes a program (Inductor's passes).

Steps write nothing. Those that draw random numbers keep their order; all others may be shared, left out, computed
beforehand and moved.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from .._dispatch.dispatcher import registry
from .._dtype import bool_
from .._tensor import Tensor, from_array
from .dims import is_sized
from .fusion import FLOATS
from .graph import Graph, Memory, Step, Value, mapped

#: Operators whose result depends on the shape of their input alone.
OF_SHAPE = frozenset({"ones_like", "zeros_like", "full_like", "new_zeros", "new_ones", "new_full"})
FOLDED = 1 << 18  #: elements of a constant that is kept in place of being computed again
#: Sums, and those of them that have dimensions.
ALONG = frozenset({"sum.dim_IntList", "mean.dim"})
SUMS = ALONG | {"sum", "mean"}
#: Elements at least, and at most, of vectors of which dot products are taken, which add less accurately than sums do.
SHORTEST, LONGEST = 16, 1 << 16
#: Views that are equal to their input once derivatives are recorded.
SAME = frozenset({"detach", "alias", "lift_fresh"})


def optimise(graph: Graph) -> list[str]:
    """Apply all passes; return a sentence on each that changed something."""
    passes = expand_addmm, choose, skip_aliases, cancel, share, fold, sum_to_view, sum_products, drop_dead
    done = [pass_(graph) for pass_ in passes]
    return [sentence for sentence in done if sentence]


def replace(graph: Graph, renamed: dict[Value, Value]) -> None:
    """Replace values by others, in the steps and among the results."""
    def final(value: Any) -> Any:
        while value.__class__ is Value and value in renamed:
            value = renamed[value]
        return value

    for step in graph.steps:
        step.args = tuple([mapped(arg, final) for arg in step.args])
    graph.outputs = [final(value) for value in graph.outputs]
    graph.writes = [(target, final(value)) for target, value in graph.writes]


def expand_addmm(graph: Graph) -> str:
    """Divide matrix products with a bias into a product and a sum, which can be fused with later steps."""
    steps, count = [], 0
    for step in graph.steps:
        if step.op.name == "addmm" and not any(factor != 1 for factor in step.args[3:]) and (
                len({value.dtype for value in step.inputs}) == 1):
            bias, first, second = step.args[:3]
            out = step.outputs[0]
            product = Value(f"{out.name}_mm", out.shape, out.stride, 0, out.dtype, Memory(out.memory.nbytes))
            steps += [Step(registry["mm"], (first, second), [product], step.site),
                      Step(registry["add.Tensor"], (product, bias), [out], step.site)]
            count += 1
        else:
            steps.append(step)
    graph.steps = steps
    return f"divided {count} addmm into product and bias" if count else ""


def choose(graph: Graph) -> str:
    """Write masked_fill with a number as ``where``, which can be fused."""
    found = [step for step in graph.steps if step.op.name == "masked_fill.Scalar" and step.args[2].__class__ in (
        int, float) and step.outputs[0].dtype in FLOATS and step.args[1].dtype is bool_]
    for step in found:
        step.op, step.args = registry["where.self"], (step.args[1], step.args[2], step.args[0])
    return f"wrote {len(found)} masked_fill as where" if found else ""


def skip_aliases(graph: Graph) -> str:
    """Remove ``detach`` and other aliases, which have no effect once derivatives are recorded."""
    renamed: dict[Value, Value] = {}
    kept = []
    for step in graph.steps:
        if step.op.name in SAME or (step.makes_view and not step.is_list and _is_same(step.args[0], step.outputs[0])):
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


def share(graph: Graph) -> str:
    """Compute common subexpressions once, but for results and what they are views of: each is memory of its own."""
    outputs = {value.memory for value in graph.outputs}
    seen: dict[Any, Step] = {}
    renamed: dict[Value, Value] = {}
    kept = []
    for step in graph.steps:
        step.args = tuple([mapped(arg, lambda leaf: renamed.get(leaf, leaf) if leaf.__class__ is Value else leaf)
                           for arg in step.args])
        key = None
        if not step.is_random and not any(value is not None and value.memory in outputs for value in step.outputs):
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
    outputs = {value.memory for value in graph.outputs}
    kept, count = [], 0
    for step in graph.steps:
        values = step.inputs
        known = all(value in graph.constants for value in values) or step.op.name in OF_SHAPE
        out = step.outputs[0]
        if (not known or is_sized(step) or step.makes_view or step.is_random or step.is_list or out is None
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


def sum_to_view(graph: Graph) -> str:
    """Leave out the dimensions that a sum keeps and its only view drops, as of the gradients of what was expanded."""
    users, results, viewed = graph.users(), {*graph.results}, dict[Step, Step]()
    for step in graph.steps:
        out = step.outputs[0] if step.op.name in ALONG else None
        if out is None or out in results or step.args[2] is not True or not step.args[1] or not out.shape:
            continue
        source, span = step.args[0], len(out.shape)
        left = {*range(span)} - {d % span for d in step.args[1]}
        view = users[out][0] if len(users.get(out, ())) == 1 else None
        if view is not None and view.makes_view and not view.is_list and view.outputs[0] is not None and (
                view.outputs[0].is_contiguous and view.outputs[0].dtype is out.dtype
                and view.outputs[0].shape == tuple([source.shape[d] for d in sorted(left)])):
            viewed[step] = view
    for step, view in viewed.items():
        step.args, step.outputs = (*step.args[:2], False, *step.args[3:]), view.outputs
    dropped = {*viewed.values()}
    graph.steps = [step for step in graph.steps if step not in dropped]
    return f"dropped the kept dimensions of {len(viewed)} sums" if viewed else ""


def sum_products(graph: Graph) -> str:
    """Compute sums and means of products as dot products, which need no memory for the products: of the vectors along
    the last dimension, or of all elements.
    """
    makers: dict[Any, Step] = {value: step for step in graph.steps for value in step.outputs}
    users, results = graph.users(), {*graph.results}
    sums = {step: pair for step in graph.steps if _sums_vectors(step)
            and (pair := _factors(makers.get(step.args[0]))) is not None}
    steps, count = [], 0
    for step in graph.steps:
        if step not in sums or step.args[0] in results or any(user not in sums for user in users[step.args[0]]):
            steps.append(step)
            continue
        count += 1
        source, out = step.args[0], step.outputs[0]
        total = out
        if step.op.packet == "mean":
            total = Value(f"{out.name}_sum", out.shape, out.stride, 0, out.dtype, Memory(out.memory.nbytes))
        steps.append(Step(registry["linalg_vecdot"], sums[step], [total], step.site))
        if total is not out:
            steps.append(Step(registry["div.Tensor"], (total, source.size // out.size), [out], step.site))
    graph.steps = steps
    return f"computed {count} sums of products as dot products" if count else ""


def _sums_vectors(step: Step) -> bool:
    """Return whether a step sums floats along the last dimension, or all of them, in their own dtype."""
    if step.op.name not in SUMS or step.args[0].__class__ is not Value:
        return False
    source, out = step.args[0], step.outputs[0]
    if out.dtype is not source.dtype or out.dtype not in FLOATS or not out.size or not source.shape:
        return False
    span = len(source.shape)
    dims = sorted(d % span for d in step.args[1]) if step.op.name in ALONG and step.args[1] else [*range(span)]
    return dims in ([span - 1], [*range(span)]) and SHORTEST <= source.size // out.size <= LONGEST


def _factors(step: Step | None) -> tuple[Value, Value] | None:
    """Return two contiguous values whose product a step computes, element by element."""
    if step is None or step.op.name not in ("mul.Tensor", "pow.Tensor_Scalar"):
        return None
    first, second = step.args[:2]
    if step.op.name == "pow.Tensor_Scalar":
        second = first if second == 2 else None
    out = step.outputs[0]
    if all(value.__class__ is Value and value.shape == out.shape and value.dtype is out.dtype and value.is_contiguous
           for value in (first, second)):
        return first, second
    return None


def drop_dead(graph: Graph) -> str:
    """Remove steps whose results are not used (dead code elimination)."""
    wanted = set(graph.results)
    kept = []
    for step in reversed(graph.steps):
        if (step.is_random or any(value in wanted for value in step.outputs)
                or all(value is None for value in step.outputs)):
            wanted.update(step.inputs)
            kept.append(step)
    dropped = len(graph.steps) - len(kept)
    graph.steps = kept[::-1]
    graph.constants = {value: tensor for value, tensor in graph.constants.items() if value in wanted}
    return f"dropped {dropped} dead steps" if dropped else ""
