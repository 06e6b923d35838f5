"""Special functions that take each element's own steps, in ATen's order."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.polynomial.chebyshev import cheb2poly, chebinterpolate
from scipy import special

from .elements import of_each
from .writing import FLOATS, f64, i64, loop, polynomial as wide_polynomial, wide_bits_of, wide_float_of

T, U, V, W, HERMITE_H, HERMITE_HE, LAGUERRE, LEGENDRE = range(8)
#: The kind's first degree of which the closed form is taken between -1 and 1.
CLOSED = (7, 9, 9, 9)


@njit(inline="always")
def closed_form(x: Any, n: Any, number: Any, one: Any, kind: Any) -> Any:
    """Compute a Chebyshev polynomial by the angle whose cosine is ``x``; at -1 and 1, the limit. ``number`` is ``n`` as
    a float.
    """
    if x == one or x == -one:
        first = kind == T or kind == (V if x > 0 else W)
        size = one if first else number + one if kind == U else number + number + one
        return -size if x < 0 and n % 2 == 1 else size
    angle, half = math.acos(x), one / (one + one)
    if kind == T:
        return math.cos(number * angle)
    if kind == U:
        return math.sin((number + one) * angle) / math.sin(angle)
    if kind == V:
        return math.cos((number + half) * angle) / math.cos(angle * half)
    return math.sin((number + half) * angle) / math.sin(angle * half)


@njit(inline="always")
def next_of(degree: Any, x: Any, now: Any, before: Any, one: Any, kind: Any) -> Any:
    """Return the polynomial of degree ``degree + 1`` from the two before."""
    if kind < HERMITE_H:
        return (x + x) * now - before
    if kind == HERMITE_H:
        return (x + x) * now - (degree + degree) * before
    if kind == HERMITE_HE:
        return x * now - degree * before
    if kind == LAGUERRE:
        return ((degree + degree + one - x) * now - degree * before) / (degree + one)
    return ((degree + degree + one) * x * now - degree * before) / (degree + one)


@loop("T[::1]", "T[::1]", "T[::1]", "int64", "bool", of=FLOATS)
def polynomial(x: Any, n: Any, out: Any, kind: Any, shifted: Any) -> None:
    """Compute orthogonal polynomials of each element's degree, or of the only one; ``shifted``, of ``2 x - 1``."""
    one = x.dtype.type(1)
    for i in range(len(x)):
        given, value = n[i if len(n) > 1 else 0], x[i] + x[i] - one if shifted else x[i]
        degree = int(given) if abs(given) < 2**62 else -1
        if kind < HERMITE_H and degree >= CLOSED[kind] and abs(value) <= one:
            out[i] = closed_form(value, degree, x.dtype.type(degree), one, kind)
            continue
        before, now = one, value
        if kind == LAGUERRE:
            now = one - value
        elif kind in (U, V, W, HERMITE_H):
            now = value + value - (one if kind == V else -one if kind == W else one - one)
        now = now if degree > 0 else one if degree == 0 else one - one
        for k in range(1, degree):
            before, now = now, next_of(x.dtype.type(k), value, now, before, one, kind)
            if now != now:
                break
        out[i] = now


#: PSI_TEN: digamma at 10. PSI: the coefficients of its asymptotic series in the reciprocal square.
PSI_TEN = 2.25175258906672110764
PSI = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)


@loop("T[::1]", "T[::1]", of=FLOATS)
def digamma(x: Any, out: Any) -> None:
    for i in range(len(x)):
        y, total = f64(x[i]), 0.0
        if y == 0:
            out[i] = -1 / y  # infinite, of the other sign
            continue
        if y < 0:
            if math.floor(y) == y:
                out[i] = math.nan
                continue
            total = -math.pi / math.tan(math.pi * (y + math.floor(-y)))
            y = 1 - y
        while y < 10:
            total -= 1 / y
            y += 1
        if y == 10:
            out[i] = total + PSI_TEN
            continue
        square = 1 / (y * y)
        out[i] = total + math.log(y) - 0.5 / y - square * wide_polynomial(square, PSI)


LN_2, LN_PI, LN_ROOT_TWO_PI = math.log(2), math.log(math.pi), math.log(2 * math.pi) / 2
#: The bits of the square root of 1/2; a number beside which float64 holds integers only.
SQRT_HALF, INTEGERS = int(f64(math.sqrt(0.5)).view(i64)), 1.5 * 2**52
#: Taylor's series of artanh(x) / x and sin(pi x) / x in x squared, and of exp; Stirling's series.
ARTANH = tuple(1 / k for k in range(13, 0, -2))
SINE = tuple((-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(7, -1, -1))
EXP = tuple(1 / math.factorial(k) for k in range(8, -1, -1))
STIRLING = (-1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
#: log(erfc(x) / t) + x**2 in t = 1 / (1 + x / 2), to 1.2e-7 (Numerical Recipes' erfcc).
ERFC = (0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368,
        -1.26551223)


@njit(inline="always")
def wide_log(x: Any) -> Any:
    """Compute the logarithm of a positive number of float64 to 1e-11."""
    exponent = (wide_bits_of(x) - SQRT_HALF) >> 52
    mantissa = wide_float_of(wide_bits_of(x) - (exponent << 52))
    part = (mantissa - 1) / (mantissa + 1)
    return exponent * LN_2 + 2 * part * wide_polynomial(part * part, ARTANH)


@njit(inline="always")
def wide_exp(x: Any) -> Any:
    """Compute exp of a number of float64, at least exp(-200)."""
    x = -200.0 if x < -200.0 else x
    shifted = x * (1 / LN_2) + INTEGERS
    return wide_float_of(wide_bits_of(wide_polynomial(x - (shifted - INTEGERS) * LN_2, EXP)) + (
        wide_bits_of(shifted) << 52))


def lgamma(x: Any) -> Any:
    """Compute log|gamma| of float32 by Stirling's series from 8 on, the product of what is below, and reflection."""
    y = f64(x)
    z, product = 1 - y if y < 0.5 else y, 1.0
    for _ in range(8):
        product *= z if z < 8 else 1.0
        z += 1.0 if z < 8 else 0.0
    inverse = 1 / z
    above = (z - 0.5) * wide_log(z) - z + LN_ROOT_TWO_PI - wide_log(product) + inverse * wide_polynomial(
        inverse * inverse, STIRLING)
    away = y - np.floor(y + 0.5)
    sine = abs(away * wide_polynomial(away * away, SINE))
    found = above if y >= 0.5 else LN_PI - wide_log(sine) - above
    found = math.inf if abs(y) == math.inf or (y < 0.5 and sine == 0) else found
    return 0.0 if y == 1 or y == 2 else y if y != y else found


def erfc(x: Any) -> Any:
    size = abs(f64(x))
    t = 1 / (1 + size / 2)
    above = t * wide_exp(wide_polynomial(t, ERFC) - size * size)
    return x if x != x else 2 - above if x < 0 else above


of_each("lgamma", lgamma)
of_each("erfc", erfc)


def interpolated(function: Callable[[Any], Any], degree: int) -> tuple[float, ...]:
    """Return the polynomial, highest power first, that interpolates a function between -1 and 1."""
    return tuple(cheb2poly(chebinterpolate(function, degree))[::-1].tolist())


#: i1e(x) / x in x / 4 - 1 up to 8, and i1e(x) times the root of x in 16 / x - 1 beyond, as Cephes divides it; to 1e-9.
I1E = interpolated(lambda y: special.i1e(4 * y + 4) / (4 * y + 4), 20)
I1E_HIGH, I1E_LOW = I1E[:-11], I1E[-11:]  #: each short enough for LLVM to unroll
I1E_FAR = interpolated(lambda y: special.i1e(16 / (y + 1)) * np.sqrt(16 / (y + 1)), 7)


@njit(inline="always")
def wide_i1e(x: Any) -> Any:
    size = abs(x)
    inverse, y = 1 / size, size / 4 - 1
    near = (wide_polynomial(y, I1E_HIGH) * y**11 + wide_polynomial(y, I1E_LOW)) * size
    found = near if size <= 8 else wide_polynomial(16 * inverse - 1, I1E_FAR) * math.sqrt(inverse)
    return -found if x < 0 else found


def i1(x: Any) -> Any:
    """Compute the modified Bessel function; infinite where exp is in float32, and NaN at infinity, as in ATen."""
    size = abs(f64(x))
    return wide_i1e(f64(x)) * (math.inf if size > 88.722844 else wide_exp(size))


of_each("i1", i1, 1, ("float32",))
of_each("i1e", lambda x: wide_i1e(f64(x)), 1, ("float32",))
