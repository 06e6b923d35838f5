"""Operators that reduce some dimensions: what is divided along one of them is partial."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...._creation import tensor
from ..._functional_collectives import all_reduce
from ..placement_types import Partial, Placement, Shard, _NormPartial
from .pointwise import by_element
from .rows import Call, R, Row, Run, rule

#: How the processes' results become one.
REDUCE = {"sum": "sum", "nansum": "sum", "mean": "avg", "prod": "product", "max": "max", "min": "min", "amax": "max",
          "amin": "min", "all": "min", "any": "max", "count_nonzero": "sum"}


def reduced(call: Call) -> list[int]:
    """Return the dimensions that are reduced."""
    dims, ndim = call["dim"], call.ndim()
    if dims is None or (isinstance(dims, (list, tuple)) and not dims):
        return list(range(ndim))
    return [dim % max(ndim, 1) for dim in ([dims] if isinstance(dims, int) else dims)]


def kept(call: Call, dim: int, dims: list[int]) -> Shard:
    """Return where a dimension that is not reduced lies in the output."""
    return Shard(dim if call["keepdim"] else dim - sum(other < dim for other in dims))


def kept_rows(call: Call) -> Iterator[Row]:
    dims = reduced(call)
    for dim in range(call.ndim()):
        if dim not in dims:
            yield Row((kept(call, dim, dims),), (Shard(dim),) * len(call.specs))


@rule(" ".join(REDUCE))
def reduction(call: Call) -> Iterator[Row]:
    if len(call.specs) > 1:  # max and min of two tensors
        yield from by_element(call)
        return
    op, dims = REDUCE[call.name], reduced(call)
    yield from kept_rows(call)
    with_places = len(call.outputs) > 1  # max.dim returns indices as well
    if call.name in ("sum", "mean"):
        yield call.all(Partial("sum"))
        yield call.all(Partial("avg"))
    if with_places:
        return
    for dim in dims[:call.ndim()]:
        if op == "sum":
            yield Row((Partial("sum"),), (Shard(dim),))
        elif call.even(dim):
            yield Row((Partial(op),), (Shard(dim),))
    if op in ("max", "min") and call.name.startswith("a"):
        yield call.all(Partial(op))


@rule("argmax argmin var std var_mean std_mean logsumexp median nanmedian mode")
def only_kept(call: Call) -> Iterator[Row]:
    yield from kept_rows(call)


@rule("linalg_vector_norm norm")
def vector_norm(call: Call) -> Iterator[Row]:
    yield from kept_rows(call)
    order = call["ord"] if call.name == "linalg_vector_norm" else call["p"]
    order = 2.0 if order is None else float(order)
    partial: Placement = _NormPartial("max" if order == float("inf") else "sum", order)
    for dim in reduced(call)[:call.ndim()]:
        if order not in (float("inf"), float("-inf")) or call.even(dim):
            yield Row((partial,), (Shard(dim),))


@rule("equal allclose")
def equal(call: Call) -> Iterator[Row]:
    for dim in range(call.ndim()):
        yield call.row(R, _equal_everywhere, self=Shard(dim), other=Shard(dim))


def _equal_everywhere(run: Run) -> Any:
    found = tensor(int(run.func(*run.args.values())))
    for i in range(run.specs[0].mesh.ndim):
        found = all_reduce(found, "min", (run.specs[0].mesh, i))
    return bool(found)
