"""Meta kernels of what the library is written in."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...common.layout import Spec, like_strides, wrap_dims
from ...common.pointwise import Pointwise
from ...._dtype import BOOL, INTEGER, int64


def reduced_shape(shape: Any, dims: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    if keepdim:
        return tuple(1 if d in dims else n for d, n in enumerate(shape))
    return tuple(n for d, n in enumerate(shape) if d not in dims)


def sum_(self: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Spec:
    dims = wrap_dims(dim, self.dim())
    out = dtype or (int64 if self._dtype.category in (BOOL, INTEGER) else self._dtype)
    return Spec(reduced_shape(self.shape, dims, keepdim), out)


def like(self: Any) -> Spec:
    return Spec(tuple(self.shape), self._dtype, like_strides(tuple(self.shape), self._strides()))


ROWS: dict[str, Callable[..., Any]] = {
    "add.Tensor": Pointwise("default", 2),
    "mul.Tensor": Pointwise("default", 2),
    "relu": Pointwise("default", 1),
    "threshold_backward": Pointwise("default", 2),
    "sum": lambda self, dtype=None: sum_(self, None, False, dtype),
    "sum.dim_IntList": sum_,
    "ones_like": like,
    "zeros_like": like,
}
