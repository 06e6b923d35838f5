"""NPU rows of reductions, scans, sorting and searching."""
from __future__ import annotations

from collections.abc import Iterator
from math import inf, prod
from typing import Any

from ...._base.layout import Ints, broadcast_shapes, wrap_dims
from ...._tensor import Tensor
from . import ACLNN_CALLS
from .pointwise import named
from .row import Aclnn, Call, Counted, Each


def dims(self: Tensor, dim: Any = None) -> Ints:
    """Return the dimensions to reduce: all for None and for an empty list."""
    return wrap_dims(dim, self.ndim)


def whole(name: str) -> Aclnn:
    """Make the row of a reduction of all dimensions, which ACLNN takes as a list."""
    return Aclnn(name, lambda self, out: (self, dims(self), False, out))


def over(name: str) -> Aclnn:
    """``op(self, dim, keepdim)``."""
    return Aclnn(name, lambda self, dim, keepdim, out: (self, dims(self, dim), keepdim, out))


def over_one(name: str) -> Aclnn:
    """``op(self, dim, keepdim)`` of one dimension."""
    return Aclnn(name, lambda self, dim, keepdim, out: (self, (dim,), keepdim, out),
                 when=lambda self, *rest: self.ndim > 0)


def typed(name: str) -> Aclnn:
    """``op(self, dim, keepdim, dtype)``: the output has the dtype that is asked for."""
    return Aclnn(name, lambda self, dim, keepdim, dtype, out: (self, dims(self, dim), keepdim, out.dtype, out))


def typed_whole(name: str) -> Aclnn:
    return Aclnn(name, lambda self, dtype, out: (self, dims(self), False, out.dtype, out))


def of_moments(self: Tensor, dim: Any, correction: Any, keepdim: bool, *outs: Any) -> tuple[Any, ...]:
    """``var.correction`` and its like."""
    return (self, dims(self, dim), 1 if correction is None else int(correction), keepdim, *outs)


def moments(name: str) -> Aclnn:
    return Aclnn(name, of_moments, when=lambda self, dim, correction,
                 keepdim: correction is None or correction == int(correction))


def argument(name: str) -> Aclnn:
    """Make the rows of ``argmax`` and ``argmin``; over all elements they take the tensor as a vector."""

    def arguments(self: Tensor, dim: int | None, keepdim: bool, out: Tensor) -> tuple[Any, ...]:
        return (self.reshape(-1), 0, False, out.view(())) if dim is None else (self, dim, keepdim, out)

    return Aclnn(name, arguments)


def scan(name: str) -> Aclnn:
    return Aclnn(name, lambda self, dim, dtype, out: (self, dim, out.dtype, out))


def searched(sequence: Any, values: Any, out_int32: bool, right: bool, side: str | None, sorter: Any,
             out: Tensor) -> tuple[Any, ...]:
    return sequence, values, out_int32, right or side == "right", sorter, out


def aminmax(self: Tensor, dim: int | None, keepdim: bool, *outs: Any) -> Iterator[Call]:
    yield ("aclnnAminmaxAll", (self, *outs)) if dim is None else ("aclnnAminmaxDim", (self, dim, keepdim, *outs))


def histogram(self: Tensor, bins: int, low: Any, high: Any, out: Tensor) -> tuple[Any, ...]:
    """Return the values, with the data's range where none is given, which the host has to read, as op-plugin's does."""
    if low == high:
        low, high = self.min().item(), self.max().item()
    return (self, bins, low, high, out) if low != high else (self, bins, low - 1, high + 1, out)


def unique_room(self: Tensor, sorted: bool, inverse: bool, counts: bool) -> tuple[Ints, ...]:
    return (self.numel(),), tuple(self.shape) if inverse or counts else (0,), (self.numel() if counts else 0,)


def consecutive_room(self: Tensor, inverse: bool, counts: bool, dim: int | None) -> tuple[Ints, ...]:
    return (self.numel(),), tuple(self.shape) if inverse else (0,), (self.numel() if counts else 0,)


#: ``dim`` of aclnnUniqueConsecutive for none.
NO_DIM = 1000
#: The orders of norms that a 910B takes.
ORDERS = (0, 1, 2, 3, inf, -inf)

ACLNN_CALLS.update({
    "sum": typed_whole("aclnnReduceSum"),
    "sum.dim_IntList": typed("aclnnReduceSum"),
    "nansum": typed("aclnnReduceNansum"),
    "mean": typed_whole("aclnnMean"),
    "mean.dim": typed("aclnnMean"),
    "prod": Aclnn("aclnnProd", lambda self, dtype, out: (self, out.dtype, out)),
    "prod.dim_int": Aclnn("aclnnProdDim", lambda self, dim, keepdim, dtype, out: (self, dim, keepdim, out.dtype, out)),
    "var.correction": moments("aclnnVarCorrection"),
    "std.correction": moments("aclnnStd"),
    "var_mean.correction": moments("aclnnVarMean"),
    "std_mean.correction": moments("aclnnStdMeanCorrection"),
    "all": whole("aclnnAll"),
    "all.dim": over_one("aclnnAll"),
    "any": whole("aclnnAny"),
    "any.dim": over_one("aclnnAny"),
    "amax": over("aclnnAmax"),
    "amin": over("aclnnAmin"),
    **named("""
        max Max                      min Min                      topk Topk
        max.dim MaxDim               min.dim MinDim               cummax Cummax                cummin Cummin
        kthvalue Kthvalue            argsort Argsort              isin.Tensor_Scalar IsInTensorScalar
        isin.Scalar_Tensor IsInScalarTensor
        median.dim MedianDim         nanmedian.dim NanMedianDim   median Median                nanmedian NanMedian
    """),
    "aminmax": Each("", aminmax),
    "histc": Aclnn("aclnnHistc", histogram, when=lambda self, bins, low, high: self.numel() > 0),
    "nonzero": Counted("aclnnNonzero", room=lambda self: ((self.numel(), self.ndim),)),
    "masked_select": Counted("aclnnMaskedSelect", room=lambda self, mask: (
        (prod(broadcast_shapes(self.shape, mask.shape)),),)),
    "_unique2": Counted("aclnnUnique2", room=unique_room),
    "unique_consecutive": Counted(
        "aclnnUniqueConsecutive", lambda self, inverse, counts, dim, *outs: (self, inverse, counts, NO_DIM, *outs),
        room=consecutive_room, when=lambda self, inverse, counts, dim: dim is None),
    "argmax": argument("aclnnArgMax"),
    "argmin": argument("aclnnArgMin"),
    "logsumexp": over("aclnnLogSumExp"),
    "linalg_vector_norm": Aclnn("aclnnLinalgVectorNorm", lambda self, ord, dim, keepdim, dtype, out: (
        self, ord, dims(self, dim), keepdim, out.dtype, out), when=lambda self, ord, *rest: ord in ORDERS),
    "norm.ScalarOpt_dim": Aclnn(
        "aclnnNorm", lambda self, p, dim, keepdim, out: (self, 2 if p is None else p, dims(self, dim), keepdim, out),
        when=lambda self, p, dim, keepdim: p is None or p in ORDERS),
    "cumsum": scan("aclnnCumsum"),
    "cumprod": scan("aclnnCumprod"),
    "sort.stable": Aclnn("aclnnSort", lambda self, stable, dim, descending, *outs: (
        self, bool(stable), dim, descending, *outs)),
    "sort": Aclnn("aclnnSort", lambda self, dim, descending, *outs: (self, False, dim, descending, *outs)),
    "searchsorted.Tensor": Aclnn("aclnnSearchSorted", searched),
    "searchsorted.Scalar": Aclnn("aclnnSearchSorteds", searched),
})
