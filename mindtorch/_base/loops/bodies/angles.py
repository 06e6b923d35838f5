"""Angles of sines, cosines and tangents, to about a unit in the last place."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from ..coefficients import ASIN, ATAN
from .writing import f32, f64, loop, polynomial

#: The right angle, and the rest of it, by which float32 rounds it.
RIGHT = f32(math.pi / 2)
REST = f32(math.pi / 2 - f64(RIGHT))


@njit
def from_right(times: Any, large: Any, small: Any) -> Any:
    """Return some right angles less ``large + small``, rounded once: they are 0, or no smaller than ``large``."""
    right = times * RIGHT
    out = right - large
    return out + (((right - out) - large) + (times * REST - small))


@njit
def halved(x: Any) -> Any:
    """Return a number from 0 to 1/2 whose arcsine is that of ``x``, or beyond 1/2, half of its complement; and what the
    arcsine adds to it.
    """
    size = abs(x)
    square = f32(0.5) - f32(0.5) * size if size > f32(0.5) else size * size
    y = np.sqrt(square) if size > f32(0.5) else size
    return y, y * square * polynomial(square, ASIN)


@njit
def asin(x: Any) -> Any:
    y, more = halved(x)
    return np.copysign(from_right(f32(1), f32(2) * y, f32(2) * more) if abs(x) > f32(0.5) else y + more, x)


@njit
def acos(x: Any) -> Any:
    y, more = halved(x)
    is_far = abs(x) > f32(0.5)
    times = (f32(0) if x > f32(0) else f32(2)) if is_far else f32(1)
    factor = np.copysign(f32(1), x) * (f32(-2) if is_far else f32(1))
    return from_right(times, factor * y, factor * more)


@njit
def atan(x: Any) -> Any:
    size = abs(x)
    y = f32(1) / size if size > f32(1) else size
    square = y * y
    more = y * square * polynomial(square, ATAN)
    return np.copysign(from_right(f32(1), y, more) if size > f32(1) else y + more, x)


#: Elements that are copied before their results are written: a loop over arrays that are one has no vectors.
BLOCK = 512


def of_each(name: str, function: Any) -> None:
    """Build the loop that computes a function of each element, also in place."""
    @loop("float32[::1]", "float32[::1]", name=name)
    def body(x: Any, out: Any) -> None:
        kept = np.empty(BLOCK, f32)
        for start in range(0, len(x), BLOCK):
            part, result = x[start:start + BLOCK], out[start:start + BLOCK]
            for i in range(len(part)):
                kept[i] = part[i]
            for i in range(len(part)):
                result[i] = function(kept[i])


of_each("asin", asin)
of_each("acos", acos)
of_each("atan", atan)
