"""Derivatives of arithmetic, elementary functions, rounding and complex numbers.

For complex numbers the gradient is PyTorch's: of a real loss, with respect to the conjugate.
"""
from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

from ..._dispatch.aten import (
    _conj as complex_conj, div_Tensor as div, div_Tensor_mode as div_mode, imag, mul_Tensor as mul, real, rsqrt,
    sigmoid_backward, tanh_backward, where_self as where, zeros_like,
)
from ..._dispatch.dispatcher import TENSOR_TYPES, is_seen
from ..derivative import derivative, not_differentiable


def conj(x: Any) -> Any:
    """The conjugate of a tensor or a number; a real one is returned as it is."""
    if x.__class__ in TENSOR_TYPES:
        return complex_conj(x) if x._dtype.is_complex else x
    return x.conjugate()


def not_implemented(what: str) -> Callable[[Any], Any]:
    """The formula of a derivative that PyTorch refuses."""

    def refuse(grad: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{what}' is not implemented.")

    return refuse


def _log(number: Any) -> Any:
    """The logarithm of a Python number, as C's."""
    if isinstance(number, complex):
        return cmath.log(number) if number else complex(-math.inf, 0)
    return math.log(number) if number > 0 else -math.inf if number == 0 else math.nan


def power_by_number(grad: Any, self: Any, exponent: Any) -> Any:
    if exponent == 0:
        return zeros_like(self)
    if exponent == 2 and not grad._dtype.is_complex and not is_seen(grad):
        return grad * (self * 2)
    return grad * conj(self.pow(exponent - 1) * exponent)


def power_by_tensor(grad: Any, self: Any, exponent: Any) -> Any:
    return where(exponent == 0, 0, grad * conj(exponent * self.pow(exponent - 1)))


def power_in_exponent(grad: Any, self: Any, exponent: Any, result: Any) -> Any:
    if exponent._dtype.is_complex:  # the logarithm of a negative number is complex
        self = self.to(exponent._dtype) if self.__class__ in TENSOR_TYPES else complex(self)
    log = self.log() if self.__class__ in TENSOR_TYPES else _log(self)
    whole = grad * conj(result * log)
    at_zero = self == 0
    if at_zero is False:
        return whole
    flat = real(exponent) >= 0 if exponent._dtype.is_complex else exponent >= 0
    return where(flat if at_zero is True else at_zero & flat, 0, whole)


def by_tensor(grad: Any, self: Any, other: Any) -> Any:
    """The derivative of a quotient in its divisor."""
    return conj((self / other) / other).neg() * grad


def sgn_backward(grad: Any, self: Any, result: Any) -> Any:
    if not self._dtype.is_complex:
        return zeros_like(grad)
    slope = (grad - real(grad * conj(result)) * result) / self.abs()
    return slope.masked_fill(self == 0, 0)


def atan2_backward(grad: Any, self: Any, other: Any) -> Any:
    scale = (self * self + other * other).reciprocal()
    return grad * other * scale, grad * -self * scale


def sinc_backward(grad: Any, self: Any) -> Any:
    scaled = self * math.pi
    square = self * scaled
    return where(square == 0, 0, grad * conj((scaled * scaled.cos() - scaled.sin()) / square))


def angle_backward(grad: Any, self: Any) -> Any:
    if not self._dtype.is_complex:
        return zeros_like(grad)
    return (grad * (self * 1j) / (self.abs() ** 2)).masked_fill(self == 0, 0)


def rounded_away(name: str) -> Callable[..., Any]:
    """The derivative of a remainder in its divisor: minus the rounded quotient."""
    return lambda grad, self, other: -grad * div_mode(self, other, name)


derivative("add.Tensor", self=lambda grad: grad, other=lambda grad, alpha: grad if alpha == 1 else grad * conj(alpha))
derivative("sub.Tensor", self=lambda grad: grad, other=lambda grad, alpha: -grad if alpha == 1 else grad * -conj(alpha))
derivative("rsub.Tensor", self=lambda grad, alpha: -grad if alpha == 1 else grad * -conj(alpha),
           other=lambda grad: grad)
derivative("rsub.Scalar", "RsubBackward1", self=lambda grad, alpha: -grad if alpha == 1 else grad * -conj(alpha))
derivative("mul.Tensor", self=lambda grad, other: mul(grad, conj(other) if grad._dtype.is_complex else other),
           other=lambda grad, self: grad * (conj(self) if grad._dtype.is_complex else self))
derivative("div.Tensor", self=lambda grad, other: div(grad, conj(other) if grad._dtype.is_complex else other),
           other=by_tensor)
derivative("div.Tensor_mode", "DivBackward2", self=lambda grad, other, rounding_mode: (
               grad / conj(other) if rounding_mode is None else zeros_like(grad)),
           other=lambda grad, self, other, rounding_mode: (
               by_tensor(grad, self, other) if rounding_mode is None else zeros_like(grad)))
derivative("remainder.Scalar", self=lambda grad: grad)
derivative("remainder.Tensor", "RemainderBackward1", self=lambda grad: grad, other=rounded_away("floor"))
derivative("fmod.Scalar", self=lambda grad: grad)
derivative("fmod.Tensor", "FmodBackward1", self=lambda grad: grad, other=rounded_away("trunc"))
derivative("pow.Tensor_Scalar", self=power_by_number)
derivative("pow.Tensor_Tensor", "PowBackward1", self=power_by_tensor, exponent=power_in_exponent)
derivative("pow.Scalar", "PowBackward2", exponent=power_in_exponent)

derivative("neg", self=lambda grad: -grad)
derivative("abs", self=lambda grad, self: grad * self.sgn())
derivative("sgn", self=sgn_backward)
derivative("sign ceil floor trunc round", self=lambda grad: zeros_like(grad))
derivative("round.decimals", "RoundBackward1", self=lambda grad: zeros_like(grad))
derivative("frac", self=lambda grad: grad)
derivative("reciprocal", self=lambda grad, result: conj(result * result).neg() * grad)
derivative("sqrt", self=lambda grad, result: grad / (2 * conj(result)))
derivative("rsqrt", self=lambda grad, result: conj(result.pow(3)) * (-0.5 * grad))
derivative("exp", self=lambda grad, result: grad * conj(result))
derivative("exp2", self=lambda grad, result: grad * conj(result) * math.log(2))
derivative("expm1", self=lambda grad, result: grad * (conj(result) + 1))
derivative("log", self=lambda grad, self: grad / conj(self))
derivative("log2", self=lambda grad, self: grad / (conj(self) * math.log(2)))
derivative("log10", self=lambda grad, self: grad / (conj(self) * math.log(10)))
derivative("log1p", "Log1PBackward0", self=lambda grad, self: grad / conj(self + 1))
derivative("sin", self=lambda grad, self: grad * conj(self.cos()))
derivative("cos", self=lambda grad, self: grad * conj(-self.sin()))
derivative("tan", self=lambda grad, result: grad * conj(1 + result.pow(2)))
derivative("asin", self=lambda grad, self: grad * conj(rsqrt(-self * self + 1)))
derivative("acos", self=lambda grad, self: grad * -conj(rsqrt(-self * self + 1)))
derivative("atan", self=lambda grad, self: grad / conj(self * self + 1))
derivative("sinh", self=lambda grad, self: grad * conj(self.cosh()))
derivative("cosh", self=lambda grad, self: grad * conj(self.sinh()))
derivative("tanh", self=lambda grad, result: tanh_backward(grad, result))
derivative("asinh", self=lambda grad, self: grad * conj(rsqrt(self.pow(2) + 1)))
derivative("acosh", self=lambda grad, self: grad * conj(
    rsqrt(self + 1) * rsqrt(self - 1) if self._dtype.is_complex else rsqrt(self * self - 1)))
derivative("atanh", self=lambda grad, self: grad / conj(1 - self.pow(2)))
for _name in ("asinh", "acosh", "atanh"):
    derivative(f"{_name}_", f"{_name.capitalize()}Backward1", self=not_implemented(f"inplace version of {_name}"))
derivative("sinc", self=sinc_backward)
derivative("sigmoid", self=lambda grad, result: sigmoid_backward(grad, result))
derivative("sigmoid_backward", grad_output=lambda grad, output: sigmoid_backward(grad, conj(output)),
           output=lambda grad, grad_output, output: conj(grad) * grad_output * (1 - 2 * conj(output)))
derivative("tanh_backward", grad_output=lambda grad, output: tanh_backward(grad, conj(output)),
           output=lambda grad, grad_output, output: conj(grad) * (-2 * conj(output) * grad_output))
derivative("deg2rad", "Deg2RadBackward0", self=lambda grad: grad * (math.pi / 180))
derivative("rad2deg", "Rad2DegBackward0", self=lambda grad: grad * (180 / math.pi))
derivative("atan2", **{"self, other": atan2_backward})
derivative("hypot", self=lambda grad, self, result: grad * self / result,
           other=lambda grad, other, result: grad * other / result)
derivative("logaddexp", self=lambda grad, self, other: grad / conj(1 + (other - self).exp()),
           other=lambda grad, self, other: grad / conj(1 + (self - other).exp()))
derivative("logaddexp2", self=lambda grad, self, other: grad / (1 + 2 ** (other - self)),
           other=lambda grad, self, other: grad / (1 + 2 ** (self - other)))

derivative("copysign.Tensor", self=lambda grad, self, result: grad * where(self == 0, 0, result / self),
           other=lambda grad: zeros_like(grad))
derivative("copysign.Scalar", "CopysignBackward1",
           self=lambda grad, self, result: grad * where(self == 0, 0, result / self))
derivative("nextafter",
           self=lambda grad, self, other: where(self != other, grad, 0), other=lambda grad: zeros_like(grad))
derivative("ldexp.Tensor", self=lambda grad, other: grad * conj(2**other),
           other=lambda grad, result: grad * conj(result) * math.log(2))
derivative("frexp.Tensor", self=lambda grad, exponent: grad / exponent.exp2())
derivative("lerp.Scalar",
           self=lambda grad, weight: grad * (1 - conj(weight)), end=lambda grad, weight: grad * conj(weight))
derivative("lerp.Tensor", "LerpBackward1", self=lambda grad, weight: grad * conj(1 - weight),
           end=lambda grad, weight: grad * conj(weight),
           weight=lambda grad, self, end: grad * conj(end - self))
derivative("addcmul", self=lambda grad: grad,
           tensor1=lambda grad, tensor2, value: grad * conj(tensor2 * value),
           tensor2=lambda grad, tensor1, value: grad * conj(tensor1 * value))
derivative("addcdiv", self=lambda grad: grad,
           tensor1=lambda grad, tensor2, value: grad * conj(value / tensor2),
           tensor2=lambda grad, tensor1, tensor2, value: -grad * conj(value * tensor1 / (tensor2 * tensor2)))

derivative("_conj _conj_physical", self=lambda grad: conj(grad))
derivative("angle", self=angle_backward)
derivative("polar", abs=lambda grad, result: real(conj(grad) * result.sgn()),
           angle=lambda grad, result: real(conj(grad) * (result * 1j)))
derivative("complex", real=lambda grad: real(grad), imag=lambda grad: imag(grad))

not_differentiable("signbit gcd lcm")
