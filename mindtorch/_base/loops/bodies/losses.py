"""Losses, and the gradients."""
from __future__ import annotations

from typing import Any

from .writing import f32, loop


@loop("float32[:,::1]", "int64[::1]", "int64", 'Array(float32, 0, "C")', 'Array(float32, 0, "C")', result="bool_")
def nll_loss(x: Any, target: Any, ignored: Any, total: Any, count: Any) -> Any:
    """Sum the classes' negated elements, count the targets not ignored; return False for an invalid class."""
    found, counted = 0.0, 0
    for row in range(len(x)):
        place = target[row]
        if place != ignored:
            if place < 0 or place >= x.shape[1]:
                return False
            found -= x[row, place]
            counted += 1
    total[()], count[()] = f32(found), f32(counted)
    return True


@loop("float32", "int64[::1]", "int64", "float32[:,::1]", result="bool_")
def nll_loss_backward(grad: Any, target: Any, ignored: Any, out: Any) -> Any:
    for row in range(len(out)):
        place, line = target[row], out[row]
        line[:] = f32(0)
        if place != ignored:
            if place < 0 or place >= len(line):
                return False
            line[place] = grad
    return True
