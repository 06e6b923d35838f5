"""Distances of all pairs of rows, and their gradients; bags of rows."""
from __future__ import annotations

from typing import Any

import numpy as np

from .writing import FLOATS, SUMS, loop


@loop("T[:,::1]", "T[:,::1]", "int64", "bool_", "int64", "T[::1]", of=FLOATS)
def distances(x: Any, y: Any, p: Any, triangle: Any, features: Any, out: Any) -> None:
    """Write distances of rows of ``x`` from columns of ``y``: of all, or of those behind the row's own number. ``p`` is
    0, 1, 2, or -1 for infinity. Sums of ``features`` features are added up.
    """
    target, count = 0, y.shape[1]
    part, zero, one = np.empty(count, x.dtype), x.dtype.type(0), x.dtype.type(1)
    for row in range(len(x)):
        first = row + 1 if triangle else 0
        line = out[target:target + count - first]
        target += len(line)
        line[:] = 0
        for start in range(0, x.shape[1], features):
            sums = part[:len(line)]
            sums[:] = 0
            for k in range(start, min(start + features, x.shape[1])):
                value, others = x[row, k], y[k, first:]
                if p == 0:
                    for i in range(len(sums)):
                        away = abs(value - others[i])
                        sums[i] += one if away > zero else away
                elif p == 1:
                    for i in range(len(sums)):
                        sums[i] += abs(value - others[i])
                elif p == 2:
                    for i in range(len(sums)):
                        sums[i] += (value - others[i]) * (value - others[i])
                else:
                    for i in range(len(sums)):
                        away = abs(value - others[i])
                        sums[i] = away if away > sums[i] or away != away else sums[i]
            if p < 0:
                for i in range(len(line)):
                    line[i] = sums[i] if sums[i] > line[i] or sums[i] != sums[i] else line[i]
            else:
                for i in range(len(line)):
                    line[i] += sums[i]
        if p == 2:
            for i in range(len(line)):
                line[i] = np.sqrt(line[i])


@loop("T[:,::1]", "T[:,::1]", "T[:,::1]", "T[:,::1]", "int64", "T[:,::1]", fastmath=SUMS, of=FLOATS)
def distances_backward(weights: Any, norms: Any, x: Any, y: Any, p: Any, out: Any) -> None:
    """Write the gradient of rows of ``x``. ``weights``: of differences for 2, of signs for 1, of those that reach
    ``norms`` for -1.
    """
    zero, one = weights.dtype.type(0), weights.dtype.type(1)
    for row in range(len(x)):
        line, norm = weights[row], norms[row]
        for k in range(x.shape[1]):
            value, others, total = x[row, k], y[k], zero
            if p == 2:
                for i in range(len(line)):
                    total += line[i] * (value - others[i])
            elif p == 1:
                for i in range(len(line)):
                    total += line[i] * ((one if value > others[i] else zero) - (one if value < others[i] else zero))
            else:
                for i in range(len(line)):
                    away = value - others[i]
                    reached = one if abs(away) == norm[i] else zero
                    total += line[i] * ((reached if away > 0 else zero) - (reached if away < 0 else zero))
            out[row, k] = total


@loop("T[:,::1]", "int64[::1]", "int64[::1]", "int64", "T[::1]", "T[:,::1]", of=FLOATS)
def sum_bags(weight: Any, at: Any, ends: Any, padding: Any, factors: Any, out: Any) -> None:
    """Sum the rows of each bag, which ends before ``ends``, each times its factor if there are any."""
    begin = 0
    for bag in range(len(out)):
        line = out[bag]
        line[:] = 0
        for place in range(begin, ends[bag]):
            if at[place] != padding:
                row = weight[at[place]]
                if len(factors):
                    factor = factors[place]
                    for i in range(len(line)):
                        line[i] += row[i] * factor
                else:
                    for i in range(len(line)):
                        line[i] += row[i]
        begin = ends[bag]
