"""Sorting, and selection by order: quantiles, the k largest, the most frequent."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.errors import check
from .._base.layout import Spec, like_strides, wrap_dim
from .._dispatch.aten import sort
from .._dispatch.dispatcher import has_values
from .._dtype import BOOL, COMPLEX, float32, float64, int64
from .._tensor import Tensor
from .._transforms.batching.rules import along_dimensions, flat
from . import operator, schemas
from .reduction import check_elements, extremum_grad, only, reduction, selection, selection_grad

schemas("""
function, method:
    argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor  # The positions of the elements of `self` in ascending, or `descending`, order along `dim`.
    median(Tensor self) -> Tensor  # The middle element of `self` in ascending order, the lower one of two, over all elements or along `dim` with its position.
    nanmedian(Tensor self) -> Tensor  # The middle one of those elements of `self` that are not nan, the lower one of two, over all elements or along `dim` with its position.
function, method, out, exact dtype:
    argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor
    sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)  # The elements of `self` in ascending, or `descending`, order along `dim`, and their positions before.
    sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
    msort(Tensor self) -> Tensor  # The elements of `self` in ascending order along the first dimension.
function, method, out, exact dtype, no overlap:
    kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)  # The `k`th smallest element of `self` along `dim`, and its position.
    median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
    nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
""")  # noqa: E501


def meta_sort(self: Tensor, dim: int = -1, descending: bool = False) -> tuple[Spec, Spec]:
    """Describe the sorted elements and their indices, which keep the strides of a dense input."""
    wrap_dim(dim, self.ndim)
    check(self._dtype.category < COMPLEX, "Sort does not support complex dtypes on CPU")
    shape = tuple(self.shape)
    stride = like_strides(shape, self._strides())
    return Spec(shape, self._dtype, stride), Spec(shape, int64, stride)


def meta_kthvalue(self: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Spec, Spec]:
    check_elements("kthvalue", self, dim)
    axis = wrap_dim(dim, self.ndim)
    check(1 <= k <= (self.shape[axis] if self.ndim else 1),
          lambda: f"kthvalue(): selected number k out of range for dimension {axis}")
    rule = only("kthvalue_cpu", ORDERED if self.ndim else range(COMPLEX + 1), empty=False)
    return selection("kthvalue", rule)(self, dim, keepdim)


ORDERED = range(BOOL + 1, COMPLEX)

operator("argsort", composite=lambda self, dim=-1, descending=False: sort(self, dim, descending)[1])
operator("argsort.stable",
         composite=lambda self, stable, dim=-1, descending=False: self.sort(
             stable=stable, dim=dim, descending=descending)[1])
operator("median", reduction(only("median_cpu", ORDERED)), batching=flat("median.dim", True),
         self=lambda grad, self, result: extremum_grad(grad, self, result))
operator("nanmedian", reduction(only("median_cpu", ORDERED)), batching=flat("nanmedian.dim", True),
         self=lambda grad, self, result: extremum_grad(grad, self, result))
operator("kthvalue", meta_kthvalue, batching=along_dimensions,
         self=lambda grad, self_shape, dim, indices, keepdim: (
             selection_grad(grad, self_shape, dim, indices, keepdim)))
operator("median.dim", selection("median", only("median_out", ORDERED, empty=False)), batching=along_dimensions,
         node="MedianBackward1",
         self=lambda grad, self_shape, dim, indices, keepdim: (
             selection_grad(grad, self_shape, dim, indices, keepdim)))
operator("nanmedian.dim", selection("median", only("median_out", ORDERED, empty=False)), batching=along_dimensions,
         node="NanmedianBackward1",
         self=lambda grad, self_shape, dim, indices, keepdim: (
             selection_grad(grad, self_shape, dim, indices, keepdim)))
operator("sort", meta_sort, batching=along_dimensions,
         self=lambda grad, self_shape, dim, indices: selection_grad(grad, self_shape, dim, indices))
operator("sort.stable", lambda self, stable, dim=-1, descending=False: meta_sort(self, dim, descending),
         batching=along_dimensions, node="SortBackward1",
         self=lambda grad, self_shape, dim, indices: selection_grad(grad, self_shape, dim, indices))
operator("msort", composite=lambda self: sort(self, 0)[0])

schemas("""
function, method, out, exact dtype:
    topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)  # The `k` greatest elements of `self` along `dim`, or the least unless `largest`, and their positions.
""")  # noqa: E501


def meta_topk(self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Spec, Spec]:
    axis = wrap_dim(dim, self.ndim)
    check(0 <= k <= (self.shape[axis] if self.ndim else 1), "selected index k out of range", kind="top k")
    kind = {BOOL: "bool", COMPLEX: "complex"}.get(self._dtype.category)
    check(kind is None, lambda: f"topk does not support {kind} dtypes on CPU")
    shape = tuple(k if d == axis else n for d, n in enumerate(self.shape))
    return Spec(shape, self._dtype), Spec(shape, int64)


operator("topk", meta_topk, batching=along_dimensions,
         self=lambda grad, self_shape, dim, indices: selection_grad(grad, self_shape, dim, indices))

schemas("""
function, method, out, exact dtype:
    quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor  # The value below which the fraction `q` of the elements of `self` lies, along `dim` or of all.
    quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor
    nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor  # The value below which the fraction `q` of those elements of `self` lies that are not nan, along `dim` or of all.
    nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor
""")  # noqa: E501

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")
ROUNDING = {"lower": "floor", "higher": "ceil", "nearest": "round"}


def quantile(ignore_nan: bool) -> Callable[..., Any]:
    """``torch.quantile`` or ``nanquantile``; a ``q`` of one dimension becomes the output's first."""

    def compute(self: Any, q: Any, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear") -> Any:
        if isinstance(q, float):
            check(0 <= q <= 1, lambda: f"quantile() q must be in the range [0, 1] but got {q:g}")
            q = self.new_full((), q)
        axis = check_quantile(self, q, dim, interpolation)
        ranks, line = ranked(self, q, axis, keepdim, ignore_nan)
        if interpolation in ROUNDING:
            result = line.gather(-1, getattr(ranks, ROUNDING[interpolation])().to(int64))
        else:
            below = ranks.to(int64)
            result = line.gather(-1, below)
            weight = ranks - below if interpolation == "linear" else ranks.new_full(ranks.shape, 0.5)
            result.lerp_(line.gather(-1, ranks.ceil_().to(int64)), weight)
        return result.unsqueeze_(0).transpose_(0, -1).squeeze_(-1) if q.ndim else result.squeeze_(-1)

    return compute


def check_quantile(self: Tensor, q: Any, dim: int | None, interpolation: str) -> int | None:
    """Refuse what PyTorch refuses, in its order, and return the dimension as a non-negative index."""
    check(self.numel(), "quantile() input tensor must be non-empty")
    check(q.ndim <= 1, "quantile() q must be a scalar or 1D tensor")
    check(self._dtype in (float32, float64), "quantile() input tensor must be either float or double dtype")
    check(self._dtype is q._dtype, "quantile() q tensor must be same dtype as the input tensor")
    check(interpolation in INTERPOLATIONS, lambda: "quantile() interpolation must be one of linear, lower, higher, "
          f"midpoint or nearest, but got {interpolation}")
    axis = None if dim is None else wrap_dim(dim, self.ndim)
    check(not has_values(q) or ((q >= 0) & (q <= 1)).all(), "quantile() q values must be in the range [0, 1]")
    return axis


def ranked(self: Tensor, q: Any, axis: int | None, keepdim: bool, ignore_nan: bool) -> tuple[Any, Any]:
    """Return the lines sorted along a last dimension, the others as in the output, and the quantiles' ranks in them."""
    last = self.ndim - 1
    if axis is None or not self.ndim:
        line, others = self.flatten().sort()[0], (1,) * self.ndim if keepdim else ()
    else:
        line = (self if axis == last else self.unsqueeze(-1).transpose(axis, -1)).sort()[0]
        others = (*self.shape[:axis], *(1,) * keepdim, *self.shape[axis + 1:])
    line = line.view((*others, line.shape[-1]))
    if ignore_nan:
        ranks = q * (line.isnan().logical_not().sum(-1, True) - 1)
        return ranks.masked_fill(ranks < 0, 0), line
    highest = line.shape[-1] - 1
    return (q * highest).masked_fill(line.isnan().any(-1, True), highest), line


operator("quantile quantile.scalar", composite=quantile(False), autocast="cpu float32")
operator("nanquantile nanquantile.scalar", composite=quantile(True), autocast="cpu float32")

schemas("""
function, method, out, exact dtype, no overlap:
    mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)  # The most frequent element of `self` along `dim`, the least of several, and its position.
""")  # noqa: E501

operator("mode",
         lambda self, dim=-1, keepdim=False: selection(
             "mode", only("mode_cpu", range(COMPLEX + (not self.ndim))))(self, dim, keepdim), batching=along_dimensions,
         self=lambda grad, self_shape, dim, indices, keepdim: (
             selection_grad(grad, self_shape, dim, indices, keepdim)))
