"""Meta kernels of scans: the input's shape, contiguous."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._base.errors import check_takes
from ...._base.layout import Spec, wrap_dim
from ...._dtype import COMPLEX, FLOATING, DType, bool_, int64
from . import META_KERNELS
from .reduction import only, summed


def accumulated(kernel: str) -> Callable[..., Spec]:
    """The meta kernel of ``op(self, dim, dtype)``: dtypes as for sums, but there are no running bools."""

    def meta(self: Any, dim: int, dtype: DType | None = None) -> Spec:
        wrap_dim(dim, self.ndim)
        check_takes(dtype is not bool_ or not self.ndim or not self.numel(), kernel, bool_)
        return Spec(tuple(self.shape), summed(self, dtype))

    return meta


def logcumsumexp(self: Any, dim: int) -> Spec:
    wrap_dim(dim, self.ndim)
    check_takes(self._dtype.category >= FLOATING, "logcumsumexp_out_cpu", self._dtype)
    return Spec(tuple(self.shape), self._dtype)


def selection(kernel: str) -> Callable[..., tuple[Spec, Spec]]:
    """The meta kernel of ``op(self, dim)`` that gives values and their indices."""
    supported = only(kernel, range(COMPLEX))

    def meta(self: Any, dim: int) -> tuple[Spec, Spec]:
        if self.numel():
            wrap_dim(dim, self.ndim)
        dtype = supported(self) if self.ndim else self._dtype  # a single element is its own extremum
        return Spec(tuple(self.shape), dtype), Spec(tuple(self.shape), int64)

    return meta


META_KERNELS.update({
    "cumsum": accumulated("cumsum_out_cpu"),
    "cumprod": accumulated("cumprod_out_cpu"),
    "logcumsumexp": logcumsumexp,
    "cummax": selection("cummax_cpu"),
    "cummin": selection("cummin_cpu"),
})
