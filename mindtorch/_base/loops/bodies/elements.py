"""Functions of each element, in NumPy's order of operations. Numbers of ``float32`` become wider where elements are."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from .writing import FLOATS, bits_of, f32, float_of, fma, i32, i64, loop, wide_bits_of, wide_float_of

ZERO, HALF, ONE = f32(0), f32(0.5), f32(1)


def of_each(name: str, function: Callable[..., Any], operands: int = 1, of: tuple[str, ...] = ()) -> None:
    """Build the loop that computes a function of each element of an array, of ``float32`` or of each dtype, and those
    of other operands, of which one number may stand for all.
    """
    called = function if hasattr(function, "py_func") else njit(inline="always")(function)
    register = loop(*["T[::1]" if of else "float32[::1]"] * (operands + 1), of=of, name=name)
    if operands == 1:
        @register
        def body(x: Any, out: Any) -> None:
            for i in range(len(x)):
                out[i] = called(x[i])
    elif operands == 2:
        @register
        def body(x: Any, y: Any, out: Any) -> None:
            if len(y) == len(x):
                for i in range(len(x)):
                    out[i] = called(x[i], y[i])
            else:
                for i in range(len(x)):
                    out[i] = called(x[i], y[0])
    elif operands == 3:
        @register
        def body(x: Any, y: Any, z: Any, out: Any) -> None:
            if len(y) == 1 and len(z) == 1:
                for i in range(len(x)):
                    out[i] = called(x[i], y[0], z[0])
            elif len(y) == len(x) and len(z) == 1:
                for i in range(len(x)):
                    out[i] = called(x[i], y[i], z[0])
            elif len(y) == len(x) and len(z) == len(x):
                for i in range(len(x)):
                    out[i] = called(x[i], y[i], z[i])
            else:
                for i in range(len(x)):
                    out[i] = called(x[i], y[i if len(y) > 1 else 0], z[i if len(z) > 1 else 0])
    else:
        @register
        def body(x: Any, y: Any, z: Any, factor: Any, out: Any) -> None:
            if len(y) == len(x) and len(z) == len(x) and len(factor) == 1:
                for i in range(len(x)):
                    out[i] = called(x[i], y[i], z[i], factor[0])
            else:
                for i in range(len(x)):
                    out[i] = called(x[i], y[i if len(y) > 1 else 0], z[i if len(z) > 1 else 0],
                                    factor[i if len(factor) > 1 else 0])


def next_of(bits_of: Any, float_of: Any, integer: Any, sign: int) -> Callable[[Any, Any], Any]:
    """Return the function of a float and a direction whose result is the next float: its bits are the next integer's.
    """
    smallest, one = (integer(1), integer(sign + 1)), integer(1)

    def nextafter(x: Any, y: Any) -> Any:
        bits = bits_of(x) + (one if (y > x) == (x > ZERO) else -one)
        bits = (smallest[0] if y > ZERO else smallest[1]) if x == ZERO else integer(bits)
        return y if x == y else x + y if x != x or y != y else float_of(bits)

    return nextafter


def lerp(start: Any, end: Any, weight: Any) -> Any:
    """Interpolate from the nearer end."""
    near = abs(weight) < HALF
    return (start if near else end) + (end - start) * (weight if near else weight - ONE)


of_each("sign", lambda x: ONE if x > ZERO else -ONE if x < ZERO else ZERO, 1, FLOATS)
of_each("angle", lambda x, pi: pi if x < ZERO else x if x != x else ZERO, 2, FLOATS)
of_each("heaviside", lambda x, at_zero: at_zero if x == ZERO else ONE if x > ZERO else ZERO, 2, FLOATS)
of_each("nextafter", next_of(bits_of, float_of, i32, -1 << 31), 2, ("float32",))
of_each("nextafter", next_of(wide_bits_of, wide_float_of, i64, -1 << 63), 2, ("float64",))
of_each("copysign", lambda x, y: np.copysign(x, y), 2, FLOATS)
of_each("lerp", lerp, 3, FLOATS)
of_each("addcmul", lambda x, y, z, factor: x + y * factor * z, 4, (*FLOATS, "int32", "int64"))
of_each("addcdiv", lambda x, y, z, factor: x + y * factor / z, 4, FLOATS)


@loop("T[::1]", "T", "T", "T", of=FLOATS)
def spaced(out: Any, start: Any, end: Any, step: Any) -> None:
    """Count from both ends towards the middle, and round each number once."""
    half = len(out) // 2
    for i in range(half):
        out[i] = fma(out.dtype.type(i), step, start)
    for i in range(half, len(out)):
        out[i] = fma(out.dtype.type(i - len(out) + 1), step, end)
