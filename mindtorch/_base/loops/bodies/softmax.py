"""Softmax along lines and down columns, and the gradients."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from .activation import exp
from .writing import SUMS, bits_of, f32, float_of, i32, loop, ordered


@njit
def largest(x: Any) -> Any:
    """Return the maximum, compared as ordered integers so that LLVM vectorises it; arbitrary for NaN."""
    top = i32(-2147483648)
    for i in range(len(x)):
        top = max(top, ordered(bits_of(x[i])))
    return float_of(ordered(top))


@njit
def largest_down(x: Any, start: Any, stop: Any) -> Any:
    """Return the maxima of some of the columns, as ``largest`` does."""
    tops = np.full(stop - start, -2147483648, i32)
    for row in range(len(x)):
        line = x[row, start:stop]
        for i in range(len(tops)):
            tops[i] = max(tops[i], ordered(bits_of(line[i])))
    found = np.empty(len(tops), f32)
    for i in range(len(tops)):
        found[i] = float_of(ordered(tops[i]))
    return found


@loop("float32[:,::1]", "float32[:,::1]", fastmath=SUMS)
def softmax(x: Any, out: Any) -> None:
    for row in range(len(x)):
        line, result = x[row], out[row]
        top, total = largest(line), f32(0)
        for i in range(len(line)):
            power = exp(line[i] - top)
            result[i] = power
            total += power
        for i in range(len(line)):
            result[i] /= total


@loop("float32[:,::1]", "float32[:,::1]", fastmath=SUMS)
def log_softmax(x: Any, out: Any) -> None:
    for row in range(len(x)):
        line, result = x[row], out[row]
        top, total = largest(line), f32(0)
        for i in range(len(line)):
            total += exp(line[i] - top)
        total = f32(math.log(total))
        for i in range(len(line)):
            result[i] = (line[i] - top) - total


@loop("float32[:,::1]", "float32[:,::1]", "float32[:,::1]", fastmath=SUMS)
def softmax_backward(grad: Any, result: Any, out: Any) -> None:
    for row in range(len(out)):
        through, line, target, total = grad[row], result[row], out[row], f32(0)
        for i in range(len(line)):
            total += through[i] * line[i]
        for i in range(len(line)):
            target[i] = (through[i] - total) * line[i]


@loop("float32[:,::1]", "float32[:,::1]", "float32[:,::1]", fastmath=SUMS)
def log_softmax_backward(grad: Any, result: Any, out: Any) -> None:
    for row in range(len(out)):
        through, line, target, total = grad[row], result[row], out[row], f32(0)
        for i in range(len(line)):
            total += through[i]
        for i in range(len(line)):
            target[i] = through[i] - exp(line[i]) * total


# The same down some of the columns of matrices, whose sums are kept in float64: many rows are added up one by one.

@loop("float32[:,:,::1]", "float32[:,:,::1]", "int64", "int64")
def softmax_down(x: Any, out: Any, start: Any, stop: Any) -> None:
    for k in range(len(x)):
        tops, totals = largest_down(x[k], start, stop), np.zeros(stop - start)
        for row in range(x.shape[1]):
            line, result = x[k, row, start:stop], out[k, row, start:stop]
            for i in range(len(tops)):
                power = exp(line[i] - tops[i])
                result[i] = power
                totals[i] += power
        parts = (1 / totals).astype(f32)
        for row in range(x.shape[1]):
            result = out[k, row, start:stop]
            for i in range(len(tops)):
                result[i] *= parts[i]


@loop("float32[:,:,::1]", "float32[:,:,::1]", "int64", "int64")
def log_softmax_down(x: Any, out: Any, start: Any, stop: Any) -> None:
    for k in range(len(x)):
        tops, totals = largest_down(x[k], start, stop), np.zeros(stop - start)
        for row in range(x.shape[1]):
            line = x[k, row, start:stop]
            for i in range(len(tops)):
                totals[i] += exp(line[i] - tops[i])
        logs = np.log(totals).astype(f32)
        for row in range(x.shape[1]):
            line, result = x[k, row, start:stop], out[k, row, start:stop]
            for i in range(len(tops)):
                result[i] = (line[i] - tops[i]) - logs[i]


@loop("float32[:,:,::1]", "float32[:,:,::1]", "float32[:,:,::1]", "int64", "int64")
def softmax_backward_down(grad: Any, result: Any, out: Any, start: Any, stop: Any) -> None:
    for k in range(len(out)):
        totals = np.zeros(stop - start)
        for row in range(out.shape[1]):
            through, line = grad[k, row, start:stop], result[k, row, start:stop]
            for i in range(len(totals)):
                totals[i] += through[i] * line[i]
        sums = totals.astype(f32)
        for row in range(out.shape[1]):
            through, line, target = grad[k, row, start:stop], result[k, row, start:stop], out[k, row, start:stop]
            for i in range(len(totals)):
                target[i] = (through[i] - sums[i]) * line[i]


@loop("float32[:,:,::1]", "float32[:,:,::1]", "float32[:,:,::1]", "int64", "int64")
def log_softmax_backward_down(grad: Any, result: Any, out: Any, start: Any, stop: Any) -> None:
    for k in range(len(out)):
        totals = np.zeros(stop - start)
        for row in range(out.shape[1]):
            through = grad[k, row, start:stop]
            for i in range(len(totals)):
                totals[i] += through[i]
        sums = totals.astype(f32)
        for row in range(out.shape[1]):
            through, line, target = grad[k, row, start:stop], result[k, row, start:stop], out[k, row, start:stop]
            for i in range(len(totals)):
                target[i] = through[i] - exp(line[i]) * sums[i]
