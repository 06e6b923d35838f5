"""Arithmetic, elementary functions, rounding and complex numbers, element by element."""
from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

from .._backends.common.pointwise import Pointwise, check_alpha, result_type
from .._base.about import about
from .._base.call_site import warn_once
from .._base.errors import NAMES, check, check_number, check_takes
from .._base.formats import contiguous_format
from .._base.layout import Spec, broadcast_shapes, contiguous_strides, iterator_strides
from .._dispatch.aten import (
    _conj, _conj as complex_conj, _conj_physical, add_Tensor as add, div_Scalar, div_Tensor as div,
    div_Tensor_mode as div_mode, empty_like, fill__Scalar as fill_, imag, mul_Scalar, mul_Tensor as mul,
    pow_Scalar as pow_of_number, pow_Tensor_Scalar as pow_number, pow_Tensor_Tensor as pow_, real, rsqrt,
    rsub_Scalar as rsub, scalar_tensor, sigmoid_backward, sub_Tensor as sub, tanh_backward, where_self as where, zeros,
    zeros_like,
)
from .._dispatch.dispatcher import TENSOR_TYPES, is_seen
from .._dispatch.keys import SPARSES
from .._dispatch.local import local
from .._dtype import (
    COMPLEX, FLOATING, INTEGER, DType, bool_, complex128, float16, float32, float64, get_default_dtype, int32,
)
from .._tensor import Tensor
from .._transforms.batching.rules import as_it_is
from . import aliases, composites, operator, schemas


def refuse_complex(message: str, error: type[Exception] = NotImplementedError) -> Callable[..., None]:
    """Return a check that refuses complex operands in an operator's own words."""

    def refuse(promoted: DType, *args: Any) -> None:
        check(promoted.category != COMPLEX, message, error)

    return refuse


def conj(x: Any) -> Any:
    """Return the conjugate of a tensor or a number; a real one itself."""
    if x.__class__ in TENSOR_TYPES:
        return complex_conj(x) if x._dtype.is_complex else x
    return x.conjugate()


def not_implemented(what: str) -> Callable[[Any], Any]:
    """Return the formula of a derivative that PyTorch refuses."""

    def refuse(grad: Tensor) -> Any:
        raise about(NotImplementedError(f"the derivative for '{what}' is not implemented."), "no derivative")

    return refuse


schemas("""
function, method, in-place, out, wrapped numbers:
    add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor  # The sum of `self` and `other`, which is first multiplied by `alpha`.
    sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor  # The difference of `self` and `other`, which is first multiplied by `alpha`.
    subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor  # The difference of `self` and `other`, which is first multiplied by `alpha`; another name for `sub`.
function:
    add.Scalar_Tensor(Scalar self, Tensor other, *, Scalar alpha=1) -> Tensor
    rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor  # The difference of `other` and `self`, which is first multiplied by `alpha`.
    rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
    sub.Scalar_Tensor(Scalar self, Tensor other, *, Scalar alpha=1) -> Tensor
function, method, in-place, out, exact dtype, no overlap:
    neg(Tensor self) -> Tensor  # The negative of each element of `self`.
""")  # noqa: E501

MINUS = ("{}, the `-` operator, {} is not supported. If you are trying to invert a mask, use the `~` or "
         "`logical_not()` operator instead.")


def _is_bool(operand: Any) -> bool:
    return operand._dtype is bool_ if operand.__class__ in TENSOR_TYPES else isinstance(operand, bool)


def check_add(promoted: DType, self: Any, other: Tensor, alpha: Any = 1) -> None:
    check_alpha(promoted, alpha)


def check_sub(promoted: DType, self: Any, other: Tensor, alpha: Any = 1) -> None:
    check(not (_is_bool(self) and _is_bool(other)), "Subtraction, the `-` operator, with two bool tensors is not "
          "supported. Use the `^` or `logical_xor()` operator instead.", kind="minus of bools")
    check(not (_is_bool(self) or _is_bool(other)),
          lambda: MINUS.format("Subtraction", "with a bool tensor"), kind="minus of bools")
    check_alpha(promoted, alpha)


def check_neg(promoted: DType, self: Tensor) -> None:
    check(promoted is not bool_, lambda: MINUS.format("Negation", "on a bool tensor"), kind="minus of bools")


class Reversed(Pointwise):
    """A binary operator whose second operand comes first in the loop, which shows in the output's strides."""

    def layout(self, operands: Any, dtype: DType | None = None) -> Any:
        return super().layout(operands[::-1], dtype)


def add_to_number(self: Any, other: Any, alpha: Any = 1) -> Any:
    """``torch.add`` of a number and a tensor."""
    dtype = result_type((self, other))
    check_alpha(dtype, alpha)
    return (other if alpha == 1 else mul(other.to(dtype), alpha).to(dtype)).add(self)


def as_tensor(number: Any, other: Tensor) -> Tensor:
    """Return a number that stands before a tensor as a tensor of the dtype in which they are divided, which rounds it,
    or in which it is infinite.
    """
    dtype = result_type((number, other))
    dtype = dtype if dtype.category >= FLOATING else get_default_dtype()
    return scalar_tensor(number, complex128 if dtype.is_complex else float64, None, other._device).to(dtype)


def multiplied_by(number: Any, other: Tensor) -> Any:
    """Return the product of a number and a tensor. Integers, which wrap around, are not rounded."""
    is_whole = result_type((number, other)).category < FLOATING
    return mul(other, number) if is_whole else mul(as_tensor(number, other), other)


operator("add.Tensor", Pointwise("default", 2, "all|complex32", "add_stub", check=check_add, scaled=True),
         self=lambda grad: grad,
         other=lambda grad, alpha: grad if alpha == 1 else grad * conj(alpha))
operator("add.Scalar_Tensor", composite=add_to_number)
operator("sub.Tensor", Pointwise("default", 2, "all|complex32", "add_stub", check=check_sub, scaled=True),
         self=lambda grad: grad,
         other=lambda grad, alpha: -grad if alpha == 1 else -grad * conj(alpha))
operator("rsub.Tensor", Reversed("default", 2, "all|complex32", "add_stub", check=check_sub, scaled=True),
         self=lambda grad, alpha: -grad if alpha == 1 else -grad * conj(alpha),
         other=lambda grad: grad)
operator("rsub.Scalar", Pointwise("default", 2, "all|complex32", "add_stub", check=check_sub, scaled=True),
         node="RsubBackward1", self=lambda grad, alpha: -grad if alpha == 1 else -grad * conj(alpha))
operator("sub.Scalar_Tensor", composite=lambda self, other, alpha=1: rsub(other, self, alpha))
operator("neg", Pointwise("default", 1, "all|complex32", "neg_cpu", check=check_neg), self=lambda grad: -grad)
aliases({"subtract.Tensor": "sub.Tensor"})

schemas("""
function, method, in-place, out, wrapped numbers:
    mul.Tensor(Tensor self, Tensor other) -> Tensor  # The product of `self` and `other`, element by element.
    div.Tensor(Tensor self, Tensor other) -> Tensor  # The quotient of `self` and `other`, element by element, rounded to an integer if `rounding_mode` is 'floor' or 'trunc'.
    div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
    floor_divide(Tensor self, Tensor other) -> Tensor  # The quotient of `self` and `other`, element by element, rounded down to an integer.
function:
    mul.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    div.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    floor_divide.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
operator only:
    add.Scalar(Tensor self, Scalar other, *, Scalar alpha=1) -> Tensor
    sub.Scalar(Tensor self, Scalar other, *, Scalar alpha=1) -> Tensor
    mul.Scalar(Tensor self, Scalar other) -> Tensor
    div.Scalar(Tensor self, Scalar other) -> Tensor
""")  # noqa: E501


class RoundedDivision(Pointwise):
    """A division with an integral quotient; half precision rounds each step unless a number divides."""

    def widens(self, args: tuple[Any, ...]) -> bool:
        return args[1].__class__ not in TENSOR_TYPES or not args[1].ndim


#: What a rounding mode makes of a division: only true division has floating point results for integers.
DIVISIONS = {
    None: Pointwise("float", 2, kernel="div_cpu", opmath_scalars=(1,)),
    "floor": RoundedDivision("default", 2, "real", "div_floor_cpu", opmath_scalars=(1,)),
    "trunc": RoundedDivision("default", 2, "real", "div_trunc_cpu", opmath_scalars=(1,)),
}


class Division(Pointwise):
    """``div`` with a rounding mode."""

    def widens(self, args: tuple[Any, ...]) -> bool:
        return DIVISIONS[args[2]].widens(args)

    def plan(self, args: tuple[Any, ...]) -> tuple[Spec, DType]:
        mode = args[2]
        check(mode in DIVISIONS,
              lambda: f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'")
        return DIVISIONS[mode].plan(args)


def multiplied(grad: Tensor, other: Any) -> Any:
    """Return the derivative of a product with respect to one factor, given the other."""
    if other.__class__ not in TENSOR_TYPES and local.formula:
        return by_wrapped_number(mul, grad, other)
    return mul(grad, conj(other) if grad._dtype.is_complex else other)


def divided(grad: Tensor, other: Any) -> Any:
    """Return the derivative of a quotient with respect to its dividend."""
    if other.__class__ not in TENSOR_TYPES and local.formula:
        return by_wrapped_number(div, grad, other)
    return div(grad, conj(other) if grad._dtype.is_complex else other)


def by_wrapped_number(operator: Callable[..., Any], grad: Tensor, number: Any) -> Any:
    """Call an operator with a number that PyTorch keeps as a tensor, and therefore shows as one."""
    local.formula = False
    try:
        return operator(grad, conj(number))
    finally:
        local.formula = True


def by_tensor(grad: Tensor, self: Tensor, other: Any) -> Any:
    """Return the derivative of a quotient with respect to its divisor."""
    slope = conj((self / other) / other)
    return grad.neg() * slope


operator("mul.Tensor", Pointwise("default", 2, "all|unsigned|complex32|float8", "mul_cpu", opmath_scalars=(1,)),
         self=multiplied, other=lambda grad, self: multiplied(grad, self))
operator("div.Tensor", DIVISIONS[None], self=divided, other=by_tensor)
operator("div.Tensor_mode", Division("default", 2, fast=False, opmath_scalars=(1,)), node="DivBackward2",
         self=lambda grad, other, rounding_mode: (
             grad / conj(other) if rounding_mode is None else zeros_like(grad)),
         other=lambda grad, self, other, rounding_mode: (
             by_tensor(grad, self, other) if rounding_mode is None else zeros_like(grad)))
# PyTorch's composites in C++ call these, which have nodes of their own
operator("add.Scalar", composite=add, node="AddBackward1", self=lambda grad: grad)
operator("sub.Scalar", composite=sub, node="SubBackward1", self=lambda grad: grad)
operator("mul.Scalar", composite=mul, node="MulBackward1", self=lambda grad, other: mul_Scalar(grad, conj(other)))
operator("div.Scalar", composite=div, node="DivBackward1", self=lambda grad, other: div_Scalar(grad, conj(other)))
operator("floor_divide floor_divide.Scalar_Tensor", DIVISIONS["floor"])
operator("mul.Scalar_Tensor", composite=multiplied_by)
operator("div.Scalar_Tensor true_divide.Scalar_Tensor",
         composite=lambda self, other: div(as_tensor(self, other), other))

schemas("""
function, method, in-place, out, wrapped numbers:
    multiply.Tensor(Tensor self, Tensor other) -> Tensor  # The product of `self` and `other`, element by element; another name for `mul`.
    divide.Tensor(Tensor self, Tensor other) -> Tensor  # The quotient of `self` and `other`, element by element; another name for `div`.
    divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
    true_divide.Tensor(Tensor self, Tensor other) -> Tensor  # The quotient of `self` and `other`, element by element, as a floating-point number.
function:
    true_divide.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
function, method, in-place, out:
    remainder.Tensor(Tensor self, Tensor other) -> Tensor  # What is left of `self` after division by `other` and rounding down, with the sign of `other`, as of Python's %.
    remainder.Scalar(Tensor self, Scalar other) -> Tensor
    fmod.Tensor(Tensor self, Tensor other) -> Tensor  # What is left of `self` after division by `other` and rounding towards zero, with the sign of `self`, as of C's fmod.
    fmod.Scalar(Tensor self, Scalar other) -> Tensor
function:
    remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
""")  # noqa: E501


def rounded_away(name: str) -> Callable[..., Any]:
    """Return the derivative of a remainder with respect to its divisor: minus the rounded quotient."""
    def of_divisor(grad: Tensor, self: Tensor, other: Any) -> Any:
        quotient = div_mode(self, other, name)
        return -grad * quotient

    return of_divisor


operator("remainder.Tensor", Pointwise("default", 2, "real", "remainder_cpu"), node="RemainderBackward1",
         self=lambda grad: grad, other=rounded_away("floor"))
operator("remainder.Scalar", Pointwise("default", 2, "real", "remainder_cpu"), self=lambda grad: grad)
operator("fmod.Tensor", Pointwise("default", 2, "real", "fmod_cpu"), node="FmodBackward1", self=lambda grad: grad,
         other=rounded_away("trunc"))
operator("fmod.Scalar", Pointwise("default", 2, "real", "fmod_cpu"), self=lambda grad: grad)
operator("remainder.Scalar_Tensor", Pointwise("default", 2, "real", "remainder_cpu"))
aliases({
    "multiply.Tensor": "mul.Tensor", "divide.Tensor": "div.Tensor", "divide.Tensor_mode": "div.Tensor_mode",
    "true_divide.Tensor": "div.Tensor",
})

schemas("""
function, method, in-place, out:
    pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor  # Each element of `self` raised to the power `exponent`.
    pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
    sinc(Tensor self) -> Tensor  # The function sin(pi x) / (pi x) of each element x of `self`, which is 1 at zero.
function, out:
    pow.Scalar(Scalar self, Tensor exponent) -> Tensor
function, method:
    positive(Tensor(a) self) -> Tensor(a)  # `self`, unless it is of bools, for which it is an error.
""")


def check_power(promoted: DType, self: Tensor, exponent: Any) -> None:
    check(promoted.category != INTEGER or not isinstance(exponent, int) or exponent >= 0,
          "Integers to negative integer powers are not allowed.", kind="negative power")
    is_half = promoted.category == FLOATING and promoted.itemsize == 2
    if exponent.__class__ not in TENSOR_TYPES and (is_half or promoted.category == INTEGER):
        check_number(promoted, exponent)


class Contiguous(Pointwise):
    """A pointwise operator whose output is contiguous whatever its operands' strides are."""

    keeps_strides = False

    def layout(self, operands: Any, dtype: DType | None = None) -> Any:
        return super().layout(operands, dtype)[0], None


POWER = Pointwise("default", 2, "real|complex", "pow", check=check_power)


class PowerOfHalf(Pointwise):
    """A power of a number: bfloat16 rounds each step of a product, and float16 has C's ``pow`` for roots."""

    def widens(self, args: tuple[Any, ...]) -> bool:
        return args[1] not in ((0.5, -0.5) if args[0]._dtype is float16 else (3, -2))


def positive(self: Tensor) -> Tensor:
    """``torch.positive``: the tensor itself. Raises RuntimeError for bools."""
    check(self._dtype is not bool_, "The `+` operator, on a bool tensor is not supported.")
    return self


def _log(number: Any) -> Any:
    """Return the logarithm of a Python number, as C does."""
    if isinstance(number, complex):
        return cmath.log(number) if number else complex(-math.inf, 0)
    return math.log(number) if number > 0 else -math.inf if number == 0 else math.nan


def zero_like(grad: Tensor) -> Any:
    """Return a zero to choose where there is no gradient; under an observer a tensor, as in PyTorch."""
    return scalar_tensor(0.0, grad._dtype, None, grad._device) if is_seen(grad) else 0


def power_by_number(grad: Tensor, self: Tensor, exponent: Any) -> Any:
    if exponent == 0:
        return zeros_like(self, None, None, None, None, contiguous_format)
    if exponent == 2 and not grad._dtype.is_complex and not is_seen(grad) and not self._keys & SPARSES:
        return grad * (self * 2)
    return grad * conj(self.pow(exponent - 1) * exponent)


def power_by_tensor(grad: Tensor, self: Tensor, exponent: Any) -> Any:
    slope = grad * conj(exponent * self.pow(exponent - 1))
    zero = zero_like(grad)
    return where(exponent == 0, zero, slope)


def power_in_exponent(grad: Any, self: Any, exponent: Any, result: Tensor) -> Any:
    if exponent._dtype.is_complex:  # the logarithm of a negative number is complex
        self = self.to(exponent._dtype) if self.__class__ in TENSOR_TYPES else complex(self)
    if self.__class__ not in TENSOR_TYPES:
        slope = conj(result * _log(self))
        return grad * (slope if self != 0 else where(_is_positive(exponent), zero_like(grad), slope))
    positive = _is_positive(exponent)
    flat = (self == 0).logical_and(positive)
    slope = conj(result * self.to(result.dtype).log())
    zero = zero_like(grad)
    return grad * where(flat, zero, slope)


def _is_positive(exponent: Any) -> Any:
    """Where 0 to this power is a number that does not change with it: at no power that turns in the complex plane."""
    if not exponent._dtype.is_complex:
        return exponent >= 0
    is_real = imag(exponent) == 0
    return is_real.logical_and(real(exponent) >= 0)


def sinc_backward(grad: Tensor, self: Tensor) -> Tensor:
    scaled = self * math.pi
    square = self * scaled
    sine = (self * math.pi).sin()
    slope = grad * conj((scaled * scaled.cos() - sine) / square)
    zero = zero_like(grad)
    return where(square == 0, zero, slope)


composites(positive)
operator("pow.Tensor_Tensor", POWER, autocast="npu float32", node="PowBackward1", self=power_by_tensor,
         exponent=power_in_exponent)
operator("pow.Tensor_Scalar",
         PowerOfHalf("default", 2, kernel="pow", check=check_power, fast_half=False,
                     iterates_numbers=False), autocast="npu float32", self=power_by_number)
operator("pow.Scalar", Contiguous("default", 2, "real|complex", "pow"), autocast="npu float32", node="PowBackward2",
         exponent=power_in_exponent)
operator("sinc", Pointwise("float", 1, "all|unsigned", "sinc_vml_cpu"), self=sinc_backward)

schemas("""
function, method, in-place, out, exact dtype, no overlap:
    float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor  # Each element of `self` raised to the power `exponent`, in double precision.
    float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
    negative(Tensor self) -> Tensor  # The negative of each element of `self`; another name for `neg`.
    abs(Tensor self) -> Tensor  # The absolute value of each element of `self`.
    absolute(Tensor self) -> Tensor  # The absolute value of each element of `self`; another name for `abs`.
    sign(Tensor self) -> Tensor  # The sign of each element of `self`: -1, 0 or 1.
    sgn(Tensor self) -> Tensor  # The sign of each element of `self`; of a complex number, the number divided by its absolute value.
function, out, exact dtype, no overlap:
    float_power.Scalar(Scalar self, Tensor exponent) -> Tensor
function, method, out, exact dtype, no overlap:
    signbit(Tensor self) -> Tensor  # Whether the sign bit of each element of `self` is set, which it is for negative numbers and -0.0.
function, method, in-place, out:
    reciprocal(Tensor self) -> Tensor  # One divided by each element of `self`.
    square(Tensor self) -> Tensor  # Each element of `self` multiplied by itself.
    sqrt(Tensor self) -> Tensor  # The square root of each element of `self`.
    rsqrt(Tensor self) -> Tensor  # One divided by the square root of each element of `self`.
    exp(Tensor self) -> Tensor  # The number e raised to the power of each element of `self`.
    exp2(Tensor self) -> Tensor  # Two raised to the power of each element of `self`.
""")  # noqa: E501


def _powered(self: Any, exponent: Any, power: Callable[[Any, Any], Any]) -> Any:
    dtype = complex128 if result_type((self, exponent)).is_complex else float64
    return power(*(x.to(dtype) if hasattr(x, "_dtype") else x for x in (self, exponent)))


def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """``Tensor.float_power_``. Raises RuntimeError if the tensor is not of double precision."""
    dtype = complex128 if result_type((self, exponent)).is_complex else float64
    check(self._dtype is dtype, lambda: f"the base given to float_power_ has dtype {NAMES[self._dtype.name]} but the "
          f"operation's result requires dtype {NAMES[dtype.name]}")
    self.pow_(exponent.to(dtype) if hasattr(exponent, "_dtype") else exponent)
    return self


def sgn_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    if not self._dtype.is_complex:
        return zeros_like(grad, None, None, None, None, contiguous_format)
    slope: Tensor = (grad - result * result * conj(grad)) / (2 * self.abs())
    return slope.masked_fill_(self == 0, 0)


def reciprocal_grad(grad: Tensor, result: Tensor) -> Any:
    slope = conj(result * result)
    return grad.neg() * slope


def log1p_grad(grad: Tensor, self: Tensor) -> Any:
    if self._keys & SPARSES:
        warn_once("log1p_backward: received self with sparse layout, but backward requires materialization of a dense "
                  "tensor with this shape", always=True)
        self = self.to_dense()
    inverse = conj(self + 1)
    return grad * inverse.reciprocal() if grad._keys & SPARSES else grad / inverse


def rsqrt_grad(grad: Tensor, result: Tensor) -> Any:
    slope = conj(result.pow(3))
    return -0.5 * grad * slope


operator("float_power.Tensor_Tensor", composite=lambda self, exponent: _powered(self, exponent, pow_))
operator("float_power_.Tensor_Tensor float_power_.Tensor_Scalar", composite=float_power_)
operator("float_power.Tensor_Scalar", composite=lambda self, exponent: _powered(self, exponent, pow_number))
operator("float_power.Scalar", composite=lambda self, exponent: _powered(self, exponent, pow_of_number))
operator("abs", Pointwise("real", 1, "real|complex|complex32|float8", "abs_cpu"),
         self=lambda grad, self: grad * self.sgn())
operator("sign",
         Pointwise("default", 1, "bool|real", check=refuse_complex(
             "torch.sign is not intended to support complex numbers. Please use torch.sgn instead.")),
         self=lambda grad: zeros_like(grad))
operator("sgn", Pointwise("default", 1, "all|complex32", "sign_cpu"), self=sgn_backward)
operator("signbit",
         Pointwise("bool", 1, "bool|real",
                   check=refuse_complex("signbit is not implemented for complex tensors.")), differentiable=False)
operator("reciprocal", Pointwise("float", 1, "all|unsigned", "reciprocal_vml_cpu"), autocast="npu float32",
         self=reciprocal_grad)
operator("square", composite=lambda self: pow_number(self, 2))
operator("square_", composite=lambda self: self.pow_(2))
operator("sqrt", Pointwise("float", 1, "all|unsigned", "sqrt_vml_cpu"),
         self=lambda grad, result: grad / (2 * conj(result)))
operator("rsqrt", Pointwise("float", 1, "all|unsigned", "rsqrt_vml_cpu"), autocast="npu float32",
         self=rsqrt_grad)
operator("exp", Pointwise("float", 1, "all|unsigned", "exp_vml_cpu"), autocast="npu float32",
         self=lambda grad, result: grad * conj(result))
operator("exp2", Pointwise("float", 1, "all|unsigned", "exp2_vml_cpu"),
         self=lambda grad, result: grad * conj(result) * math.log(2))
aliases({"negative": "neg", "absolute": "abs"})

schemas("""
function, method, in-place, out:
    expm1(Tensor self) -> Tensor  # The exponential of each element of `self`, minus one, accurate for small elements too.
    log(Tensor self) -> Tensor  # The natural logarithm of each element of `self`.
    log2(Tensor self) -> Tensor  # The logarithm to base 2 of each element of `self`.
    log10(Tensor self) -> Tensor  # The logarithm to base 10 of each element of `self`.
    log1p(Tensor self) -> Tensor  # The natural logarithm of one plus each element of `self`, accurate for small elements too.
    sin(Tensor self) -> Tensor  # The sine of each element of `self`, an angle in radians.
    cos(Tensor self) -> Tensor  # The cosine of each element of `self`, an angle in radians.
    tan(Tensor self) -> Tensor  # The tangent of each element of `self`, an angle in radians.
    asin(Tensor self) -> Tensor  # The angle, in radians from -pi/2 to pi/2, whose sine is each element of `self`.
    acos(Tensor self) -> Tensor  # The angle, in radians from 0 to pi, whose cosine is each element of `self`.
    atan(Tensor self) -> Tensor  # The angle, in radians from -pi/2 to pi/2, whose tangent is each element of `self`.
    sinh(Tensor self) -> Tensor  # The hyperbolic sine of each element of `self`.
    cosh(Tensor self) -> Tensor  # The hyperbolic cosine of each element of `self`.
    tanh(Tensor self) -> Tensor  # The hyperbolic tangent of each element of `self`.
    asinh(Tensor self) -> Tensor  # The number whose hyperbolic sine is each element of `self`.
    acosh(Tensor self) -> Tensor  # The number, not negative, whose hyperbolic cosine is each element of `self`.
    atanh(Tensor self) -> Tensor  # The number whose hyperbolic tangent is each element of `self`.
    arcsin(Tensor self) -> Tensor  # The angle, in radians, whose sine is each element of `self`; another name for `asin`.
    arccos(Tensor self) -> Tensor  # The angle, in radians, whose cosine is each element of `self`; another name for `acos`.
    arctan(Tensor self) -> Tensor  # The angle, in radians, whose tangent is each element of `self`; another name for `atan`.
    arcsinh(Tensor self) -> Tensor  # The number whose hyperbolic sine is each element of `self`; another name for `asinh`.
    arccosh(Tensor self) -> Tensor  # The number whose hyperbolic cosine is each element of `self`; another name for `acosh`.
    arctanh(Tensor self) -> Tensor  # The number whose hyperbolic tangent is each element of `self`; another name for `atanh`.
operator only:
    tanh_backward(Tensor grad_output, Tensor output) -> Tensor
""")  # noqa: E501

operator("expm1", Pointwise("float", 1, "all|unsigned", "expm1_vml_cpu"), autocast="npu float32",
         self=lambda grad, result: grad * (conj(result) + 1))
operator("log", Pointwise("float", 1, "all|unsigned", "log_vml_cpu"), autocast="npu float32",
         self=lambda grad, self: grad / conj(self))
operator("log2", Pointwise("float", 1, "all|unsigned", "log2_vml_cpu"), autocast="npu float32",
         self=lambda grad, self: grad / (conj(self) * math.log(2)))
operator("log10", Pointwise("float", 1, "all|unsigned", "log10_vml_cpu"), autocast="npu float32",
         self=lambda grad, self: grad / (conj(self) * math.log(10)))
operator("log1p", Pointwise("float", 1, "all|unsigned", "log1p_vml_cpu"), autocast="npu float32", node="Log1PBackward0",
         self=log1p_grad)
operator("sin", Pointwise("float", 1, "all|unsigned", "sin_vml_cpu"), self=lambda grad, self: grad * conj(self.cos()))
operator("cos", Pointwise("float", 1, "all|unsigned", "cos_vml_cpu"), self=lambda grad, self: grad * conj(-self.sin()))
operator("tan", Pointwise("float", 1, "all|unsigned", "tan_vml_cpu"), autocast="npu float32",
         self=lambda grad, result: grad * conj(1 + result.pow(2)))
operator("asin", Pointwise("float", 1, "all|unsigned", "asin_vml_cpu"), autocast="npu float32",
         self=lambda grad, self: grad * conj(rsqrt(-self * self + 1)))
operator("acos", Pointwise("float", 1, "all|unsigned", "acos_vml_cpu"), autocast="npu float32",
         self=lambda grad, self: grad * -conj(rsqrt(-self * self + 1)))
operator("atan", Pointwise("float", 1, "all|unsigned", "atan_vml_cpu"),
         self=lambda grad, self: grad / conj(self * self + 1))
operator("sinh", Pointwise("float", 1, "all|unsigned", "sinh_vml_cpu"), autocast="npu float32",
         self=lambda grad, self: grad * conj(self.cosh()))
operator("cosh", Pointwise("float", 1, "all|unsigned", "cosh_vml_cpu"), autocast="npu float32",
         self=lambda grad, self: grad * conj(self.sinh()))
operator("tanh", Pointwise("float", 1, "all|unsigned", "tanh_vml_cpu"),
         self=lambda grad, result: tanh_backward(grad, result))
operator("tanh_backward", Pointwise("default", 2, "reduced|floating|complex", "tanh_backward_cpu"),
         grad_output=lambda grad, output: tanh_backward(grad, conj(output)),
         output=lambda grad, grad_output, output: conj(grad) * (-2 * conj(output) * grad_output))
operator("asinh", Pointwise("float", 1, "all|unsigned", "asinh_vml_cpu"),
         self=lambda grad, self: grad * conj(rsqrt(self.pow(2) + 1)))
operator("acosh", Pointwise("float", 1, "all|unsigned", "acosh_vml_cpu"),
         self=lambda grad, self: grad * conj(
             rsqrt(self + 1) * rsqrt(self - 1) if self._dtype.is_complex else rsqrt(self * self - 1)))
operator("atanh", Pointwise("float", 1, "all|unsigned", "atanh_vml_cpu"),
         self=lambda grad, self: grad * 1 / conj(1 - self.pow(2)))  # in PyTorch, too: what is expanded becomes dense
aliases({
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
})

schemas("""
function, method, in-place, out:
    atan2(Tensor self, Tensor other) -> Tensor  # The angle, in radians from -pi to pi, of the point whose ordinate is in `self` and whose abscissa is in `other`.
    arctan2(Tensor self, Tensor other) -> Tensor  # The angle, in radians, of the point whose ordinate is in `self` and whose abscissa is in `other`; another name for `atan2`.
    sigmoid(Tensor self) -> Tensor  # The logistic function 1 / (1 + exp(-x)) of each element x of `self`.
    deg2rad(Tensor self) -> Tensor  # Each angle in `self` converted from degrees to radians.
    rad2deg(Tensor self) -> Tensor  # Each angle in `self` converted from radians to degrees.
    hypot(Tensor self, Tensor other) -> Tensor  # The length of the hypotenuse of the right-angled triangle with the legs `self` and `other`.
    logaddexp(Tensor self, Tensor other) -> Tensor  # The logarithm of the sum of the exponentials of `self` and `other`, computed without overflow.
    logaddexp2(Tensor self, Tensor other) -> Tensor  # The logarithm to base 2 of the sum of the powers of two of `self` and `other`, computed without overflow.
operator only:
    sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor
function, method, in-place, out, exact dtype, no overlap:
    ceil(Tensor self) -> Tensor  # The least integer not below each element of `self`.
    floor(Tensor self) -> Tensor  # The greatest integer not above each element of `self`.
    trunc(Tensor self) -> Tensor  # Each element of `self` without its fraction.
    round(Tensor self) -> Tensor  # Each element of `self` rounded to the nearest integer, or to `decimals` decimals, halves to the even neighbour.
    round.decimals(Tensor self, *, int decimals) -> Tensor
    fix(Tensor self) -> Tensor  # Each element of `self` without its fraction; another name for `trunc`.
    frac(Tensor self) -> Tensor  # The fraction of each element of `self`, with its sign.
""")  # noqa: E501


def rounding(name: str) -> Pointwise:
    """Return the meta kernel of a function that rounds; integers stay as they are."""
    return Pointwise("default", 1, "real", f"{name}_vml_cpu",
                     check=refuse_complex(f"{name} is not supported for complex inputs"))


DEGREES = "{} is not supported for complex tensors."


def atan2_backward(grad: Tensor, self: Tensor, other: Any) -> Any:
    square = self * self + other * other
    scale = square.reciprocal().masked_fill(square == 0, 0)
    return grad * other * scale, grad * -self * scale


operator("atan2", Pointwise("float", 2, "bool|real", "atan2_cpu"), autocast="npu promote",
         jointly={"self, other": atan2_backward})
operator("sigmoid", Pointwise("float", 1, "all|unsigned", "sigmoid_vml_cpu"),
         self=lambda grad, result: sigmoid_backward(grad, result))
operator("sigmoid_backward", Pointwise("default", 2, "reduced|floating|complex", "sigmoid_backward_cpu"),
         grad_output=lambda grad, output: sigmoid_backward(grad, conj(output)),
         output=lambda grad, grad_output, output: conj(grad) * grad_output * (1 - 2 * conj(output)))
operator("deg2rad", Pointwise("float", 1, "bool|real", check=refuse_complex(DEGREES.format("deg2rad"), RuntimeError)),
         node="Deg2RadBackward0", self=lambda grad: grad * (math.pi / 180))
operator("rad2deg", Pointwise("float", 1, "bool|real", check=refuse_complex(DEGREES.format("rad2deg"), RuntimeError)),
         node="Rad2DegBackward0", self=lambda grad: grad * (180 / math.pi))
operator("hypot", Pointwise("default", 2, "reduced|floating", "hypot_cpu"),
         self=lambda grad, self, result: grad * self / result,
         other=lambda grad, other, result: grad * other / result)
operator("logaddexp", Pointwise("default", 2, "reduced|floating|complex", "logaddexp_cpu"),
         self=lambda grad, self, other: grad / conj(1 + (other - self).exp()),
         other=lambda grad, self, other: grad / conj(1 + (self - other).exp()))
operator("logaddexp2", Pointwise("default", 2, "reduced|floating", "logaddexp2_cpu"),
         self=lambda grad, self, other: grad / (1 + 2 ** (other - self)),
         other=lambda grad, self, other: grad / (1 + 2 ** (self - other)))
operator("ceil", rounding("ceil"), self=lambda grad: zeros_like(grad))
operator("floor", rounding("floor"), self=lambda grad: zeros_like(grad))
operator("trunc", rounding("trunc"), self=lambda grad: zeros_like(grad))
operator("round", Pointwise("default", 1, "real", "round_vml_cpu"), self=lambda grad: zeros_like(grad))
operator("round.decimals", Pointwise("default", 1, "reduced|floating", "round_cpu"), node="RoundBackward1",
         self=lambda grad: zeros_like(grad))
operator("frac", Pointwise("default", 1, "reduced|floating", "frac_cpu"), self=lambda grad: grad)
aliases({"arctan2": "atan2", "fix": "trunc"})

schemas("""
function, method, out, exact dtype:
    frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)  # The mantissa m, from 1/2 to 1 in absolute value, and the exponent e for which m times 2^e is each element of `self`.
function, method, in-place, out, exact dtype, no overlap:
    lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor  # The point between `self` and `end` that lies the fraction `weight` of the way from the one to the other.
function, method, in-place, out:
    lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor
    addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor  # `self` plus `value` times the product of `tensor1` and `tensor2`.
    copysign.Tensor(Tensor self, Tensor other) -> Tensor  # Each element of `self` with the sign of that of `other`.
    copysign.Scalar(Tensor self, Scalar other) -> Tensor
    nextafter(Tensor self, Tensor other) -> Tensor  # The floating-point number next to each element of `self` towards `other`.
""")  # noqa: E501


def check_lerp(promoted: DType, self: Tensor, end: Tensor, weight: Any) -> None:
    for name, other in (("end", end), ("weight", weight)):
        if other.__class__ in TENSOR_TYPES:
            if other._dtype is not self._dtype and (name != "weight" or other.ndim):
                raise RuntimeError(f"expected dtype {self.dtype} for `{name}` but got dtype {other.dtype}")
        elif promoted.category >= FLOATING:
            check_number(opmath(promoted), other)


def opmath(dtype: DType) -> DType:
    """Return the dtype in which the CPU computes."""
    return float32 if dtype.category == FLOATING and dtype.itemsize == 2 else dtype


def check_addcmul(promoted: DType, self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1) -> None:
    check_number(opmath(promoted), value)


def meta_frexp(self: Tensor) -> tuple[Spec, Spec]:
    check(self._dtype.is_floating_point, "torch.frexp() only supports floating-point dtypes")
    shape, stride = FREXP.layout((self,))
    return Spec(shape, self._dtype, stride), Spec(shape, int32, stride)


FREXP = Pointwise()


def copysign_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    ratio = (result / self).masked_fill_(self == 0, 0)
    return grad * ratio


operator("frexp.Tensor", meta_frexp, batching=as_it_is, self=lambda grad, exponent: grad / exponent.exp2())
operator("lerp.Tensor", Pointwise("default", 3, "reduced|floating|complex", "lerp_kernel_tensor", check=check_lerp),
         node="LerpBackward1", self=lambda grad, weight: grad * conj(1 - weight),
         end=lambda grad, weight: grad * conj(weight), weight=lambda grad, self, end: grad * conj(end - self))
operator("lerp.Scalar", Pointwise("default", 2, "reduced|floating|complex", "lerp_kernel_scalar", check=check_lerp),
         self=lambda grad, weight: grad * (1 - conj(weight)), end=lambda grad, weight: grad * conj(weight))
operator("addcmul", Pointwise("default", 3, "real|complex|complex32", "addcmul_cpu_out", check=check_addcmul),
         autocast="npu promote", self=lambda grad: grad,
         tensor1=lambda grad, tensor2, value: grad * conj(tensor2 * value),
         tensor2=lambda grad, tensor1, value: grad * conj(tensor1 * value))
operator("copysign.Tensor", Pointwise("float", 2, "bool|real", "copysign_cpu"), self=copysign_backward,
         other=lambda grad, other_shape, other_dtype, other_device:
             zeros(other_shape, other_dtype, None, other_device))
operator("copysign.Scalar", Pointwise("float", 2, "bool|real", "copysign_cpu"), node="CopysignBackward1",
         self=copysign_backward)
operator("nextafter", Pointwise("default", 2, "reduced|floating", "nextafter_cpu", opmath=False),
         self=lambda grad, self, other: where(self != other, grad, 0),
         other=lambda grad: zeros_like(grad, None, None, None, None, contiguous_format))

schemas("""
function, method, in-place, out:
    ldexp.Tensor(Tensor self, Tensor other) -> Tensor  # Each element of `self` times two to the power `other`.
    gcd(Tensor self, Tensor other) -> Tensor  # The greatest common divisor of the elements of `self` and `other`.
    lcm(Tensor self, Tensor other) -> Tensor  # The least common multiple of the elements of `self` and `other`.
    addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor  # `self` plus `value` times the quotient of `tensor1` and `tensor2`.
function, method:
    conj(Tensor(a) self) -> Tensor(a)  # The complex conjugate of each element of `self`; `self` itself where it is not complex.
function, method, in-place, out, exact dtype, no overlap:
    conj_physical(Tensor self) -> Tensor  # The complex conjugate of each element of `self`, computed at once.
operator only:
    _conj_physical(Tensor self) -> Tensor  # The complex conjugate of each element of `self`, for `conj_physical`.
""")  # noqa: E501


def check_addcdiv(promoted: DType, self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1) -> None:
    check(tensor1._dtype.category >= FLOATING or tensor2._dtype.category >= FLOATING,
          "Integer division with addcdiv is no longer supported. It can be written as (input + value * "
          "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs; addcdiv is (input + value * tensor1 / "
          "tensor2).")
    check_number(opmath(promoted), value)


def check_ldexp(promoted: DType, self: Tensor, other: Tensor) -> None:
    broadcast_shapes(self.shape, other.shape)
    check_takes(not (self._dtype.is_floating_point and other._dtype is bool_), "ldexp_cpu_exp", bool_)


class PowersOfTwo(Pointwise):
    """``ldexp``, which puts the powers of two into memory of their own, in order and in the exponents' own dtype."""

    keeps_strides = False

    def typed(self, operands: tuple[Any, ...]) -> Any:
        return operands

    def layout(self, operands: Any, dtype: DType | None = None) -> Any:
        first, powers = (tuple(operand.shape) for operand in operands)
        layouts = (first, operands[0]._strides()), (powers, contiguous_strides(powers))
        shape = broadcast_shapes(first, powers)
        return shape, iterator_strides(shape, layouts)


def conj_op(self: Tensor) -> Any:
    """``torch.conj``: a view of a complex tensor that is conjugated when it is read; a real tensor itself."""
    return _conj(self) if self._dtype.is_complex else self


def conj_physical(self: Tensor) -> Tensor:
    """``torch.conj_physical``: conjugated in memory; a real tensor is returned itself."""
    return _conj_physical(self) if self._dtype.is_complex else self


def conj_physical_(self: Tensor) -> Tensor:
    """``Tensor.conj_physical_``."""
    return self.copy_(_conj_physical(self))


def quotient_of(number: Any, tensor: Tensor) -> Any:
    """Return ``number / tensor``; under an observer, as C++ computes it."""
    return fill_(empty_like(tensor), number).div_(tensor) if is_seen(tensor) else number / tensor


composites(conj_physical, conj_physical_)
operator("ldexp.Tensor", PowersOfTwo("float", 2, unpromoted=(1,), check=check_ldexp, fast=False),
         self=lambda grad, other: grad * conj(2**other),
         other=lambda grad, result: grad * conj(result) * math.log(2))
operator("gcd", Pointwise("default", 2, "integral", "gcd_cpu"), differentiable=False)
operator("lcm", Pointwise("default", 2, "integral", "lcm_cpu"), differentiable=False)
operator("addcdiv", Pointwise("default", 3, "real|complex", "addcdiv_cpu_out", check=check_addcdiv),
         autocast="npu promote", self=lambda grad: grad,
         tensor1=lambda grad, tensor2, value: grad * conj(quotient_of(value, tensor2)),
         tensor2=lambda grad, tensor1, tensor2, value: -grad * conj(value * tensor1 / (tensor2 * tensor2)))
operator("conj", composite=conj_op)
operator("_conj_physical", Pointwise("default", 1, "all|unsigned|complex32"), self=lambda grad: conj(grad))

schemas("""
function, method, out:
    angle(Tensor self) -> Tensor  # The angle of each element of `self` in the complex plane, in radians.
function, out, exact dtype, no overlap:
    polar(Tensor abs, Tensor angle) -> Tensor  # The complex numbers with the absolute values `abs` and the angles `angle`, in radians.
    complex(Tensor real, Tensor imag) -> Tensor  # The complex numbers with the real parts `real` and the imaginary parts `imag`.
""")  # noqa: E501


def check_parts(promoted: DType, first: Any, second: Any) -> None:
    """Check the operands of ``complex`` and ``polar``."""
    names = [NAMES[t._dtype.name] for t in (first, second)]
    for tensor in (first, second):
        check(tensor._dtype.is_floating_point and tensor._dtype.name != "bfloat16",
              lambda: f"Expected both inputs to be Half, Float or Double tensors but got {names[0]} and {names[1]}")
    check(first._dtype is second._dtype,
          lambda: f"Expected object of scalar type {names[0]} but got scalar type {names[1]} for second argument")


class Angle(Pointwise):
    """``angle``, whose output is contiguous for complex numbers."""

    keeps_strides = False

    def plan(self, args: tuple[Any, ...]) -> tuple[Spec, DType]:
        spec, dtype = super().plan(args)
        return (Spec(spec.shape, spec.dtype) if dtype.is_complex else spec), dtype


def angle_backward(grad: Tensor, self: Tensor) -> Tensor:
    if not self._dtype.is_complex:
        return zeros_like(self)
    return where(self == 0, 0, grad * self / self.abs().pow(2) * 1j)


operator("angle", Angle("float_real", 1, kernel="angle_cpu"), self=angle_backward)
operator("polar", Pointwise("float_to_complex", 2, "float32|float64", "polar_cpu", check=check_parts),
         autocast="cpu float32", abs=lambda grad, result: real(_conj_physical(grad) * result.sgn()),
         angle=lambda grad, result: real(_conj_physical(grad) * (result * 1j)))
operator("complex", Pointwise("float_to_complex", 2, "float16|float32|float64", "complex_cpu", check=check_parts),
         real=lambda grad: real(grad), imag=lambda grad: imag(grad))

for _name in ("asinh", "acosh", "atanh"):
    operator(f"{_name}_", node=f"{_name.capitalize()}Backward1", self=not_implemented(f"inplace version of {_name}"))
