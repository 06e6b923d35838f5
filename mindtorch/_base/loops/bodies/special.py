"""Special functions that take each element's own steps, in ATen's order."""
from __future__ import annotations

import math
from typing import Any

from numba import njit

from .writing import FLOATS, f64, loop, wide_polynomial

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
