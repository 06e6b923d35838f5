"""Meta kernels of scans: the input's shape, contiguous."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...common.errors import not_implemented_for
from ...common.layout import Spec, wrap_dim
from ...._dtype import COMPLEX, FLOATING, int64
from .reduction import Rule, only, summed


def scan(rule: Rule) -> Callable[..., Spec]:
    """The meta kernel of ``op(self, dim, dtype)``."""

    def meta(self: Any, dim: int, dtype: Any = None) -> Spec:
        wrap_dim(dim, self.ndim)
        return Spec(tuple(self.shape), rule(self._dtype, dtype))

    return meta


def selection(kernel: str) -> Callable[..., tuple[Spec, Spec]]:
    """The meta kernel of ``op(self, dim)`` that gives values and their indices."""

    def meta(self: Any, dim: int) -> tuple[Spec, Spec]:
        wrap_dim(dim, self.ndim)
        if self._dtype.category == COMPLEX:
            raise not_implemented_for(kernel, self._dtype)
        return Spec(tuple(self.shape), self._dtype), Spec(tuple(self.shape), int64)

    return meta


ROWS: dict[str, Callable[..., Any]] = {
    "cumsum": scan(summed),
    "cumprod": scan(summed),
    "logcumsumexp": scan(only("logcumsumexp_out_cpu", (FLOATING, COMPLEX))),
    "cummax": selection("cummax_cpu"),
    "cummin": selection("cummin_cpu"),
}
