"""Tangents with their own formulas, as in ATen's ``derivatives.yaml``; the tables of derivatives yield all others.

At ties, zeros and repeated indices these formulas differ from the gradients'.
"""
from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

from .._base.layout import wrap_dims
from .._dispatch.aten import complex as complex_of, conj, imag, ones_like, real, where_self as where, zeros_like

#: One input's part of an output's tangent, as a function of the input's tangent, the output and all arguments.
Part = Callable[..., Any]


def equal_to_extreme(d_self: Any, d_src: Any, out: Any, self: Any, dim: int, index: Any, src: Any,
                     include_self: bool) -> Any:
    """Average the tangents of all elements that are equal to the result of a scattered maximum or minimum."""
    is_src = (src == out.gather(dim, index)).to(self.dtype)
    if include_self:
        is_self = (self == out).to(self.dtype)
        return (is_self * d_self).scatter_add(dim, index, is_src * d_src) / is_self.scatter_add(dim, index, is_src)
    return (d_self.scatter_reduce(dim, index, is_src * d_src, "sum", include_self=False)
            / ones_like(self).scatter_reduce(dim, index, is_src, "sum", include_self=False))


def share(is_whole: Any, is_half: Any, tangent: Any) -> Any:
    """Return a tangent where it counts whole, half of it at ties, and zero elsewhere: in ATen NaNs are the other's."""
    return where(is_half, 0.5, is_whole.to(tangent.dtype)) * tangent


def of_extremes(tangent: Any, out: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    """Average the tangents of all elements that are equal to a maximum or minimum."""
    dims = wrap_dims(dim, self.ndim)
    equal = self == out.reshape([1 if d in dims else n for d, n in enumerate(self.shape)])
    return where(equal, tangent, 0).sum(dim, keepdim) / equal.sum(dim, keepdim)


def stays_zero(self: Any, exponent: Any) -> Any:
    """Where a power is one of 0 that does not change with the exponent: one that does not turn in the complex plane."""
    flat = (self == 0) & (real(exponent) >= 0)
    return flat & (imag(exponent) == 0) if exponent.is_complex() else flat


#: The part of each differentiable input; the parts are added. Arguments: the tangent, the output, the operator's.
PARTS: dict[str, tuple[Part, ...]] = {
    "polar": (lambda d, out, abs, angle: complex_of(d * angle.cos(), d * angle.sin()),
              lambda d, out, abs, angle: complex_of(-d * abs * angle.sin(), d * abs * angle.cos())),
    "atan2": (lambda d, out, self, other: d * other / (self * self + other * other),
              lambda d, out, self, other: -d * self / (self * self + other * other)),
    "clamp.Tensor": (  # comparisons with NaN are false
        lambda d, out, self, min, max: where(
            self < max if min is None else self > min if max is None else
            ((min > max) | (self < min) | (self > max)).logical_not(), d, 0),
        lambda d, out, self, min, max: where(
            (self > min).logical_not() if max is None else (min > max).logical_not() & (self < min), d, 0),
        lambda d, out, self, min, max: where(
            (self < max).logical_not() if min is None else (min > max) | ((self < min).logical_not() & (self > max)),
            d, 0)),
    "fmax": (lambda d, out, self, other: where((self > other) | other.isnan(), d, 0),
             lambda d, out, self, other: where((self > other) | other.isnan(), 0, d)),
    "_prelu_kernel": (lambda d, out, self, weight: where(self >= 0, d, weight * d),
                      lambda d, out, self, weight: where(self >= 0, 0, d * self)),
    "sgn": (lambda d, out, self: where(self == 0, 0, (d - real(conj(out) * d) * out) / self.abs())
            if self.is_complex() else zeros_like(self),),
    "angle": (lambda d, out, self: where(self == 0, 0, real(conj(self * 1j) * d) / self.abs() ** 2)
              if self.is_complex() else zeros_like(self),),
    "maximum": (lambda d, out, self, other: share(self > other, self == other, d),
                lambda d, out, self, other: share((self > other).logical_not(), self == other, d)),
    "minimum": (lambda d, out, self, other: share(self < other, self == other, d),
                lambda d, out, self, other: share((self < other).logical_not(), self == other, d)),
    "amax": (of_extremes,),
    "amin": (of_extremes,),
    "sinc": (lambda d, out, self: where(self == 0, 0, d * ((self * pi).cos() - out) / self),),
    "pow.Tensor_Tensor": (
        lambda d, out, self, exponent: where(exponent == 0, 0, d * (exponent * self.pow(exponent - 1))),
        lambda d, out, self, exponent: d * where(stays_zero(self, exponent), 0, out * self.to(out.dtype).log())),
}
#: Operators that are jointly linear in their differentiable inputs: applied to the tangents, they return the output's.
LINEAR = frozenset({"max_unpool2d", "max_unpool3d", "scatter_add", "scatter.src", "index_add", "index_copy",
                    "masked_scatter", "mean", "mean.dim", "embedding", "as_strided_scatter"})
#: Operators whose tangent is zero where the output is zero: a norm or a deviation has no derivative there.
ZERO_AT_ZERO = frozenset({"std.correction", "linalg_vector_norm", "norm.ScalarOpt_dim", "dist"})
