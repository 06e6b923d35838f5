"""Remainders and rounded quotients."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numba.extending import intrinsic

from .writing import FLOATS, fma, loop

remainder_of: Any = intrinsic(lambda typing, x, y: (
    x(x, x), lambda context, builder, signature, values: builder.frem(*values)))  # C's fmod
INFINITE = math.inf


def division(name: str, finish: Callable[[Any, Any, Any], Any]) -> None:
    """Build the loop of a function of each dividend, its divisor, of which there may be one, and what is left.

    The quotient of two floats, rounded down, is the right integer or one above it, and what is left is a float: ``fma``
    is exact. The rest of larger quotients is C's.
    """
    finished = njit(inline="always")(finish)

    @njit(inline="always")
    def step(x: Any, y: Any, limit: Any, out: Any, i: Any) -> Any:
        dividend, divisor = abs(x), abs(y)
        quotient = np.floor(dividend / divisor)
        rest = fma(-quotient, divisor, dividend)
        rest = rest + divisor if rest < 0 else rest
        out[i] = finished(x, y, rest if x > 0 else -rest if x < 0 else x)
        return not (quotient < limit and divisor < INFINITE)

    def body(x: Any, y: Any, out: Any) -> None:
        limit, left = x.dtype.type(1 << (22 if x.itemsize == 4 else 51)), False
        if len(y) == 1:
            divisor = y[0]
            for i in range(len(x)):
                left |= step(x[i], divisor, limit, out, i)
        else:
            for i in range(len(x)):
                left |= step(x[i], y[i], limit, out, i)
        if left:
            for i in range(len(x)):
                divisor = y[i if len(y) > 1 else 0]
                if not (np.floor(abs(x[i]) / abs(divisor)) < limit and abs(divisor) < INFINITE):
                    out[i] = finished(x[i], divisor, remainder_of(x[i], divisor))

    body.__name__ = body.__qualname__ = name
    loop("T[::1]", "T[::1]", "T[::1]", of=FLOATS)(body)


def quotient_below(x: Any, y: Any, rest: Any) -> Any:
    """Return the quotient, rounded down, by the steps of ATen and NumPy."""
    quotient = (x - rest) / y
    quotient = quotient - 1 if rest != 0 and (y < 0) != (rest < 0) else quotient
    below = np.floor(quotient)
    below = below + 1 if quotient - below > 0.5 else below
    return x / y if y == 0 else x / y * 0 if quotient == 0 else below


division("fmod", lambda x, y, rest: rest)
division("remainder", lambda x, y, rest: rest + y if rest != 0 and (y < 0) != (rest < 0) else rest)
division("floor_divide", quotient_below)


@loop("T[::1]", "T[::1]", "T[::1]", of=("int32", "int64"))
def trunc_divide(x: Any, y: Any, out: Any) -> None:
    """Divide by integers other than zero, and round towards zero; the smallest number by -1 wraps around."""
    for i in range(len(x)):
        divisor = y[i if len(y) > 1 else 0]
        if divisor == -1:
            out[i] = -x[i]
        else:
            quotient = x[i] // divisor
            out[i] = quotient + 1 if quotient < 0 and quotient * divisor != x[i] else quotient
