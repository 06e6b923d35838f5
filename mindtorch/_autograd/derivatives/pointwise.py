"""Derivatives of arithmetic, elementary functions, rounding and complex numbers.

For complex numbers the gradient is PyTorch's: of a real loss, with respect to the conjugate.
"""
from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

from ..._dispatch.aten import (
    _conj as complex_conj, div_Tensor as div, div_Tensor_mode as div_mode, empty_like, fill__Scalar as fill_, imag,
    mul_Tensor as mul, real, rsqrt, scalar_tensor, sigmoid_backward, tanh_backward, where_self as where, zeros,
    zeros_like,
)
from ..._dispatch.dispatcher import TENSOR_TYPES, is_seen
from ..._dispatch.local import local
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


def multiplied(grad: Any, other: Any) -> Any:
    """The derivative of a product in one factor, given the other."""
    if other.__class__ not in TENSOR_TYPES and local.formula:
        return by_wrapped_number(mul, grad, other)
    return mul(grad, conj(other) if grad._dtype.is_complex else other)


def divided(grad: Any, other: Any) -> Any:
    """The derivative of a quotient in its dividend."""
    if other.__class__ not in TENSOR_TYPES and local.formula:
        return by_wrapped_number(div, grad, other)
    return div(grad, conj(other) if grad._dtype.is_complex else other)


def by_wrapped_number(operator: Callable[..., Any], grad: Any, number: Any) -> Any:
    """An operator with a number that PyTorch keeps as a tensor, and therefore shows as one."""
    local.formula = False
    try:
        return operator(grad, conj(number))
    finally:
        local.formula = True


def zero_like(grad: Any) -> Any:
    """A zero to choose where there is no gradient; a tensor, as in PyTorch, where somebody sees the operators."""
    return scalar_tensor(0.0, grad._dtype, None, grad._device) if is_seen(grad) else 0


def power_by_number(grad: Any, self: Any, exponent: Any) -> Any:
    if exponent == 0:
        return zeros_like(self)
    if exponent == 2 and not grad._dtype.is_complex and not is_seen(grad):
        return grad * (self * 2)
    return grad * conj(self.pow(exponent - 1) * exponent)


def power_by_tensor(grad: Any, self: Any, exponent: Any) -> Any:
    slope = grad * conj(exponent * self.pow(exponent - 1))
    zero = zero_like(grad)
    return where(exponent == 0, zero, slope)


def power_in_exponent(grad: Any, self: Any, exponent: Any, result: Any) -> Any:
    if exponent._dtype.is_complex:  # the logarithm of a negative number is complex
        self = self.to(exponent._dtype) if self.__class__ in TENSOR_TYPES else complex(self)
    if self.__class__ not in TENSOR_TYPES:
        whole = grad * conj(result * _log(self))
        return whole if self != 0 else where(_is_positive(exponent), zero_like(grad), whole)
    positive = _is_positive(exponent)
    flat = (self == 0).logical_and(positive)
    slope = conj(result * self.log())
    zero = zero_like(grad)
    return grad * where(flat, zero, slope)


def _is_positive(exponent: Any) -> Any:
    """Where 0 to this power is a number that does not change with it: at no power that turns in the complex plane."""
    if not exponent._dtype.is_complex:
        return exponent >= 0
    is_real = imag(exponent) == 0
    return is_real.logical_and(real(exponent) >= 0)


def by_tensor(grad: Any, self: Any, other: Any) -> Any:
    """The derivative of a quotient in its divisor."""
    return conj((self / other) / other).neg() * grad


def copysign_backward(grad: Any, self: Any, result: Any) -> Any:
    ratio = (result / self).masked_fill_(self == 0, 0)
    return grad * ratio


def sgn_backward(grad: Any, self: Any, result: Any) -> Any:
    if not self._dtype.is_complex:
        return zeros_like(grad)
    slope = (grad - real(grad * conj(result)) * result) / self.abs()
    return slope.masked_fill(self == 0, 0)


def atan2_backward(grad: Any, self: Any, other: Any) -> Any:
    square = self * self + other * other
    scale = square.reciprocal().masked_fill(square == 0, 0)
    return grad * other * scale, grad * -self * scale


def sinc_backward(grad: Any, self: Any) -> Any:
    scaled = self * math.pi
    square = self * scaled
    sine = (self * math.pi).sin()
    slope = grad * conj((scaled * scaled.cos() - sine) / square)
    zero = zero_like(grad)
    return where(square == 0, zero, slope)


def angle_backward(grad: Any, self: Any) -> Any:
    if not self._dtype.is_complex:
        return zeros_like(grad)
    return (grad * (self * 1j) / (self.abs() ** 2)).masked_fill(self == 0, 0)


def quotient_of(number: Any, tensor: Any) -> Any:
    """``number / tensor``; as C++ computes it where somebody sees the operators."""
    return fill_(empty_like(tensor), number).div_(tensor) if is_seen(tensor) else number / tensor


def rounded_away(name: str) -> Callable[..., Any]:
    """The derivative of a remainder in its divisor: minus the rounded quotient."""
    def of_divisor(grad: Any, self: Any, other: Any) -> Any:
        quotient = div_mode(self, other, name)
        return -grad * quotient

    return of_divisor


derivative("add.Tensor", self=lambda grad: grad, other=lambda grad, alpha: grad if alpha == 1 else grad * conj(alpha))
derivative("sub.Tensor", self=lambda grad: grad, other=lambda grad, alpha: -grad if alpha == 1 else grad * -conj(alpha))
derivative("rsub.Tensor", self=lambda grad, alpha: -grad if alpha == 1 else grad * -conj(alpha),
           other=lambda grad: grad)
derivative("rsub.Scalar", "RsubBackward1", self=lambda grad, alpha: -grad if alpha == 1 else grad * -conj(alpha))
derivative("mul.Tensor", self=multiplied, other=lambda grad, self: multiplied(grad, self))
derivative("div.Tensor", self=divided, other=by_tensor)
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

derivative("copysign.Tensor", self=copysign_backward,
           other=lambda grad, other_shape, other_dtype, other_device:
               zeros(other_shape, other_dtype, None, other_device))
derivative("copysign.Scalar", "CopysignBackward1", self=copysign_backward)
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
           tensor1=lambda grad, tensor2, value: grad * conj(quotient_of(value, tensor2)),
           tensor2=lambda grad, tensor1, tensor2, value: -grad * conj(value * tensor1 / (tensor2 * tensor2)))

derivative("_conj_physical", self=lambda grad: conj(grad))
derivative("angle", self=angle_backward)
derivative("polar", abs=lambda grad, result: real(conj(grad) * result.sgn()),
           angle=lambda grad, result: real(conj(grad) * (result * 1j)))
derivative("complex", real=lambda grad: real(grad), imag=lambda grad: imag(grad))

not_differentiable("signbit gcd lcm")
