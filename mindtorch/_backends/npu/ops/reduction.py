"""NPU rows of reductions, scans, sorting and searching."""
from __future__ import annotations

from typing import Any

from ...._layout import Ints, wrap_dims
from . import ACLNN_CALLS
from .pointwise import named
from .row import Aclnn


def dims(self: Any, dim: Any = None) -> Ints:
    """The dimensions that a reduction goes over, all for None and for an empty list."""
    return wrap_dims(dim, self.ndim)


def whole(name: str) -> Aclnn:
    """A reduction of all dimensions, which in ACLNN is one of some."""
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


def of_moments(self: Any, dim: Any, correction: Any, keepdim: bool, *outs: Any) -> tuple[Any, ...]:
    """``var.correction`` and its like."""
    return (self, dims(self, dim), 1 if correction is None else int(correction), keepdim, *outs)


def moments(name: str) -> Aclnn:
    return Aclnn(name, of_moments, when=lambda self, dim, correction,
                 keepdim: correction is None or correction == int(correction))


def argument(name: str) -> Aclnn:
    """``argmax`` and ``argmin``, of which those of all elements are those of a vector."""

    def arguments(self: Any, dim: int | None, keepdim: bool, out: Any) -> tuple[Any, ...]:
        return (self.reshape(-1), 0, False, out.view(())) if dim is None else (self, dim, keepdim, out)

    return Aclnn(name, arguments)


def scan(name: str) -> Aclnn:
    return Aclnn(name, lambda self, dim, dtype, out: (self, dim, out.dtype, out))


def searched(sequence: Any, values: Any, out_int32: bool, right: bool, side: str | None, sorter: Any,
             out: Any) -> tuple[Any, ...]:
    return sequence, values, out_int32, right or side == "right", sorter, out


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
    """),
    "argmax": argument("aclnnArgMax"),
    "argmin": argument("aclnnArgMin"),
    "logsumexp": over("aclnnLogSumExp"),
    "linalg_vector_norm": Aclnn("aclnnLinalgVectorNorm", lambda self, ord, dim, keepdim, dtype, out: (
        self, ord, dims(self, dim), keepdim, out.dtype, out)),
    "cumsum": scan("aclnnCumsum"),
    "cumprod": scan("aclnnCumprod"),
    "sort.stable": Aclnn("aclnnSort", lambda self, stable, dim, descending, *outs: (
        self, bool(stable), dim, descending, *outs)),
    "sort": Aclnn("aclnnSort", lambda self, dim, descending, *outs: (self, False, dim, descending, *outs)),
    "searchsorted.Tensor": Aclnn("aclnnSearchSorted", searched),
    "searchsorted.Scalar": Aclnn("aclnnSearchSorteds", searched),
})
