"""Meta kernels of sorting and selection by order."""
from __future__ import annotations

from typing import Any

from ...._base.errors import check
from ...._base.layout import Spec, like_strides, wrap_dim
from ...._dtype import BOOL, COMPLEX, int64
from . import META_KERNELS
from .reduction import check_elements, only, reduction, selection


def sort(self: Any, dim: int = -1, descending: bool = False) -> tuple[Spec, Spec]:
    """Strides are kept where the input is dense."""
    wrap_dim(dim, self.ndim)
    check(self._dtype.category < COMPLEX, "Sort does not support complex dtypes on CPU")
    shape = tuple(self.shape)
    stride = like_strides(shape, self._strides())
    return Spec(shape, self._dtype, stride), Spec(shape, int64, stride)


def topk(self: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Spec, Spec]:
    axis = wrap_dim(dim, self.ndim)
    check(0 <= k <= (self.shape[axis] if self.ndim else 1), "selected index k out of range", kind="top k")
    kind = {BOOL: "bool", COMPLEX: "complex"}.get(self._dtype.category)
    check(kind is None, lambda: f"topk does not support {kind} dtypes on CPU")
    shape = tuple(k if d == axis else n for d, n in enumerate(self.shape))
    return Spec(shape, self._dtype), Spec(shape, int64)


def kthvalue(self: Any, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Spec, Spec]:
    check_elements("kthvalue", self, dim)
    axis = wrap_dim(dim, self.ndim)
    check(1 <= k <= (self.shape[axis] if self.ndim else 1),
          lambda: f"kthvalue(): selected number k out of range for dimension {axis}")
    return selection("kthvalue", only("kthvalue_cpu", ORDERED if self.ndim else range(COMPLEX + 1)))(self, dim, keepdim)


ORDERED = range(BOOL + 1, COMPLEX)
META_KERNELS.add(sort, topk, kthvalue)
META_KERNELS.update({
    "sort.stable": lambda self, stable, dim=-1, descending=False: sort(self, dim, descending),
    "median": reduction(only("median_cpu", ORDERED)),
    "median.dim": selection("median", only("median_out", ORDERED)),
    "nanmedian": reduction(only("median_cpu", ORDERED)),
    "nanmedian.dim": selection("median", only("median_out", ORDERED)),
    "mode": lambda self, dim=-1, keepdim=False: selection(
        "mode", only("mode_cpu", range(COMPLEX + (not self.ndim))))(self, dim, keepdim),
})
