"""Derivatives of scans."""
from __future__ import annotations

from typing import Any

from ..._base.layout import wrap_dim
from ..._dispatch.aten import cat, stack, zeros
from ..._dtype import finfo
from ..derivative import derivative


def backwards(scan: Any, x: Any, dim: int) -> Any:
    """A scan that starts at the other end."""
    return scan(x.flip(dim), dim).flip(dim) if x.ndim else scan(x, dim)


def cumsum(x: Any, dim: int) -> Any:
    return x.cumsum(dim)


def logcumsumexp(x: Any, dim: int) -> Any:
    return x.logcumsumexp(dim)


def exclusive_cumprod(x: Any, dim: int) -> Any:
    """The product of all elements before each one."""
    size = x.shape[dim]
    if not size:
        return x
    ones = x.new_ones([1 if d == dim % x.ndim else n for d, n in enumerate(x.shape)])
    return cat([ones, x.narrow(dim, 0, size - 1)], dim).cumprod(dim)


def cumprod_grad(grad: Any, self: Any, result: Any, dim: int) -> Any:
    """Element k is a factor of result k and all behind it: their sum over element k, or if there are zeros,
    without dividing, from the last to the first.
    """
    if not self.ndim or not self.numel():
        return grad
    dim = wrap_dim(dim, self.ndim)
    if not self.is_meta and not (self == 0).any():
        return backwards(cumsum, result.conj() * grad, dim) / self.conj()
    factors, grads = self.conj().unbind(dim), grad.unbind(dim)
    sums = [grads[-1]]
    for k in range(len(grads) - 2, -1, -1):
        sums.append(grads[k] + factors[k + 1] * sums[-1])
    return stack(sums[::-1], dim) * exclusive_cumprod(self, dim).conj()


def logcumsumexp_grad(grad: Any, self: Any, result: Any, dim: int) -> Any:
    """The gradient in logarithms, computed apart for the positive and the negative incoming gradients."""
    if not self.ndim or not self.numel():
        return grad
    if grad.is_complex():
        return (backwards(logcumsumexp, grad.conj().log() - result, dim) + self).exp().conj()
    logarithm, lowest = grad.abs().log(), finfo(grad.dtype).min
    positive, negative = (
        (backwards(logcumsumexp, logarithm.masked_fill(wrong_sign, lowest) - result, dim) + self).exp()
        for wrong_sign in (grad <= 0, grad >= 0)
    )
    return positive - negative


derivative("cumsum", self=lambda grad, dim: backwards(cumsum, grad, dim))
derivative("cumprod", self=cumprod_grad)
derivative("logcumsumexp", self=logcumsumexp_grad)
derivative("cummax cummin", self=lambda grad, self_shape, indices, dim: (
    zeros(self_shape, grad._dtype, None, grad._device).scatter_add(dim, indices, grad)))
