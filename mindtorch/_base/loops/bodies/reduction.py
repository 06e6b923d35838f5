"""Sums and extrema."""
from __future__ import annotations

from typing import Any

import numpy as np

from .writing import SUMS, bits_of, f32, f64, float_of, i32, loop, ordered


@loop("float32[:,::1]", "float32[::1]", fastmath=SUMS)
def sum_lines(x: Any, out: Any) -> None:
    """Sum each row in pieces of 2048 elements; the pieces are added in float64, so that rounding errors stay small."""
    for row in range(len(x)):
        total = f64(0)
        for start in range(0, x.shape[1], 2048):
            piece, some = x[row, start:start + 2048], f32(0)
            for i in range(len(piece)):
                some += piece[i]
            total += some
        out[row] = f32(total)


@loop("float32[:,::1]", "float32[:,::1]", "float32[::1]", "int64", "int64")
def sum_rows(x: Any, out: Any, rest: Any, rows: Any, step: Any) -> None:
    """Sum rows in blocks of ``step`` (a multiple of four), then the remainder."""
    line = np.empty(out.shape[1], f32)
    for k in range(len(out)):
        part, target = x[k * rows:(k + 1) * rows], out[k]
        for start in range(0, len(part), step):
            group = part[start:start + step]
            sums, whole = (line if len(group) == step else rest), len(group) & ~3
            for row in range(0, whole, 4):
                first, second, third, fourth = group[row], group[row + 1], group[row + 2], group[row + 3]
                if row:
                    for i in range(len(sums)):
                        sums[i] = sums[i] + first[i] + second[i] + third[i] + fourth[i]
                else:
                    for i in range(len(sums)):
                        sums[i] = first[i] + second[i] + third[i] + fourth[i]
            for row in range(whole, len(group)):
                for i in range(len(sums)):
                    sums[i] = sums[i] + group[row, i] if row else group[row, i]
            if len(group) == step:
                for i in range(len(sums)):
                    target[i] = target[i] + sums[i] if start else sums[i]


@loop("float32[:,::1]", "float32[::1]", "bool_")
def extreme_of_lines(x: Any, out: Any, lowest: Any) -> None:
    """Find the largest number of each row, or the smallest; NaN if it has one."""
    flip = i32(-1) if lowest else i32(0)
    for row in range(len(x)):
        line, top, magnitude = x[row], i32(-2147483648), i32(0)
        for i in range(len(line)):
            bits = bits_of(line[i])
            magnitude = max(magnitude, i32(bits & i32(0x7FFFFFFF)))
            top = max(top, i32(ordered(bits) ^ flip))
        out[row] = f32(np.nan) if magnitude > i32(0x7F800000) else float_of(ordered(i32(top ^ flip)))


@loop("float32[:,::1]", "int64[::1]", "bool_", "int64")
def extreme_in_columns(x: Any, out: Any, lowest: Any, start: Any) -> None:
    """Find, for some of the columns, the first row that holds the largest number, the smallest, or NaN."""
    flip = i32(-1) if lowest else i32(0)
    tops, rows = np.full(len(out), -2147483648, i32), np.zeros(len(out), i32)
    for row in range(len(x)):
        line = x[row, start:start + len(out)]
        for i in range(len(out)):
            value = i32(ordered(bits_of(line[i] + f32(0))) ^ flip)  # of two zeros none is larger
            key = value if line[i] == line[i] else i32(2147483647)
            rows[i] = i32(row) if key > tops[i] else rows[i]
            tops[i] = max(tops[i], key)
    for i in range(len(out)):
        out[i] = rows[i]
