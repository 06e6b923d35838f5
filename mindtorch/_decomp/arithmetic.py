"""Arithmetic, matrix products and reductions, as functions of tensors."""
from __future__ import annotations

import math
from typing import Any

from .._dtype import bool_ as boolean, finfo, get_default_dtype, int64
from .rows import aten, in_opmath, row


@row(aten.addcdiv.default)
@in_opmath
def addcdiv(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    return self + value * (tensor1 / tensor2)


@row(aten.addcmul.default)
@in_opmath
def addcmul(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    return self + value * tensor1 * tensor2


@row(aten.addmm.default)
@in_opmath
def addmm(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _sum_with_product(self, aten.mm.default(mat1, mat2), beta, alpha)


@row(aten.addmv.default)
@in_opmath
def addmv(self: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _sum_with_product(self, aten.mv.default(mat, vec), beta, alpha)


@row(aten.baddbmm.default)
@in_opmath
def baddbmm(self: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _sum_with_product(self, aten.bmm.default(batch1, batch2), beta, alpha)


@row(aten.addr.default)
@in_opmath
def addr(self: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _sum_with_product(self, vec1.unsqueeze(1) * vec2, beta, alpha)


def _sum_with_product(self: Any, product: Any, beta: Any, alpha: Any) -> Any:
    product = product if alpha == 1 else alpha * product
    return product if beta == 0 else product + (self if beta == 1 else beta * self)


@row(aten.mv.default)
@in_opmath
def mv(self: Any, vec: Any) -> Any:
    return (self * vec).sum(1)


@row(aten.dot.default)
@in_opmath
def dot(self: Any, tensor: Any) -> Any:
    return (self * tensor).sum()


@row(aten.vdot.default)
@in_opmath
def vdot(self: Any, other: Any) -> Any:
    return (self.conj() * other).sum()


@row(aten.lerp.Scalar)
@in_opmath
def lerp_scalar(self: Any, end: Any, weight: Any) -> Any:
    return self + weight * (end - self) if abs(weight) < 0.5 else end - (end - self) * (1 - weight)


@row(aten.lerp.Tensor)
@in_opmath
def lerp(self: Any, end: Any, weight: Any) -> Any:
    is_small = weight.abs() < 0.5
    return (aten.where.self(is_small, weight, weight - 1) * (end - self)
            + aten.where.self(is_small, self, end))


@row(aten.rsub.Tensor, aten.rsub.Scalar)
def rsub(self: Any, other: Any, alpha: Any = 1) -> Any:
    return aten.sub.Tensor(other, self, alpha=alpha) if hasattr(other, "shape") else other - alpha * self


@row(aten.sgn.default)
def sgn(self: Any) -> Any:
    if not self.is_complex():
        return self.sign()
    size = self.abs()
    return aten.where.self(size == 0, aten.zeros_like.default(self), self / size)


@row(aten.deg2rad.default)
def deg2rad(self: Any) -> Any:
    return self * (math.pi / 180)


@row(aten.rad2deg.default)
def rad2deg(self: Any) -> Any:
    return self * (180 / math.pi)


@row(aten.frac.default)
def frac(self: Any) -> Any:
    return self - self.trunc()


@row(aten.floor_divide.default)
def floor_divide(self: Any, other: Any) -> Any:
    return aten.div.Tensor_mode(self, other, rounding_mode="floor")


@row(aten.heaviside.default)
def heaviside(self: Any, values: Any) -> Any:
    one, zero = [aten.scalar_tensor.default(n, dtype=self.dtype, device=self.device) for n in (1, 0)]
    outside = aten.where.self((self < 0) | (self != self), zero, one)
    return aten.where.self(self == 0, values, outside)


@row(aten.isposinf.default)
def isposinf(self: Any) -> Any:
    return self == math.inf if self.is_floating_point() else aten.zeros_like.default(self, dtype=boolean)


@row(aten.isneginf.default)
def isneginf(self: Any) -> Any:
    return self == -math.inf if self.is_floating_point() else aten.zeros_like.default(self, dtype=boolean)


@row(aten.nan_to_num.default)
def nan_to_num(self: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Any:
    if not self.is_floating_point():
        return self.clone()
    limits = finfo(self.dtype)
    found = aten.where.self(self != self, 0.0 if nan is None else nan, self)
    found = aten.where.self(self == -math.inf, limits.min if neginf is None else neginf, found)
    return aten.where.self(self == math.inf, limits.max if posinf is None else posinf, found)


@row(aten.logaddexp.default)
def logaddexp(self: Any, other: Any) -> Any:
    larger, smaller = aten.maximum.default(self, other), aten.minimum.default(self, other)
    distance = aten.where.self(larger == smaller, aten.zeros_like.default(larger), smaller - larger)
    return larger + distance.exp().log1p()


@row(aten.logaddexp2.default)
def logaddexp2(self: Any, other: Any) -> Any:
    larger, smaller = aten.maximum.default(self, other), aten.minimum.default(self, other)
    distance = aten.where.self(larger == smaller, aten.zeros_like.default(larger), smaller - larger)
    return larger + aten.exp2.default(distance).log1p() / math.log(2)


@row(aten.logsumexp.default)
@in_opmath
def logsumexp(self: Any, dim: Any, keepdim: bool = False) -> Any:
    self = self if self.is_floating_point() or self.is_complex() else self.to(get_default_dtype())
    dims = list(dim) if isinstance(dim, (list, tuple)) else [dim]
    if not self.numel():
        return self.exp().sum(dims, keepdim).log()
    largest = self.amax(dims, True)
    largest = aten.where.self(largest.abs() == math.inf, aten.zeros_like.default(largest), largest)
    shape = largest if keepdim or not self.dim() else largest.squeeze(dims)
    return (self - largest).exp().sum(dims, keepdim).log() + shape


@row(aten.sinc.default)
def sinc(self: Any) -> Any:
    scaled = math.pi * self
    return aten.where.self(scaled == 0, aten.ones_like.default(scaled), scaled.sin() / scaled)


@row(aten.xlogy.Tensor, aten.xlogy.Scalar_Self, aten.xlogy.Scalar_Other)
def xlogy(self: Any, other: Any) -> Any:
    return _x_times(self, other, lambda y: y.log())


@row(aten.special_xlog1py.default, aten.special_xlog1py.self_scalar, aten.special_xlog1py.other_scalar)
def special_xlog1py(self: Any, other: Any) -> Any:
    return _x_times(self, other, lambda y: y.log1p())


def _x_times(self: Any, other: Any, logarithm: Any) -> Any:
    """Return ``x log(y)``, zero where x is zero, NaN where y is NaN."""
    x, y = [value if hasattr(value, "shape") else aten.scalar_tensor.default(value, dtype=tensor.dtype)
            for value, tensor in ((self, other), (other, self))]
    product = x * logarithm(y)
    found = aten.where.self(x == 0, aten.zeros_like.default(product), product)
    return aten.where.self(y != y, aten.full_like.default(product, math.nan), found)


@row(aten.special_entr.default)
def special_entr(self: Any) -> Any:
    inside = aten.where.self(self > 0, -self * self.log(), aten.where.self(self == 0, 0.0, -math.inf))
    return aten.where.self(self != self, self, inside)


@row(aten.special_log_ndtr.default)
def special_log_ndtr(self: Any) -> Any:
    scaled = self * math.sqrt(0.5)
    below = (aten.special_erfcx.default(-scaled) / 2).log() - scaled * scaled
    return aten.where.self(self < 1.0, below, (-aten.erfc.default(scaled) / 2).log1p())


@row(aten.mvlgamma.default)
def mvlgamma(self: Any, p: int) -> Any:
    half = aten.arange.start_step((1 - p) / 2, 0.5, 0.5, dtype=self.dtype, device=self.device)
    return (self.unsqueeze(-1) + half).lgamma().sum(-1) + math.log(math.pi) * (p * (p - 1) / 4)


@row(aten.sum.default)
def sum(self: Any, *, dtype: Any = None) -> Any:
    return aten.sum.dim_IntList(self, [], dtype=dtype)


@row(aten.nansum.default)
def nansum(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    known = aten.where.self(self != self, aten.zeros_like.default(self), self)
    return aten.sum.dim_IntList(known, dim, keepdim, dtype=dtype)


@row(aten.count_nonzero.dim_IntList)
def count_nonzero(self: Any, dim: Any = None) -> Any:
    return aten.sum.dim_IntList((self != 0).to(int64), dim)


@row(aten.all.default)
def all(self: Any) -> Any:
    return ~(self == 0).any()


@row(aten.all.dim, aten.all.dims)
def all_dim(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return ~(self == 0).any(dim, keepdim)


@row(aten.aminmax.default)
def aminmax(self: Any, *, dim: int | None = None, keepdim: bool = False) -> tuple[Any, Any]:
    dims = [] if dim is None else [dim]
    return aten.amin.default(self, dims, keepdim), aten.amax.default(self, dims, keepdim)


@row(aten.std.correction)
def std(self: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    return aten.var.correction(self, dim, correction=correction, keepdim=keepdim).sqrt()


@row(aten.std_mean.correction)
def std_mean(self: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> tuple[Any, Any]:
    return std(self, dim, correction=correction, keepdim=keepdim), aten.mean.dim(self, dim, keepdim)


@row(aten.var_mean.correction)
def var_mean(self: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> tuple[Any, Any]:
    return (aten.var.correction(self, dim, correction=correction, keepdim=keepdim),
            aten.mean.dim(self, dim, keepdim))


@row(aten.linalg_cross.default)
def linalg_cross(self: Any, other: Any, *, dim: int = -1) -> Any:
    self, other = aten.broadcast_tensors.default([self, other])
    return self.roll(-1, dim) * other.roll(1, dim) - self.roll(1, dim) * other.roll(-1, dim)


@row(aten._euclidean_dist.default)
def _euclidean_dist(x1: Any, x2: Any) -> Any:
    first, second = [x.pow(2).sum(-1, True) for x in (x1, x2)]
    left = aten.cat.default([x1 * -2, first, aten.ones_like.default(first)], -1)
    right = aten.cat.default([x2, aten.ones_like.default(second), second], -1)
    return left.matmul(right.mT).clamp_min(0).sqrt()


@row(aten.norm.ScalarOpt_dim)
def norm(self: Any, p: Any, dim: Any, keepdim: bool = False) -> Any:
    return aten.linalg_vector_norm.default(self, 2 if p is None else p, dim, keepdim)


@row(aten.renorm.default)
def renorm(self: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    dims = [d for d in range(self.dim()) if d != dim % self.dim()]
    length = aten.linalg_vector_norm.default(self, p, dims, True)
    factor = aten.where.self(length > maxnorm, maxnorm / (length + 1e-7), aten.ones_like.default(length))
    return (self * factor).contiguous()
