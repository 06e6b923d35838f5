"""Derivatives of Fourier transforms: the transforms the other way, which are their adjoints."""
from __future__ import annotations

from typing import Any

from ..._dispatch.aten import _fft_c2c as c2c, _fft_r2c as r2c, cat
from ..derivative import derivative


def r2c_grad(grad: Any, self_shape: Any, dim: Any, normalization: int, onesided: bool) -> Any:
    """A one-sided transform is half of a complex one: the other half has no gradient."""
    missing = self_shape[dim[-1]] - grad.shape[dim[-1]]
    if missing:
        shape = list(grad.shape)
        shape[dim[-1]] = missing
        grad = cat([grad, grad.new_zeros(shape)], dim[-1])
    return c2c(grad, dim, normalization, False).real


def c2r_grad(grad: Any, dim: Any, normalization: int) -> Any:
    """All but the first, and for an even length the last, frequency of one side count twice."""
    result = r2c(grad, dim, normalization, True)
    size, last = result.shape[dim[-1]], dim[-1]
    double = grad.shape[last] - size
    if double <= 0:
        return result
    middle = result.narrow(last, 1, double) * 2
    ends = result.narrow(last, 0, 1), result.narrow(last, 1 + double, size - 1 - double)
    return cat([ends[0], middle, ends[1]], last)


derivative("_fft_r2c", "FftR2CBackward0", self=r2c_grad)
derivative("_fft_c2r", "FftC2RBackward0", self=c2r_grad)
derivative("_fft_c2c", "FftC2CBackward0",
           self=lambda grad, dim, normalization, forward: c2c(grad, dim, normalization, not forward))
