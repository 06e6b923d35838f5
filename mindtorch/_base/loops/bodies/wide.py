"""Functions of float64 to a unit or two in the last place, for which NumPy and SciPy have no vectors."""
from __future__ import annotations

import math
from typing import Any

from numba import njit

from .special import INTEGERS
from .writing import fma, loop, polynomial, wide_bits_of, wide_float_of

#: The right angle in three parts; and the largest number that is reduced by them. Beyond it, C's function computes.
RIGHT = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
LIMIT = 2.0**20
#: Series of (sin(x) / x - 1) / x**2 and (cos(x) - 1 + x**2 / 2) / x**4 in x squared, up to half a right angle; of exp.
SINE = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(8, 0, -1))
COSINE = tuple((-1) ** k / math.factorial(2 * k) for k in range(9, 1, -1))
EXP = tuple(1 / math.factorial(k) for k in range(13, 1, -1))
LN_2 = (0.6931471805599453, 2.3190468138462996e-17)
#: erf(x) / x in x squared up to 1, and exp(x**2) erfc(x) (1 + 2 x) in ``PLACE[0] / (x + 4) + PLACE[1]`` from 1/2 to 28.
ERF = tuple(2 / math.sqrt(math.pi) * (-1) ** k / math.factorial(k) / (2 * k + 1) for k in range(18, -1, -1))
PLACE = (10.472727272727273, -1.3272727272727274)
ERFCX = (
    -4.328232096414837e-11, -4.585305780205406e-10, 3.10361956507122e-10, 8.148844803158722e-09,
    6.6464446853480116e-09, -9.835803988066042e-08, -2.857690024551053e-07, 6.660926891524017e-07,
    6.112226806553156e-06, 1.1613804131721202e-05, -4.9076859354442975e-05, -0.00045479253971795027,
    -0.0019516802832476282, -0.005919748137176768, -0.013914922457294898, -0.02585805262344054, -0.03668705455779709,
    -0.03293852647852461, 0.0072490196548282764, 0.1069504187625836, 1.2349370813045701)
#: Quantiles of the normal distribution (M. J. Wichura, AS 241) as quotients of polynomials, the highest power first:
#: near the middle, far from it, and farther.
NEAR, FAR, FARTHER = (
    ((2509.0809287301227, 33430.57558358813, 67265.7709270087, 45921.95393154987, 13731.69376550946,
      1971.5909503065513, 133.14166789178438, 3.3871328727963665),
     (5226.495278852854, 28729.085735721943, 39307.89580009271, 21213.794301586597, 5394.196021424751,
      687.1870074920579, 42.31333070160091, 1.0)),
    ((0.0007745450142783414, 0.022723844989269184, 0.2417807251774506, 1.2704582524523684, 3.6478483247632045,
      5.769497221460691, 4.630337846156546, 1.4234371107496835),
     (1.0507500716444169e-09, 0.0005475938084995345, 0.015198666563616457, 0.14810397642748008, 0.6897673349851,
      1.6763848301838038, 2.053191626637759, 1.0)),
    ((2.0103343992922881e-07, 2.7115555687434876e-05, 0.0012426609473880784, 0.026532189526576124,
      0.29656057182850487, 1.7848265399172913, 5.463784911164114, 6.657904643501103),
     (2.0442631033899397e-15, 1.421511758316446e-07, 1.8463183175100548e-05, 0.0007868691311456133,
      0.014875361290850615, 0.1369298809227358, 0.599832206555888, 1.0)))
#: Each short enough for LLVM to unroll; the last of ERF is added last.
ERF_HIGH, ERF_LOW, ERFCX_HIGH, ERFCX_LOW = ERF[:9], ERF[9:-1], ERFCX[:10], ERFCX[10:]


@njit(inline="always")
def wave(x: Any, turn: Any) -> Any:
    """Compute the sine of ``x``, up to ``LIMIT``, and of so many right angles more."""
    shifted = fma(x, 2 / math.pi, INTEGERS)
    count, quadrant = shifted - INTEGERS, wide_bits_of(shifted) + turn
    y = fma(-count, RIGHT[2], fma(-count, RIGHT[1], fma(-count, RIGHT[0], x)))
    square = y * y
    sine = fma(polynomial(square, SINE) * square, y, y)
    half = 0.5 * square
    near = 1 - half
    cosine = near + (((1 - near) - half) + square * square * polynomial(square, COSINE))
    found = cosine if quadrant & 1 else sine
    return -found if quadrant & 2 else found


@loop("float64[::1]", "float64[::1]", name="sin_float64")
def sin(x: Any, out: Any) -> None:
    far = 0
    for i in range(len(x)):
        out[i] = wave(x[i], 0) if x[i] != 0 else x[i]
        far += abs(x[i]) > LIMIT
    if far:
        for i in range(len(x)):
            if abs(x[i]) > LIMIT:
                out[i] = math.sin(x[i])


@loop("float64[::1]", "float64[::1]", name="cos_float64")
def cos(x: Any, out: Any) -> None:
    far = 0
    for i in range(len(x)):
        out[i] = wave(x[i], 1)
        far += abs(x[i]) > LIMIT
    if far:
        for i in range(len(x)):
            if abs(x[i]) > LIMIT:
                out[i] = math.cos(x[i])


@njit(inline="always")
def exp_of(x: Any, more: Any) -> Any:
    """Compute exp of a number from -800 to 0, and of a small one more."""
    shifted = fma(x, 1 / LN_2[0], INTEGERS)
    count, power = shifted - INTEGERS, wide_bits_of(shifted)
    y = fma(-count, LN_2[1], fma(-count, LN_2[0], x) + more)
    half = power << 13 >> 14
    found = 1 + (y + y * y * polynomial(y, EXP))
    return found * wide_float_of((half + 1023) << 52) * wide_float_of(((power << 13 >> 13) - half + 1023) << 52)


@njit(inline="always")
def beyond(size: Any) -> Any:
    """Compute erfc of a number of at least 1/2."""
    size = size if size < 28 else 28.0
    square = size * size
    y = fma(PLACE[0], 1 / (size + 4), PLACE[1])
    y3 = y * y * y
    scaled = fma(polynomial(y, ERFCX_HIGH), y3 * y3 * y3 * y * y, polynomial(y, ERFCX_LOW))
    return exp_of(-square, fma(-size, size, square)) * scaled / (2 * size + 1)


@njit(inline="always")
def within(x: Any) -> Any:
    """Compute erf of a number up to 1."""
    square = x * x
    cube = square * square * square
    more = fma(polynomial(square, ERF_HIGH), cube * cube * cube, polynomial(square, ERF_LOW))
    return fma(more * square, x, x * ERF[-1]) if x != 0 else x


@loop("float64[::1]", "float64[::1]", name="erf_float64")
def erf(x: Any, out: Any) -> None:
    for i in range(len(x)):
        near = within(x[i])
        far = math.copysign(1 - beyond(abs(x[i])), x[i])
        out[i] = near if abs(x[i]) < 1 else far if x[i] == x[i] else x[i]


@loop("float64[::1]", "float64[::1]", name="erfc_float64")
def erfc(x: Any, out: Any) -> None:
    for i in range(len(x)):
        near, far = 1 - within(x[i]), beyond(abs(x[i]))
        out[i] = x[i] if x[i] != x[i] else near if abs(x[i]) < 0.5 else 2 - far if x[i] < 0 else far


@njit
def quotient(x: Any, polynomials: Any) -> Any:
    return math.sqrt(0.5) * polynomial(x, polynomials[0]) / polynomial(x, polynomials[1])


@loop("float64[::1]", "float64[::1]", name="erfinv_float64")
def erfinv(x: Any, out: Any) -> None:
    far = 0
    for i in range(len(x)):
        half = 0.5 * x[i]
        out[i] = x[i] * (0.5 * quotient(0.180625 - half * half, NEAR))
        far += abs(x[i]) > 0.85
    if far:
        for i in range(len(x)):
            size = abs(x[i])
            if size > 0.85:
                t = math.sqrt(-math.log(0.5 - 0.5 * size)) if size < 1 else math.inf
                found = quotient(t - 1.6, FAR) if t <= 5 else quotient(t - 5, FARTHER)
                out[i] = math.copysign(found if size < 1 else math.inf if size == 1 else math.nan, x[i])
