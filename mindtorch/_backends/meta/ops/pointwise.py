"""Meta kernels of arithmetic, elementary functions, rounding and complex numbers."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._base.errors import NAMES, check, check_number, check_takes
from ...._base.layout import Spec, broadcast_shapes, contiguous_strides, iterator_strides
from ...._dispatch.dispatcher import TENSOR_TYPES
from ...._dtype import COMPLEX, FLOATING, INTEGER, DType, bool_, float32, int32
from ...common.pointwise import Pointwise, check_alpha
from . import META_KERNELS

MINUS = ("{}, the `-` operator, {} is not supported. If you are trying to invert a mask, use the `~` or "
         "`logical_not()` operator instead.")


def _is_bool(operand: Any) -> bool:
    return operand._dtype is bool_ if operand.__class__ in TENSOR_TYPES else isinstance(operand, bool)


def check_add(promoted: DType, self: Any, other: Any, alpha: Any = 1) -> None:
    check_alpha(promoted, alpha)


def check_sub(promoted: DType, self: Any, other: Any, alpha: Any = 1) -> None:
    check(not (_is_bool(self) and _is_bool(other)), "Subtraction, the `-` operator, with two bool tensors is not "
          "supported. Use the `^` or `logical_xor()` operator instead.", kind="minus of bools")
    check(not (_is_bool(self) or _is_bool(other)),
          lambda: MINUS.format("Subtraction", "with a bool tensor"), kind="minus of bools")
    check_alpha(promoted, alpha)


def check_neg(promoted: DType, self: Any) -> None:
    check(promoted is not bool_, lambda: MINUS.format("Negation", "on a bool tensor"), kind="minus of bools")


def check_power(promoted: DType, self: Any, exponent: Any) -> None:
    check(promoted.category != INTEGER or not isinstance(exponent, int) or exponent >= 0,
          "Integers to negative integer powers are not allowed.", kind="negative power")
    is_half = promoted.category == FLOATING and promoted.itemsize == 2
    if exponent.__class__ not in TENSOR_TYPES and (is_half or promoted.category == INTEGER):
        check_number(promoted, exponent)


def refuse_complex(message: str, error: type[Exception] = NotImplementedError) -> Callable[..., None]:
    """A check that refuses complex operands in an operator's own words."""

    def refuse(promoted: DType, *args: Any) -> None:
        check(promoted.category != COMPLEX, message, error)

    return refuse


class RoundedDivision(Pointwise):
    """A division whose quotient is rounded to an integer: in half precision each of its steps is rounded, unless a
    single number divides.
    """

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


def rounding(name: str) -> Pointwise:
    """A function that rounds; integers stay what they are."""
    return Pointwise("default", 1, "real", f"{name}_vml_cpu",
                     check=refuse_complex(f"{name} is not supported for complex inputs"))


def check_lerp(promoted: DType, self: Any, end: Any, weight: Any) -> None:
    for name, other in (("end", end), ("weight", weight)):
        if other.__class__ in TENSOR_TYPES:
            if other._dtype is not self._dtype and (name != "weight" or other.ndim):
                raise RuntimeError(f"expected dtype {self.dtype} for `{name}` but got dtype {other.dtype}")
        elif promoted.category >= FLOATING:
            check_number(opmath(promoted), other)


def opmath(dtype: DType) -> DType:
    """The dtype in which the CPU computes."""
    return float32 if dtype.category == FLOATING and dtype.itemsize == 2 else dtype


def check_addcmul(promoted: DType, self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> None:
    check_number(opmath(promoted), value)


def check_addcdiv(promoted: DType, self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> None:
    check(tensor1._dtype.category >= FLOATING or tensor2._dtype.category >= FLOATING,
          "Integer division with addcdiv is no longer supported. It can be written as (input + value * "
          "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs; addcdiv is (input + value * tensor1 / "
          "tensor2).")


def check_ldexp(promoted: DType, self: Any, other: Any) -> None:
    broadcast_shapes(self.shape, other.shape)
    check_takes(not (self._dtype.is_floating_point and other._dtype is bool_), "ldexp_cpu_exp", bool_)


def check_parts(promoted: DType, first: Any, second: Any) -> None:
    """What ``complex`` and ``polar`` ask of their operands."""
    names = [NAMES[t._dtype.name] for t in (first, second)]
    for tensor in (first, second):
        check(tensor._dtype.is_floating_point and tensor._dtype.name != "bfloat16",
              lambda: f"Expected both inputs to be Half, Float or Double tensors but got {names[0]} and {names[1]}")
    check(first._dtype is second._dtype,
          lambda: f"Expected object of scalar type {names[0]} but got scalar type {names[1]} for second argument")


def frexp(self: Any) -> tuple[Spec, Spec]:
    check(self._dtype.is_floating_point, "torch.frexp() only supports floating-point dtypes")
    shape, stride = FREXP.layout((self,))
    return Spec(shape, self._dtype, stride), Spec(shape, int32, stride)


class Reversed(Pointwise):
    """A binary operator whose second operand comes first in the loop, which shows in the output's strides."""

    def layout(self, operands: Any, dtype: DType | None = None) -> Any:
        return super().layout(operands[::-1], dtype)


class Contiguous(Pointwise):
    """A pointwise operator whose output is contiguous whatever its operands' strides are."""

    def layout(self, operands: Any, dtype: DType | None = None) -> Any:
        return super().layout(operands, dtype)[0], None


class PowersOfTwo(Pointwise):
    """``ldexp``, which puts the powers of two into memory of their own, in order and in the exponents' own dtype."""

    def typed(self, operands: tuple[Any, ...]) -> Any:
        return operands

    def layout(self, operands: Any, dtype: DType | None = None) -> Any:
        first, powers = (tuple(operand.shape) for operand in operands)
        layouts = (first, operands[0]._strides()), (powers, contiguous_strides(powers))
        shape = broadcast_shapes(first, powers)
        return shape, iterator_strides(shape, layouts)


class Angle(Pointwise):
    """``angle``, whose output is contiguous for complex numbers."""

    def plan(self, args: tuple[Any, ...]) -> tuple[Spec, DType]:
        spec, dtype = super().plan(args)
        return (Spec(spec.shape, spec.dtype) if dtype.is_complex else spec), dtype


FREXP = Pointwise()
#: Functions of real or complex numbers, whose results are floating point.
ELEMENTARY = ("reciprocal", "sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos",
              "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sinc", "sigmoid")
POWER = Pointwise("default", 2, "real|complex", "pow", check=check_power)
DEGREES = "{} is not supported for complex tensors."

META_KERNELS.update({
    "add.Tensor": Pointwise("default", 2, "all|complex32", "add_stub", check=check_add, scaled=True),
    "sub.Tensor": Pointwise("default", 2, "all|complex32", "add_stub", check=check_sub, scaled=True),
    "rsub.Tensor": Reversed("default", 2, "all|complex32", "add_stub", check=check_sub, scaled=True),
    "rsub.Scalar": Pointwise("default", 2, "all|complex32", "add_stub", check=check_sub, scaled=True),
    "mul.Tensor": Pointwise("default", 2, "all|unsigned|complex32", "mul_cpu", opmath_scalars=(0, 1)),
    "div.Tensor": DIVISIONS[None],
    "div.Tensor_mode": Division("default", 2, fast=False, opmath_scalars=(1,)),
    "floor_divide": DIVISIONS["floor"],
    "floor_divide.Scalar_Tensor": DIVISIONS["floor"],
    **{f"remainder.{overload}": Pointwise("default", 2, "real", "remainder_cpu")
       for overload in ("Tensor", "Scalar", "Scalar_Tensor")},
    "fmod.Tensor": Pointwise("default", 2, "real", "fmod_cpu"),
    "fmod.Scalar": Pointwise("default", 2, "real", "fmod_cpu"),
    "pow.Tensor_Tensor": POWER,
    "pow.Tensor_Scalar": Pointwise("default", 2, kernel="pow", check=check_power, fast_half=False,
                                   iterates_numbers=False),
    "pow.Scalar": Contiguous("default", 2, "real|complex", "pow"),
    "neg": Pointwise("default", 1, "all|complex32", "neg_cpu", check=check_neg),
    "abs": Pointwise("real", 1, "real|complex|complex32", "abs_cpu"),
    "sign": Pointwise("default", 1, "bool|real", check=refuse_complex(
        "torch.sign is not intended to support complex numbers. Please use torch.sgn instead.")),
    "sgn": Pointwise("default", 1, "all|complex32", "sign_cpu"),
    "signbit": Pointwise("bool", 1, "bool|real",
                         check=refuse_complex("signbit is not implemented for complex tensors.")),
    **{name: Pointwise("float", 1, "all|unsigned", f"{name}_vml_cpu") for name in ELEMENTARY},
    "atan2": Pointwise("float", 2, "bool|real", "atan2_cpu"),
    "deg2rad": Pointwise("float", 1, "bool|real", check=refuse_complex(DEGREES.format("deg2rad"), RuntimeError)),
    "rad2deg": Pointwise("float", 1, "bool|real", check=refuse_complex(DEGREES.format("rad2deg"), RuntimeError)),
    "hypot": Pointwise("default", 2, "reduced|floating", "hypot_cpu"),
    "logaddexp": Pointwise("default", 2, "reduced|floating|complex", "logaddexp_cpu"),
    "logaddexp2": Pointwise("default", 2, "reduced|floating", "logaddexp2_cpu"),
    "sigmoid_backward": Pointwise("default", 2, "reduced|floating|complex", "sigmoid_backward_cpu"),
    "tanh_backward": Pointwise("default", 2, "reduced|floating|complex", "tanh_backward_cpu"),
    "ceil": rounding("ceil"),
    "floor": rounding("floor"),
    "trunc": rounding("trunc"),
    "round": Pointwise("default", 1, "real", "round_vml_cpu"),
    "round.decimals": Pointwise("default", 1, "reduced|floating", "round_cpu"),
    "frac": Pointwise("default", 1, "reduced|floating", "frac_cpu"),
    "copysign.Tensor": Pointwise("float", 2, "bool|real", "copysign_cpu"),
    "copysign.Scalar": Pointwise("float", 2, "bool|real", "copysign_cpu"),
    "nextafter": Pointwise("default", 2, "reduced|floating", "nextafter_cpu", opmath=False),
    "ldexp.Tensor": PowersOfTwo("float", 2, unpromoted=(1,), check=check_ldexp, fast=False),
    "frexp.Tensor": frexp,
    "gcd": Pointwise("default", 2, "integral", "gcd_cpu"),
    "lcm": Pointwise("default", 2, "integral", "lcm_cpu"),
    "lerp.Tensor": Pointwise("default", 3, "reduced|floating|complex", "lerp_kernel_tensor", check=check_lerp),
    "lerp.Scalar": Pointwise("default", 2, "reduced|floating|complex", "lerp_kernel_scalar", check=check_lerp),
    "addcmul": Pointwise("default", 3, "real|complex", "addcmul_cpu_out", check=check_addcmul),
    "addcdiv": Pointwise("default", 3, "real|complex", "addcdiv_cpu_out", check=check_addcdiv),
    "_conj_physical": Pointwise("default", 1, "all|unsigned|complex32"),
    "angle": Angle("float_real", 1, kernel="angle_cpu"),
    "polar": Pointwise("float_to_complex", 2, "float32|float64", "polar_cpu", check=check_parts),
    "complex": Pointwise("float_to_complex", 2, "float16|float32|float64", "complex_cpu", check=check_parts),
})
