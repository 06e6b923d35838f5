"""Meta kernels of Fourier transforms. The transformed dimensions come out innermost, as from ATen's MKL kernels."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...._base.errors import NAMES, check
from ...._base.layout import Ints, Spec
from ...._dtype import COMPLEX, FLOATING
from ...common.matrices import strided
from . import META_KERNELS


def _dense(shape: Ints, order: Sequence[int]) -> Ints:
    """The strides of a tensor without gaps whose dimensions lie in this order, outermost first."""
    strides, step = [0] * len(shape), 1
    for d in reversed(order):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


def _by_stride(dims: Sequence[int], stride: Ints) -> list[int]:
    return sorted(dims, key=lambda d: -stride[d])


def transformed(stride: Ints, shape: Ints, dim: Ints, keep_last: bool = False) -> Ints:
    """The strides of a result of this shape: batch dimensions outside, each kind in the input's order."""
    inner = [*_by_stride(dim[:-1], stride), dim[-1]] if keep_last else _by_stride(dim, stride)
    return _dense(shape, [*_by_stride([d for d in range(len(shape)) if d not in dim], stride), *inner])


def _resized(self: Any, dim: int, size: int) -> Ints:
    shape = list(self.shape)
    shape[dim] = size
    return tuple(shape)


def fft_r2c(self: Any, dim: Ints, normalization: int, onesided: bool) -> Spec:
    check(self._dtype.category == FLOATING,
          lambda: f"_fft_r2c: expected a real floating point tensor, got {NAMES[self._dtype.name]}")
    size = self.shape[dim[-1]]
    shape = _resized(self, dim[-1], size // 2 + 1 if onesided else size)
    return strided(shape, self._dtype.to_complex(), transformed(self._strides(), shape, dim, True))


def fft_c2c(self: Any, dim: Ints, normalization: int, forward: bool) -> Spec:
    check(self._dtype.category == COMPLEX,
          lambda: f"_fft_c2c: expected a complex tensor, got {NAMES[self._dtype.name]}")
    shape = tuple(self.shape)
    return strided(shape, self._dtype, transformed(self._strides(), shape, dim) if dim else self._strides())


def fft_c2r(self: Any, dim: Ints, normalization: int, last_dim_size: int) -> Spec:
    check(self._dtype.category == COMPLEX,
          lambda: f"_fft_c2r: expected a complex tensor, got {NAMES[self._dtype.name]}")
    stride = self._strides()
    if len(dim) > 1:  # all but the last are transformed first
        stride = transformed(stride, tuple(self.shape), dim[:-1])
    shape = _resized(self, dim[-1], last_dim_size)
    return strided(shape, self._dtype.to_real(), transformed(stride, shape, dim[-1:]))


META_KERNELS.update({"_fft_r2c": fft_r2c, "_fft_c2c": fft_c2c, "_fft_c2r": fft_c2r})
