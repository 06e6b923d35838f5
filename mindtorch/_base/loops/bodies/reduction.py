"""Sums, scans, losses and normalisations."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from .division import as_is
from .half import HALVES
from .writing import FLOATS, SUMS, bits_of, f32, f64, float_of, i32, loop, ordered, plus as plus, u64

LEAST = i32(-2147483648)  #: below the keys of all numbers; programs of the compiler name it


@njit
def higher(key: Any, x: Any) -> Any:
    """Return the larger of a key and that of ``x``: integers in the order of the numbers, which LLVM vectorises."""
    return max(key, ordered(bits_of(x)))


@njit
def number(key: Any) -> Any:
    """Return the number of a key; arbitrary if a compared one was NaN."""
    return float_of(ordered(key))


#: Numbers that the vectors of a sum take at once, on any processor; the others are added one by one.
TOGETHER = 64


def of_lines(name: str, widen: Callable[[Any], Any]) -> None:
    """Build the loop that sums each row of half precision in pieces of 2048 elements; the pieces, and what vectors
    leave of the row, are added in float64, so that rounding errors stay small.
    """
    @njit(fastmath=SUMS)
    def sum_of(piece: Any) -> Any:
        some = f32(0)
        for i in range(len(piece)):
            some += widen(piece[i])
        return some

    @loop("uint16[:,::1]", "float32[::1]", fastmath=SUMS, name=name)
    def body(x: Any, out: Any) -> None:
        whole = x.shape[1] - x.shape[1] % TOGETHER
        for row in range(len(x)):
            total = f64(sum_of(x[row, whole:])) if whole < x.shape[1] else f64(0)
            for start in range(0, whole, 2048):
                total += sum_of(x[row, start:min(start + 2048, whole)])
            out[row] = f32(total)


for _half, (_read, _) in HALVES.items():
    of_lines(f"sum_{_half}_lines", _read)


@loop("float32[:,::1]", "float32[::1]", fastmath=SUMS)
def product_of_lines(x: Any, out: Any) -> None:
    """Multiply the numbers of each row in float64: each step in float32 would add a rounding error."""
    for row in range(len(x)):
        line, total = x[row], 1.0
        for i in range(len(line)):
            total *= line[i]
        out[row] = f32(total)


@loop("T[::1]", "T[::1]", "float64[::1]", "T", fastmath=SUMS, of=FLOATS)
def sum_losses(x: Any, y: Any, out: Any, beta: Any) -> None:
    """Sum, in each piece of 2048 elements, the squares of differences, halved, whose slopes are at most ``beta``; all
    squares without halves if it is negative.
    """
    half = beta / (beta + beta)
    for k in range(len(out)):
        first, second, total = x[2048 * k:2048 * (k + 1)], y[2048 * k:2048 * (k + 1)], half - half
        if beta < 0:
            for i in range(len(first)):
                away = first[i] - second[i]
                total += away * away
        else:
            for i in range(len(first)):
                away = abs(first[i] - second[i])
                near = away if away < beta else beta
                total += near * (away - half * near)
        out[k] = total


@loop("float32[:,::1]", "float64[:,::1]", fastmath=SUMS)
def moments_of_lines(x: Any, out: Any) -> None:
    """Compute each row's mean, and the sum of its square deviations. Numbers are taken from the row's first, which is
    at most the square root of their count away from the mean, in deviations: float64 has digits enough for one pass.
    """
    for row in range(len(x)):
        line, first, total, squares = x[row], f64(x[row, 0]), 0.0, 0.0
        for i in range(len(line)):
            away = line[i] - first
            total += away
            squares += away * away
        out[row, 0] = first + total / len(line)
        out[row, 1] = squares - total * total / len(line)


@loop("float32[:,::1]", "float64[:,::1]", "int64", fastmath=SUMS)
def moments_of_columns(x: Any, out: Any, start: Any) -> None:
    """Compute the mean of each of some columns, and the sum of square deviations, as ``moments_of_lines`` does."""
    means, squares, first = out[0], out[1], x[0, start:start + out.shape[1]]
    means[:] = 0.0
    squares[:] = 0.0
    for row in range(1, len(x)):
        line = x[row, start:start + out.shape[1]]
        for i in range(len(line)):
            away = f64(line[i]) - f64(first[i])
            means[i] += away
            squares[i] += away * away
    for i in range(len(means)):
        squares[i] -= means[i] * means[i] / len(x)
        means[i] = f64(first[i]) + means[i] / len(x)


@njit
def add_row(sums: Any, row: Any, is_first: Any) -> None:
    for i in range(len(sums)):
        sums[i] = row[i] if is_first else sums[i] + row[i]


def of_rows(half: str = "") -> None:
    """Build the loop that sums rows of floats, or of half precision in float32."""
    read, _ = HALVES.get(half, (as_is, as_is))
    boxes, lines = ("uint16[:,:,::1]", "float32[:,::1]") if half else ("T[:,:,::1]", "T[:,::1]")

    @njit
    def read_row(sums: Any, row: Any, is_first: Any) -> None:
        for i in range(len(sums)):
            sums[i] = read(row[i]) if is_first else sums[i] + read(row[i])

    @loop(boxes, lines, *["int64"] * 3, of=() if half else FLOATS, name=f"sum_rows_{half}" if half else "sum_rows")
    def sum_rows(x: Any, out: Any, step: Any, start: Any, stop: Any) -> None:
        """Sum the rows of boxes, between two columns, in the order of PyTorch's cascade: blocks of ``step`` rows (a
        multiple of four), blocks of their sums, and so on; then the remainder of each level.
        """
        sums = np.empty((4, stop - start), out.dtype)
        block = sums[0]
        for box in range(len(x)):
            rows, target = x[box], out[box, start:stop]
            whole = len(rows) // step
            for k in range(whole + 1):
                begin, end = k * step, min((k + 1) * step, len(rows))
                fours = begin + ((end - begin) & ~3)
                for row in range(begin, fours, 4):
                    first, second = rows[row, start:stop], rows[row + 1, start:stop]
                    third, fourth = rows[row + 2, start:stop], rows[row + 3, start:stop]
                    if row > begin:
                        for i in range(len(block)):
                            block[i] = block[i] + read(first[i]) + read(second[i]) + read(third[i]) + read(fourth[i])
                    else:
                        for i in range(len(block)):
                            block[i] = read(first[i]) + read(second[i]) + read(third[i]) + read(fourth[i])
                for row in range(fours, end):
                    read_row(block, rows[row, start:stop], row == begin)
                done = k + 1
                if done <= whole:
                    add_row(sums[1], block, k % step == 0)
                    if done % step == 0:
                        add_row(sums[2], sums[1], (done // step - 1) % step == 0)
                        if done // step % step == 0:
                            add_row(sums[3], sums[2], done // step == step)
            is_first, blocks = True, whole // step
            for level, count in enumerate((len(rows) % step, whole % step, blocks % step, blocks // step)):
                if count:
                    add_row(target, sums[level], is_first)
                    is_first = False


for _half in ("", *HALVES):
    of_rows(_half)


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


@loop("T[:,::1]", "int64[:,::1]", "bool_", of=("int32", "int64", *FLOATS))
def top_of_lines(x: Any, places: Any, largest: Any) -> None:
    """Find the places of the largest or smallest elements of each row, in order; NaN is larger than all numbers, and
    the first of equal elements precedes the others.
    """
    count = places.shape[1]
    for row in range(len(x)):
        line, found = x[row], places[row]
        last, filled = line[0], 0
        for i in range(len(line)):
            value = line[i]
            if filled == count and not precedes(value, last, largest):
                continue
            filled = min(filled + 1, count)
            j = filled - 1
            while j > 0 and precedes(value, line[u64(found[j - 1])], largest):
                found[j] = found[j - 1]
                j -= 1
            found[j] = i
            last = line[u64(found[filled - 1])]


@njit
def precedes(x: Any, y: Any, largest: Any) -> Any:
    return (x > y or (x != x and y == y)) if largest else (x < y or (y != y and x == x))
