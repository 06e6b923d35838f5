"""Counting: how often each value, or each range of values, appears."""
from __future__ import annotations

from typing import Any

from .._base.errors import CPP_NAMES, check, check_number, check_real, check_takes
from .._base.layout import Spec
from .._dispatch.aten import _histogramdd_bin_edges as bin_edges, _histogramdd_from_bin_tensors as from_bin_tensors
from .._dispatch.return_types import named_tuple
from .._dtype import INTEGER, bool_, float32, float64, int64
from .._tensor import Tensor
from . import operator, schemas

schemas("""
function, method:
    bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor  # How often each of 0, 1, 2, ... occurs in `self`, or the sum of the `weights` where it does, for at least `minlength` values.
""")  # noqa: E501


def meta_bincount(self: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Spec:
    check_takes(self._dtype.category == INTEGER, "bincount_cpu", self._dtype)
    check(minlength >= 0, "minlength should be >= 0")
    check(self.ndim == 1, "bincount only supports 1-d non-negative integral inputs.")
    check(weights is None or not self.numel() or (weights.ndim == 1 and weights.shape == self.shape),
          "weights should be 1-d and have the same length as input")
    if weights is None or not self.numel():
        return Spec(None, int64)
    return Spec(None, float32 if weights._dtype is float32 else float64)


operator("bincount", meta_bincount)

schemas("""
function, method, out, exact dtype:
    histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor  # How many elements of `self` lie in each of `bins` equal intervals between `min` and `max`, or between its least and greatest element if both are 0.
    histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)  # How many elements of `self`, or how much of `weight`, lie between each two neighbours in `bins`, and these edges; with `density`, divided by the total and by the interval's width.
    histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)
operator only:
    _histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor[]  # The edges of the grid in which `histogramdd` counts: `bins` intervals a column.
    _histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor  # How many rows of `self`, or how much of `weight`, lie in each cell of the grid whose edges are `bins`.
""")  # noqa: E501

Specs = tuple[Spec, Spec]


def meta_histc(self: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Spec:
    check_bins((bins,))
    check(min <= max, "torch.histc: max must be larger than min")
    check_bounds(self, min, max)
    check_real("histogram_cpu", self)
    return Spec((bins,), self._dtype)


def check_bounds(self: Tensor, *bounds: Any) -> None:
    """Refuse bounds that PyTorch cannot write into the edges, which it makes before it looks at the dtype."""
    check_takes(self._dtype is not bool_, "linspace_cpu", bool_)
    for bound in bounds:
        check_number(self._dtype, bound)


def check_bins(bins: Any) -> None:
    for i, count in enumerate(bins):
        if count <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {count} for dimension {i}")


def check_range(bounds: Any, dimensions: int) -> None:
    if bounds is None:
        return
    check(len(bounds) == 2 * dimensions, lambda: f"torch.histogramdd: for a {dimensions}-dimensional histogram range "
          f"should have {2 * dimensions} elements, but got {len(bounds)}")
    for i in range(dimensions):
        low, high = bounds[2 * i: 2 * i + 2]
        if not low <= high:
            raise RuntimeError(f"torch.histogramdd: min {low} should not exceed max {high} for dimension {i}")


def check_weight(self: Tensor, weight: Any, points: bool = False) -> None:
    """Refuse weights that are not one for each number or point; only of the weights of points the shape matters."""
    if weight is not None:
        check(weight._dtype is self._dtype, lambda: "torch.histogramdd: if weight tensor is provided, input tensor "
              f"and weight tensor should have the same dtype, but got input({CPP_NAMES[self._dtype.name]}), and "
              f"weight({CPP_NAMES[weight._dtype.name]})")
        fits = weight.shape == self.shape[:-1] if points else weight.numel() == self.numel()
        check(fits, lambda: "torch.histogramdd: if weight tensor is provided it should have the same "
              "shape as the input tensor excluding its innermost dimension, but got input with shape "
              f"{list(self.shape) if points else [self.numel(), 1]} and weight with shape {list(weight.shape)}")


def check_edges(self: Tensor, bins: Any) -> None:
    for d, edges in enumerate(bins):
        if edges._dtype is not self._dtype:
            raise RuntimeError("torch.histogramdd: input tensor and bins tensors should have the same dtype, but got "
                               f"input with dtype {CPP_NAMES[self._dtype.name]} and bins for dimension {d} with dtype "
                               f"{CPP_NAMES[edges._dtype.name]}")
        if edges.ndim != 1:
            raise RuntimeError(f"torch.histogramdd: bins tensor should have one dimension, but got {edges.ndim} "
                               f"dimensions in the bins tensor for dimension {d}")
        if not edges.numel():
            raise RuntimeError("torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in "
                               f"the bins tensor for dimension {d}")


def histogram_edges(self: Tensor, bins: Any, weight: Any = None, density: bool = False) -> Specs:
    check_edges(self, (bins,))
    check_bins((bins.numel() - 1,))
    check_weight(self, weight)
    check_real("histogram_cpu", self)
    return Spec((bins.numel() - 1,), self._dtype), Spec((bins.numel(),), self._dtype)


def histogram_count(self: Any, bins: int = 100, range: Any = None, weight: Any = None, density: bool = False) -> Specs:
    check_bins((bins,))
    check_range(range, 1)
    check_bounds(self, *(range or ()))
    check_takes(range is not None or not self.numel() or self._dtype in (float32, float64), "histogramdd", self._dtype)
    check_weight(self, weight)
    check_real("histogram_cpu", self)
    return Spec((bins,), self._dtype), Spec((bins + 1,), self._dtype)


def check_points(self: Tensor, bins: Any) -> None:
    check(self.ndim >= 2, "torch.histogramdd: input tensor should have at least 2 dimensions")
    check(len(bins) == self.shape[-1],
          "histogramdd: The size of bins must be equal to the innermost dimension of the input.")


def meta_bin_edges(self: Tensor, bins: Any, range: Any = None, weight: Any = None, density: bool = False) -> list[Spec]:
    check_points(self, bins)
    check_bins(bins)
    check_range(range, len(bins))
    check_real("histogramdd", self)
    return [Spec((count + 1,), self._dtype) for count in bins]


def meta_from_bin_tensors(self: Tensor, bins: Any, weight: Any = None, density: bool = False) -> Spec:
    check_points(self, bins)
    check_edges(self, bins)
    check_weight(self, weight, True)
    check_real("histogramdd", self)
    return Spec(tuple(edges.numel() - 1 for edges in bins), self._dtype)


operator("histc", meta_histc, differentiable=False)
operator("histogram.bins_tensor", histogram_edges)
operator("histogram.bin_ct", histogram_count)
operator("_histogramdd_bin_edges", meta_bin_edges)
operator("_histogramdd_from_bin_tensors", meta_from_bin_tensors)

schemas("""
function:
    histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)  # How many rows of `self`, or how much of `weight`, lie in each cell of a grid with as many intervals along each column as `bins` says, and the edges of the grid.
    histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)
    histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)
""")  # noqa: E501


def histogramdd(self: Tensor, bins: Any, range: Any = None, weight: Tensor | None = None, density: bool = False) -> Any:
    """``torch.histogramdd`` of points along the last dimension; ``bins``: how many, or their edges, by coordinate."""
    if isinstance(bins, int):
        check(self.ndim >= 2, "torch.histogramdd: input tensor should have at least 2 dimensions")
        bins = (bins,) * self.shape[-1]
    if not isinstance(bins, list):
        bins = bin_edges(self, bins, range, weight, density)
    hist = from_bin_tensors(self, bins, weight, density)
    return named_tuple("histogramdd", ("hist", "bin_edges"))(hist, tuple(bins))


operator("histogramdd histogramdd.int_bins histogramdd.TensorList_bins", composite=histogramdd)
