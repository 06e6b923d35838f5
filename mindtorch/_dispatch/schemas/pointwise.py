"""Arithmetic, elementary functions, rounding and complex numbers, element by element."""

SCHEMAS = """
function, method, in-place, out, wrapped numbers:
    add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor  # The sum of `self` and `other`, which is first multiplied by `alpha`.
    sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor  # The difference of `self` and `other`, which is first multiplied by `alpha`.
    subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor  # The difference of `self` and `other`, which is first multiplied by `alpha`; another name for `sub`.
    mul.Tensor(Tensor self, Tensor other) -> Tensor  # The product of `self` and `other`, element by element.
    multiply.Tensor(Tensor self, Tensor other) -> Tensor  # The product of `self` and `other`, element by element; another name for `mul`.
    div.Tensor(Tensor self, Tensor other) -> Tensor  # The quotient of `self` and `other`, element by element, rounded to an integer if `rounding_mode` is 'floor' or 'trunc'.
    div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
    divide.Tensor(Tensor self, Tensor other) -> Tensor  # The quotient of `self` and `other`, element by element; another name for `div`.
    divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
    true_divide.Tensor(Tensor self, Tensor other) -> Tensor  # The quotient of `self` and `other`, element by element, as a floating-point number.
    floor_divide(Tensor self, Tensor other) -> Tensor  # The quotient of `self` and `other`, element by element, rounded down to an integer.
function, method, in-place, out:
    remainder.Tensor(Tensor self, Tensor other) -> Tensor  # What is left of `self` after division by `other` and rounding down, with the sign of `other`, as of Python's %.
    remainder.Scalar(Tensor self, Scalar other) -> Tensor
    fmod.Tensor(Tensor self, Tensor other) -> Tensor  # What is left of `self` after division by `other` and rounding towards zero, with the sign of `self`, as of C's fmod.
    fmod.Scalar(Tensor self, Scalar other) -> Tensor
    pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor  # Each element of `self` raised to the power `exponent`.
    pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
function:
    rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor  # The difference of `other` and `self`, which is first multiplied by `alpha`.
    rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
    remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    add.Scalar_Tensor(Scalar self, Tensor other, *, Scalar alpha=1) -> Tensor
    sub.Scalar_Tensor(Scalar self, Tensor other, *, Scalar alpha=1) -> Tensor
    mul.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    div.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    true_divide.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    floor_divide.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
function, out:
    pow.Scalar(Scalar self, Tensor exponent) -> Tensor
function, method, in-place, out, exact dtype, no overlap:
    float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor  # Each element of `self` raised to the power `exponent`, in double precision.
    float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
function, out, exact dtype, no overlap:
    float_power.Scalar(Scalar self, Tensor exponent) -> Tensor

function, method, in-place, out, exact dtype, no overlap:
    neg(Tensor self) -> Tensor  # The negative of each element of `self`.
    negative(Tensor self) -> Tensor  # The negative of each element of `self`; another name for `neg`.
    abs(Tensor self) -> Tensor  # The absolute value of each element of `self`.
    absolute(Tensor self) -> Tensor  # The absolute value of each element of `self`; another name for `abs`.
    sign(Tensor self) -> Tensor  # The sign of each element of `self`: -1, 0 or 1.
    sgn(Tensor self) -> Tensor  # The sign of each element of `self`; of a complex number, the number divided by its absolute value.
function, method:
    positive(Tensor(a) self) -> Tensor(a)  # `self`, unless it is of bools, for which it is an error.
function, method, out, exact dtype, no overlap:
    signbit(Tensor self) -> Tensor  # Whether the sign bit of each element of `self` is set, which it is for negative numbers and -0.0.
function, method, in-place, out:
    reciprocal(Tensor self) -> Tensor  # One divided by each element of `self`.
    square(Tensor self) -> Tensor  # Each element of `self` multiplied by itself.
    sqrt(Tensor self) -> Tensor  # The square root of each element of `self`.
    rsqrt(Tensor self) -> Tensor  # One divided by the square root of each element of `self`.
    exp(Tensor self) -> Tensor  # The number e raised to the power of each element of `self`.
    exp2(Tensor self) -> Tensor  # Two raised to the power of each element of `self`.
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
    atan2(Tensor self, Tensor other) -> Tensor  # The angle, in radians from -pi to pi, of the point whose ordinate is in `self` and whose abscissa is in `other`.
    arctan2(Tensor self, Tensor other) -> Tensor  # The angle, in radians, of the point whose ordinate is in `self` and whose abscissa is in `other`; another name for `atan2`.
    sinc(Tensor self) -> Tensor  # The function sin(pi x) / (pi x) of each element x of `self`, which is 1 at zero.
    sigmoid(Tensor self) -> Tensor  # The logistic function 1 / (1 + exp(-x)) of each element x of `self`.
    deg2rad(Tensor self) -> Tensor  # Each angle in `self` converted from degrees to radians.
    rad2deg(Tensor self) -> Tensor  # Each angle in `self` converted from radians to degrees.
    hypot(Tensor self, Tensor other) -> Tensor  # The length of the hypotenuse of the right-angled triangle with the legs `self` and `other`.
    logaddexp(Tensor self, Tensor other) -> Tensor  # The logarithm of the sum of the exponentials of `self` and `other`, computed without overflow.
    logaddexp2(Tensor self, Tensor other) -> Tensor  # The logarithm to base 2 of the sum of the powers of two of `self` and `other`, computed without overflow.
operator only:
    sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor
    tanh_backward(Tensor grad_output, Tensor output) -> Tensor

function, method, in-place, out, exact dtype, no overlap:
    ceil(Tensor self) -> Tensor  # The least integer not below each element of `self`.
    floor(Tensor self) -> Tensor  # The greatest integer not above each element of `self`.
    round(Tensor self) -> Tensor  # Each element of `self` rounded to the nearest integer, or to `decimals` decimals, halves to the even neighbour.
    round.decimals(Tensor self, *, int decimals) -> Tensor
    trunc(Tensor self) -> Tensor  # Each element of `self` without its fraction.
    fix(Tensor self) -> Tensor  # Each element of `self` without its fraction; another name for `trunc`.
    frac(Tensor self) -> Tensor  # The fraction of each element of `self`, with its sign.

function, method, out, exact dtype:
    frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)  # The mantissa m, from 1/2 to 1 in absolute value, and the exponent e for which m times 2^e is each element of `self`.
function, method, in-place, out, exact dtype, no overlap:
    lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor  # The point between `self` and `end` that lies the fraction `weight` of the way from the one to the other.
function, method, in-place, out:
    copysign.Tensor(Tensor self, Tensor other) -> Tensor  # Each element of `self` with the sign of that of `other`.
    copysign.Scalar(Tensor self, Scalar other) -> Tensor
    nextafter(Tensor self, Tensor other) -> Tensor  # The floating-point number next to each element of `self` towards `other`.
    ldexp.Tensor(Tensor self, Tensor other) -> Tensor  # Each element of `self` times two to the power `other`.
    gcd(Tensor self, Tensor other) -> Tensor  # The greatest common divisor of the elements of `self` and `other`.
    lcm(Tensor self, Tensor other) -> Tensor  # The least common multiple of the elements of `self` and `other`.
    lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor
    addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor  # `self` plus `value` times the product of `tensor1` and `tensor2`.
    addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor  # `self` plus `value` times the quotient of `tensor1` and `tensor2`.

function, method:
    conj(Tensor(a) self) -> Tensor(a)  # The complex conjugate of each element of `self`; `self` itself where it is not complex.
function, method, in-place, out, exact dtype, no overlap:
    conj_physical(Tensor self) -> Tensor  # The complex conjugate of each element of `self`, computed at once.
operator only:
    _conj_physical(Tensor self) -> Tensor  # The complex conjugate of each element of `self`, for `conj_physical`.
function, method, out:
    angle(Tensor self) -> Tensor  # The angle of each element of `self` in the complex plane, in radians.
function, out, exact dtype, no overlap:
    polar(Tensor abs, Tensor angle) -> Tensor  # The complex numbers with the absolute values `abs` and the angles `angle`, in radians.
    complex(Tensor real, Tensor imag) -> Tensor  # The complex numbers with the real parts `real` and the imaginary parts `imag`.
"""
