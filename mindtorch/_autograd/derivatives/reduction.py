"""Derivatives of reductions."""
from __future__ import annotations

from math import inf, prod
from typing import Any

from ..._base.layout import wrap_dims
from ..._dispatch.aten import cat, ones, reshape, unsqueeze, view
from ..._dispatch.dispatcher import is_seen
from ..derivative import derivative, not_differentiable
from ..utils import repeated


def restored(x: Any, shape: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """A reduction's result with the reduced dimensions back, of size 1."""
    if keepdim or not shape or (dim is None and x.ndim == 0):
        return x
    for d in sorted(wrap_dims(dim, len(shape))):
        x = unsqueeze(x, d)
    return x


def sum_backward(grad: Any, shape: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The gradient of a sum: the same for all elements (ATen's ``sum_backward``)."""
    return repeated(restored(grad, shape, dim, keepdim), shape)


def mean_grad(grad: Any, shape: Any, dim: Any = None, keepdim: bool = False) -> Any:
    count = prod([shape[d] for d in wrap_dims(dim, len(shape))])
    if is_seen(grad):
        return sum_backward(grad, shape, dim, keepdim) / count
    return sum_backward(grad / count, shape, dim, keepdim)


def var_grad(grad: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    count = prod([self.shape[d] for d in wrap_dims(dim, self.ndim)])
    freedom = count - (1 if correction is None else correction)
    scale = 2.0 / freedom if freedom else inf
    grad = restored(grad, self.shape, dim, keepdim)
    centred = self - (self.mean(dim, True) if dim else self.mean())
    return grad * scale * centred


def std_grad(grad: Any, result: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    return var_grad((grad / (result * 2)).masked_fill_(result == 0, 0), self, dim, correction, keepdim)


def moments_grad(first: Any, grad: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    """What comes through the variance or deviation, and what comes through the mean."""
    second = None if grad is None else mean_grad(grad, shape, dim, keepdim)
    return first if second is None else second if first is None else first + second


def prod_grad(grad: Any, self: Any, dim: int) -> Any:
    """The gradient times the product of all others: of those before times those behind, which zeros do not disturb."""
    if not self.ndim:
        return grad.clone()
    size = self.shape[dim]
    if not size:
        return grad * self
    first = ones([1 if d == dim % self.ndim else n for d, n in enumerate(self.shape)], self._dtype, None, self._device)
    before = cat([first, self.narrow(dim, 0, size - 1)], dim).cumprod(dim)
    behind = cat([first, self.narrow(dim, 1, size - 1).flip(dim)], dim).cumprod(dim).flip(dim)
    return grad * (before * behind).conj()


def extremum_grad(grad: Any, self: Any, result: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The gradient, spread evenly over all elements that are equal to the extremum."""
    if dim is None:
        is_nan = self.isnan()
        both_nan = is_nan.logical_and(result.isnan())
        equal = (self == result).logical_or_(both_nan)
        return equal * (grad / equal.sum())
    shape = tuple(self.shape)
    if not keepdim and shape:
        dims = wrap_dims(dim, len(shape))
        kept = [1 if d in dims else n for d, n in enumerate(shape)]
        result = view(result, kept)
        equal = result == self
        grad = view(grad, kept)
    else:
        equal = result == self
    return equal * (grad / equal.sum(dim or None, True))


def aminmax_grad(grads: Any, self: Any, results: Any, dim: Any, keepdim: bool) -> Any:
    dims = () if dim is None else dim
    parts = [extremum_grad(grad, self, result, dims, keepdim)
             for grad, result in zip(grads, results, strict=True) if grad is not None]
    return sum(parts[1:], parts[0])


def selection_grad(grad: Any, shape: Any, dim: int, indices: Any, keepdim: bool = True) -> Any:
    """The gradient goes to the elements that were picked (ATen's ``value_selecting_reduction_backward``)."""
    if not keepdim and shape:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(shape).scatter(dim, indices, grad)


def norm_grad(grad: Any, self: Any, p: Any, norm: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The gradient of the p-norm; where that is not differentiable, the subgradient that PyTorch takes."""
    grad, norm = (restored(x, self.shape, dim, keepdim) for x in (grad, norm))
    if p == 0:
        return self * 0
    if p == 1:
        return self.sgn() * grad
    if p == 2:
        return grad * (self / norm).masked_fill_(norm == 0, 0)
    size = self.abs()
    if p in (inf, -inf):
        equal = (size == norm) | (size.isnan() & norm.isnan())
        return self.sgn() * (grad / equal.sum(dim or None, True) * equal)
    if p < 1:
        return self.sgn() * size.pow(p - 1).masked_fill(self == 0, 0) * grad * norm.pow(1 - p)
    scale = (grad / norm.pow(p - 1)).masked_fill(norm == 0, 0)
    return (self.sgn() * size.pow(p - 1) if p < 2 else self * size.pow(p - 2)) * scale


derivative("sum", self=lambda grad, self_shape: repeated(grad, self_shape))
derivative("sum.dim_IntList", "SumBackward1",
           self=lambda grad, self_shape, dim, keepdim: sum_backward(grad, self_shape, dim, keepdim))
derivative("nansum", self=lambda grad, self, dim, keepdim: (
    sum_backward(grad.to(self.dtype), self.shape, dim, keepdim) * self.isnan().logical_not()))
derivative("mean", self=lambda grad, self_shape: mean_grad(grad, self_shape))
derivative("mean.dim", "MeanBackward1",
           self=lambda grad, self_shape, dim, keepdim: mean_grad(grad, self_shape, dim, keepdim))
derivative("prod", self=lambda grad, self: prod_grad(grad, reshape(self, (-1,)), 0).view_as(self))
derivative("prod.dim_int", "ProdBackward1", self=lambda grad, self, dim, keepdim: (
    prod_grad(restored(grad, self.shape, dim, keepdim), self, dim)))
derivative("var.correction", self=var_grad)
derivative("std.correction", self=std_grad)
derivative("var_mean.correction", self=lambda grads, self, dim, correction, keepdim: moments_grad(
    None if grads[0] is None else var_grad(grads[0], self, dim, correction, keepdim),
    grads[1], self.shape, dim, keepdim))
derivative("std_mean.correction", self=lambda grads, result, self, dim, correction, keepdim: moments_grad(
    None if grads[0] is None else std_grad(grads[0], result, self, dim, correction, keepdim),
    grads[1], self.shape, dim, keepdim))
derivative("amax amin", self=lambda grad, self, result, dim, keepdim: extremum_grad(grad, self, result, dim, keepdim))
derivative("aminmax", self=lambda grads, self, min, max, dim, keepdim: (
    aminmax_grad(grads, self, (min, max), dim, keepdim)))
derivative("max", "MaxBackward1", self=lambda grad, self, result: extremum_grad(grad, self, result))
derivative("min", "MinBackward1", self=lambda grad, self, result: extremum_grad(grad, self, result))
derivative("max.dim min.dim", self=lambda grad, self_shape, dim, indices, keepdim: (
    selection_grad(grad, self_shape, dim, indices, keepdim)))
derivative("logsumexp", self=lambda grad, self, result, dim, keepdim: (
    restored(grad, self.shape, dim, keepdim)
    * (self - restored(result, self.shape, dim, keepdim)).exp().conj()))
derivative("linalg_vector_norm", self=lambda grad, self, ord, result, dim, keepdim: (
    None if ord == 0 else norm_grad(grad, self, ord, result, dim, keepdim)))
not_differentiable("all all.dim all.dims any any.dim any.dims count_nonzero.dim_IntList argmax argmin hash_tensor")
