"""Remainders and rounded quotients."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numba.extending import intrinsic

from .half import HALVES
from .writing import FLOATS, fma, loop

remainder_of: Any = intrinsic(lambda typing, x, y: (
    x(x, x), lambda context, builder, signature, values: builder.frem(*values)))  # C's fmod
INFINITE = math.inf


#: How elements of an array become the numbers of the computation, and how those become elements again.
as_is = njit(inline="always")(lambda x: x)


def division(name: str, finish: Callable[[Any, Any, Any], Any], half: str = "") -> None:
    """Build the loop of a function of each dividend, its divisor, of which there may be one, and what is left; of a
    dtype of half precision, computed in float32, or of floats.

    The quotient of two floats, rounded down, is the right integer or one above it, and what is left is a float: ``fma``
    is exact. The rest of larger quotients is C's.
    """
    finished = njit(inline="always")(finish)
    read, write = HALVES[half] if half else (as_is, as_is)
    single, numbers, of = bool(half), "uint16[::1]" if half else "T[::1]", () if half else FLOATS

    @njit(inline="always")
    def step(x: Any, y: Any, limit: Any, out: Any, i: Any) -> Any:
        dividend, divisor = abs(x), abs(y)
        quotient = np.floor(dividend / divisor)
        rest = fma(-quotient, divisor, dividend)
        rest = rest + divisor if rest < 0 else rest
        out[i] = write(finished(x, y, rest if x > 0 else -rest if x < 0 else x))
        return not (quotient < limit and divisor < INFINITE)

    @loop(numbers, numbers, numbers, of=of, name=f"{name}_{half}" if half else name)
    def body(x: Any, y: Any, out: Any) -> None:
        limit, left = np.float32(1 << 22) if single else x.dtype.type(1 << (22 if x.itemsize == 4 else 51)), False
        if len(y) == 1:
            divisor = read(y[0])
            for i in range(len(x)):
                left |= step(read(x[i]), divisor, limit, out, i)
        else:
            for i in range(len(x)):
                left |= step(read(x[i]), read(y[i]), limit, out, i)
        if left:
            for i in range(len(x)):
                dividend, divisor = read(x[i]), read(y[i if len(y) > 1 else 0])
                if not (np.floor(abs(dividend) / abs(divisor)) < limit and abs(divisor) < INFINITE):
                    out[i] = write(finished(dividend, divisor, remainder_of(dividend, divisor)))


def quotient_below(rounded: Any) -> Callable[[Any, Any, Any], Any]:
    """Return the floor division that rounds after every step, as ATen and NumPy do."""
    def quotient_of(x: Any, y: Any, rest: Any) -> Any:
        quotient = rounded(rounded(x - rest) / y)
        quotient = rounded(quotient - 1) if rest != 0 and (y < 0) != (rest < 0) else quotient
        below = np.floor(quotient)
        below = rounded(below + 1) if quotient - below > 0.5 else below
        return x / y if y == 0 else x / y * 0 if quotient == 0 else below

    return quotient_of


def divisions_of_half(half: str) -> None:
    """Build the loops of rounded quotients in half precision."""
    read, write = HALVES[half]
    rounded = njit(inline="always")(lambda x: read(write(x)))
    division("floor_divide", quotient_below(rounded), half)
    truncated = njit(inline="always")(lambda x, y: np.trunc(rounded(x / y)))

    @loop("uint16[::1]", "uint16[::1]", "uint16[::1]", name=f"trunc_divide_{half}")
    def body(x: Any, y: Any, out: Any) -> None:
        for i in range(len(x)):
            out[i] = write(truncated(read(x[i]), read(y[i if len(y) > 1 else 0])))


division("fmod", lambda x, y, rest: rest)
division("remainder", lambda x, y, rest: rest + y if rest != 0 and (y < 0) != (rest < 0) else rest)
division("floor_divide", quotient_below(as_is))
for _half in HALVES:
    divisions_of_half(_half)


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
