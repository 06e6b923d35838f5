"""Running sums, products and extrema, and products of lines. Arrays are boxes (outer, steps, inner)."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from .division import as_is
from .half import HALVES
from .writing import FLOATS, f32, f64, i64, loop


def running(name: str, operation: Callable[[Any, Any], Any], first: Any, wide: Any = f64,
            of: tuple[str, ...] = FLOATS, half: str = "") -> None:
    """Build the loop that combines the elements up to each step, for some of the inner places; the running value is
    float64, as in PyTorch, float32, complex128 or int64. Elements are of the dtypes ``of``, or the bits of half
    precision.
    """
    read, narrow = HALVES.get(half, (as_is, as_is))
    write = njit(inline="always")(lambda x: narrow(f32(x))) if half else as_is
    boxes = "uint16[:,:,::1]" if half else "T[:,:,::1]"

    @loop(boxes, boxes, "int64", "int64", of=() if half else of, name=f"{name}_{half}" if half else name)
    def body(x: Any, out: Any, start: Any, stop: Any) -> None:
        totals = np.empty(stop - start, wide)
        for k in range(len(x)):
            if len(totals) == 1:
                total = first
                for step in range(x.shape[1]):
                    total = operation(total, wide(read(x[k, step, start])))
                    out[k, step, start] = write(total)
            else:
                totals[:] = first
                for step in range(x.shape[1]):
                    line, result = x[k, step, start:stop], out[k, step, start:stop]
                    for i in range(len(totals)):
                        totals[i] = operation(totals[i], wide(read(line[i])))
                        result[i] = write(totals[i])


running("cumsum", operator.add, i64(0), i64, ("int64",))
running("cumprod", operator.mul, 1 + 0j, np.complex128, ("complex64", "complex128"))
running("cumsum", operator.add, 0.0)
running("cumprod", operator.mul, 1.0)
for _half in HALVES:
    running("cumsum", operator.add, f32(0), f32, half=_half)
    running("cumprod", operator.mul, f32(1), f32, half=_half)


@loop("T[:,:,::1]", "T[:,:,::1]", "int64[:,:,::1]", "bool_", "bool_", of=(*FLOATS, "int32", "int64"))
def cumulative_extreme(x: Any, out: Any, places: Any, lowest: Any, integer: Any) -> None:
    """Find the last of the largest elements up to each step, or of the smallest; the last NaN if there is one."""
    for k in range(len(x)):
        if x.shape[2] == 1 and integer:
            top, place = x[k, 0, 0], 0
            for step in range(x.shape[1]):
                value = x[k, step, 0]
                reached = value <= top if lowest else value >= top
                top, place = value if reached else top, step if reached else place
                out[k, step, 0], places[k, step, 0] = top, place
        elif x.shape[2] == 1:
            step, count = 0, x.shape[1]
            while step < count:  # written so that no comparison of floats waits for the one before
                top, place = x[k, step, 0], step
                while True:
                    out[k, step, 0], places[k, step, 0] = top, place
                    step += 1
                    if step == count:
                        break
                    value = x[k, step, 0]
                    if (value <= top if lowest else value >= top) or value != value:
                        break
        else:
            for i in range(x.shape[2]):
                out[k, 0, i], places[k, 0, i] = x[k, 0, i], 0
            for step in range(1, x.shape[1]):
                line, tops, before = x[k, step], out[k, step - 1], places[k, step - 1]
                result, found = out[k, step], places[k, step]
                for i in range(len(line)):
                    reached = (line[i] <= tops[i] if lowest else line[i] >= tops[i]) or line[i] != line[i]
                    result[i] = line[i] if reached else tops[i]
                    found[i] = step if reached else before[i]


@loop("T[:,::1]", "T[:,::1]", of=("float64",))
def multiply_along(x: Any, out: Any) -> None:
    """Multiply, in each row, the elements at each distance of ``out.shape[1]``."""
    width = out.shape[1]
    for row in range(len(x)):
        line, result = x[row], out[row]
        for i in range(width):
            result[i] = line[i]
        for start in range(width, len(line) - width + 1, width):
            for i in range(width):
                result[i] *= line[start + i]
        for i in range(len(line) % width):
            result[i] *= line[len(line) - len(line) % width + i]
