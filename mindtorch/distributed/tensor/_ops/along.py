"""Operators that work along one dimension, or some, and treat the others as a batch."""
from __future__ import annotations

from collections.abc import Iterator

from ..placement_types import Partial, Shard
from .rows import Call, R, Row, rule

#: The argument that has the dimensions; all tensors have the same dimensions.
ALONG = {
    "cumsum": "dim", "cumprod": "dim", "logcumsumexp": "dim", "sort": "dim", "argsort": "dim", "topk": "dim",
    "kthvalue": "dim", "flip": "dims", "roll": "dims", "gather": "dim", "scatter": "dim", "scatter_add": "dim",
    "cat": "dim", "glu": "dim", "glu_backward": "dim", "renorm": "dim", "cummax": "dim", "cummin": "dim",
}


@rule(" ".join(ALONG))
def along(call: Call) -> Iterator[Row]:
    asked = call[ALONG[call.name]]
    dims = [dim % max(call.ndim(), 1) for dim in ([asked] if isinstance(asked, int) else asked or range(call.ndim()))]
    sizes = [spec.shape for spec in call.specs]
    for dim in range(call.ndim()):
        if dim not in dims and all(len(size) == call.ndim() and size[dim] == sizes[0][dim] for size in sizes):
            yield call.all(Shard(dim))
    if call.name in ("cumsum", "cat", "flip", "roll"):
        yield call.all(Partial())


@rule("stack")
def stack(call: Call) -> Iterator[Row]:
    new = call["dim"] % (call.ndim() + 1)
    for dim in range(call.ndim()):
        yield call.all(Shard(dim), Shard(dim + (dim >= new)))
    yield call.all(Partial())


@rule("index_select index_add index_fill index_copy")
def index_select(call: Call) -> Iterator[Row]:
    dim = call.dim("dim")
    for other in range(call.ndim()):
        if other != dim:
            yield call.row(Shard(other), self=Shard(other), source=Shard(other))
    if call.name == "index_select":
        yield call.row(Shard(dim), index=Shard(0))


@rule("index index_put _index_put_impl _unsafe_index")
def index(call: Call) -> Iterator[Row]:
    indices = call["indices"]
    taken = [place for place, item in enumerate(indices) if item is not None]
    if not taken or taken != list(range(taken[0], taken[-1] + 1)):
        return
    ndim = max(item.dim() for item in indices if item is not None)
    for dim in range(call.ndim()):
        if dim not in taken:
            place = dim if dim < taken[0] else dim - len(taken) + ndim
            if call.name in ("index", "_unsafe_index"):
                yield call.row(Shard(place), self=Shard(dim))
            else:
                values = call.places["values"][0]
                own = place - (len(call.shape()) - len(taken) + ndim - call.ndim(values))
                divided = own >= 0 and call.shape(values)[own] > 1
                yield call.row(Shard(dim), self=Shard(dim), values=Shard(own) if divided else R)
    if call.name in ("index", "_unsafe_index"):
        for dim in range(ndim):
            if all(item is None or item.dim() == ndim for item in indices):
                yield call.row(Shard(taken[0] + dim), indices=Shard(dim))


@rule("tril triu linalg_inv_ex cholesky linalg_cholesky_ex linalg_qr linalg_solve_ex linalg_det _linalg_det "
      "_linalg_svd _linalg_eigh")
def matrices(call: Call) -> Iterator[Row]:
    yield from (call.all(Shard(dim)) for dim in range(call.ndim() - 2))
    if call.name in ("tril", "triu"):
        yield call.all(Partial())


@rule("constant_pad_nd")
def pad(call: Call) -> Iterator[Row]:
    grown = len(call["pad"]) // 2
    yield from (call.all(Shard(dim)) for dim in range(call.ndim() - grown))


@rule("repeat")
def repeat(call: Call) -> Iterator[Row]:
    new = len(call["repeats"]) - call.ndim()
    for dim in range(call.ndim()):
        if call["repeats"][dim + new] == 1:
            yield Row((Shard(dim + new),), (Shard(dim),))
    yield call.all(Partial())


@rule("bucketize")
def bucketize(call: Call) -> Iterator[Row]:
    yield from (call.row(Shard(dim), self=Shard(dim)) for dim in range(call.ndim()))
