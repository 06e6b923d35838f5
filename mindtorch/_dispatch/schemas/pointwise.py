"""Arithmetic, elementary functions, rounding and complex numbers, element by element."""

SCHEMAS = """
fmion add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
fmion sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
fmion subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
f   rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
f   rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
fmion mul.Tensor(Tensor self, Tensor other) -> Tensor
fmion multiply.Tensor(Tensor self, Tensor other) -> Tensor
fmion div.Tensor(Tensor self, Tensor other) -> Tensor
fmion div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
fmion divide.Tensor(Tensor self, Tensor other) -> Tensor
fmion divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
fmion true_divide.Tensor(Tensor self, Tensor other) -> Tensor
fmion floor_divide(Tensor self, Tensor other) -> Tensor
fmio remainder.Tensor(Tensor self, Tensor other) -> Tensor
fmio remainder.Scalar(Tensor self, Scalar other) -> Tensor
f   remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
fmio fmod.Tensor(Tensor self, Tensor other) -> Tensor
fmio fmod.Scalar(Tensor self, Scalar other) -> Tensor
fmio pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor
fmio pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
fo  pow.Scalar(Scalar self, Tensor exponent) -> Tensor
fmiox float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor
fmiox float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
fox float_power.Scalar(Scalar self, Tensor exponent) -> Tensor
f   add.Scalar_Tensor(Scalar self, Tensor other, *, Scalar alpha=1) -> Tensor
f   sub.Scalar_Tensor(Scalar self, Tensor other, *, Scalar alpha=1) -> Tensor
f   mul.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
f   div.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
f   true_divide.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
f   floor_divide.Scalar_Tensor(Scalar self, Tensor other) -> Tensor

fmiox neg(Tensor self) -> Tensor
fmiox negative(Tensor self) -> Tensor
fm  positive(Tensor(a) self) -> Tensor(a)
fmiox abs(Tensor self) -> Tensor
fmiox absolute(Tensor self) -> Tensor
fmiox sign(Tensor self) -> Tensor
fmiox sgn(Tensor self) -> Tensor
fmox signbit(Tensor self) -> Tensor
fmio reciprocal(Tensor self) -> Tensor
fmio square(Tensor self) -> Tensor
fmio sqrt(Tensor self) -> Tensor
fmio rsqrt(Tensor self) -> Tensor
fmio exp(Tensor self) -> Tensor
fmio exp2(Tensor self) -> Tensor
fmio expm1(Tensor self) -> Tensor
fmio log(Tensor self) -> Tensor
fmio log2(Tensor self) -> Tensor
fmio log10(Tensor self) -> Tensor
fmio log1p(Tensor self) -> Tensor
fmio sin(Tensor self) -> Tensor
fmio cos(Tensor self) -> Tensor
fmio tan(Tensor self) -> Tensor
fmio asin(Tensor self) -> Tensor
fmio acos(Tensor self) -> Tensor
fmio atan(Tensor self) -> Tensor
fmio sinh(Tensor self) -> Tensor
fmio cosh(Tensor self) -> Tensor
fmio tanh(Tensor self) -> Tensor
fmio asinh(Tensor self) -> Tensor
fmio acosh(Tensor self) -> Tensor
fmio atanh(Tensor self) -> Tensor
fmio arcsin(Tensor self) -> Tensor
fmio arccos(Tensor self) -> Tensor
fmio arctan(Tensor self) -> Tensor
fmio arcsinh(Tensor self) -> Tensor
fmio arccosh(Tensor self) -> Tensor
fmio arctanh(Tensor self) -> Tensor
fmio atan2(Tensor self, Tensor other) -> Tensor
fmio arctan2(Tensor self, Tensor other) -> Tensor
fmio sinc(Tensor self) -> Tensor
fmio sigmoid(Tensor self) -> Tensor
fmio deg2rad(Tensor self) -> Tensor
fmio rad2deg(Tensor self) -> Tensor
fmio hypot(Tensor self, Tensor other) -> Tensor
fmio logaddexp(Tensor self, Tensor other) -> Tensor
fmio logaddexp2(Tensor self, Tensor other) -> Tensor
-   sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor
-   tanh_backward(Tensor grad_output, Tensor output) -> Tensor

fmiox ceil(Tensor self) -> Tensor
fmiox floor(Tensor self) -> Tensor
fmiox round(Tensor self) -> Tensor
fmiox round.decimals(Tensor self, *, int decimals) -> Tensor
fmiox trunc(Tensor self) -> Tensor
fmiox fix(Tensor self) -> Tensor
fmiox frac(Tensor self) -> Tensor

fmio copysign.Tensor(Tensor self, Tensor other) -> Tensor
fmio copysign.Scalar(Tensor self, Scalar other) -> Tensor
fmio nextafter(Tensor self, Tensor other) -> Tensor
fmio ldexp.Tensor(Tensor self, Tensor other) -> Tensor
fmo frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)
fmio gcd(Tensor self, Tensor other) -> Tensor
fmio lcm(Tensor self, Tensor other) -> Tensor
fmiox lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor
fmio lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor
fmio addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor
fmio addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor

fm  conj(Tensor(a) self) -> Tensor(a)
fmiox conj_physical(Tensor self) -> Tensor
-   _conj(Tensor self) -> Tensor
-   _conj_physical(Tensor self) -> Tensor
fmo angle(Tensor self) -> Tensor
fox polar(Tensor abs, Tensor angle) -> Tensor
fox complex(Tensor real, Tensor imag) -> Tensor
"""
