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
