"""Counting, indexing, windows and lines."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from .half import HALVES
from .writing import FLOATS, i32, loop, u64

#: Of which loops copy elements of so many bytes.
SIZES = ("int8", "int16", "int32", "int64")


@loop("T[:,::1]", "int64[:,::1]", "T[:,::1]", of=SIZES)
def gather(x: Any, at: Any, out: Any) -> None:
    for row in range(len(at)):
        for i in range(at.shape[1]):
            out[row, i] = x[row, u64(at[row, i])]


@loop("T[:,:,::1]", "int64[:,:,::1]", "T[:,:,::1]", of=SIZES)
def gather_down(x: Any, at: Any, out: Any) -> None:
    for k in range(len(at)):
        box, places, result = x[k], at[k], out[k]
        for row in range(len(places)):
            for i in range(places.shape[1]):
                result[row, i] = box[u64(places[row, i]), u64(i)]


@njit
def larger(x: Any, y: Any) -> Any:
    """Return the maximum, or NaN; the second of two zeros, as NumPy does."""
    return x if x > y or x != x else y


@njit
def smaller(x: Any, y: Any) -> Any:
    return x if x < y or x != x else y


@njit
def second(x: Any, y: Any) -> Any:
    return y


def rounded(operation: Callable[[Any, Any], Any], half: str) -> Callable[[Any, Any], Any]:
    """Return an operation on the bits of half precision, which rounds."""
    read, write = HALVES[half]
    found: Callable[[Any, Any], Any] = njit(lambda x, y: write(operation(read(x), read(y))))
    return found


def combining(name: str, operation: Callable[[Any, Any], Any], *of: str, half: str = "") -> None:
    """Build the loops that combine values with elements of boxes: at rows of their own, or at the same rows in all."""
    boxes, ending = ("uint16[:,:,::1]", f"_{half}") if half else ("T[:,:,::1]", "")

    @loop(boxes, "int64[:,:,::1]", boxes, of=of, name=f"{name}_at_each{ending}")
    def at_each(out: Any, at: Any, values: Any) -> None:
        for k in range(len(at)):
            box, places, given = out[k], at[k], values[k]
            for row in range(len(places)):
                for i in range(places.shape[1]):
                    place = u64(places[row, i])
                    box[place, u64(i)] = operation(box[place, u64(i)], given[row, i])

    @loop(boxes, "int64[::1]", boxes, of=of, name=f"{name}_at_rows{ending}")
    def at_rows(out: Any, at: Any, values: Any) -> None:
        if out.shape[2] == 1:  # a line for each number takes longer than the number
            for k in range(len(out)):
                numbers, added = out[k, :, 0], values[k, :, 0]
                for row in range(len(at)):
                    numbers[u64(at[row])] = operation(numbers[u64(at[row])], added[row])
            return
        for k in range(len(out)):
            for row in range(len(at)):
                line, given = out[k, u64(at[row])], values[k, row]
                for i in range(len(line)):
                    line[i] = operation(line[i], given[i])


INTEGERS = ("int32", "int64")
for _name, _operation in (("add", operator.add), ("multiply", operator.mul)):
    combining(_name, _operation, *INTEGERS, *FLOATS)
    for _half in HALVES:
        combining(_name, rounded(_operation, _half), half=_half)
combining("add", operator.add, "complex64", "complex128")
combining("maximum", larger, "uint8", *INTEGERS, *FLOATS)
combining("minimum", smaller, "uint8", *INTEGERS, *FLOATS)
combining("copy", second, *SIZES)


@loop("T[:,::1]", "T[:,::1]", "int64[:,::1]", "bool_", of=("int32", "int64", *FLOATS))
def searchsorted(lines: Any, values: Any, out: Any, right: Any) -> None:
    """Bisect, in ATen's steps, the line of each row of values, or the only one."""
    for row in range(len(values)):
        line = lines[row if len(lines) > 1 else 0]
        for i in range(values.shape[1]):
            value, low, high = values[row, i], 0, len(line)
            while low < high:
                middle = (low + high) >> 1
                if line[middle] > value if right else line[middle] >= value:
                    high = middle
                else:
                    low = middle + 1
            out[row, i] = low


@loop("int64[::1]", "int64[:,::1]")
def count(x: Any, out: Any) -> None:
    """Count each number, in ``FOLDS`` arrays in turn, so that increments do not wait for each other."""
    first, second, third, fourth = out[0], out[1], out[2], out[3]
    whole = len(x) & ~3
    for i in range(0, whole, 4):
        first[u64(x[i])] += 1
        second[u64(x[i + 1])] += 1
        third[u64(x[i + 2])] += 1
        fourth[u64(x[i + 3])] += 1
    for i in range(whole, len(x)):
        first[u64(x[i])] += 1


@njit(inline="always")
def pick(x: Any, first: Any, column: Any, number: Any) -> Any:
    return x[u64(first + column)] if column >= 0 else number


@loop("T[::1]", "int64[::1]", "int64[::1]", "T[::1]", "T[::1]", *["int64"] * 4, of=SIZES)
def pad_rows(given: Any, rows: Any, columns: Any, fill: Any, target: Any, height: Any, size: Any, start: Any,
             stop: Any) -> None:
    """Copy elements of these rows and columns of planes (``height``, ``size``), or the number in ``fill`` where one is
    -1. Columns from ``start`` to ``stop`` follow one another.
    """
    number, width, shift = fill[0], len(columns), columns[start] - start
    for plane in range(len(target) // (len(rows) * width)):
        for row in range(len(rows)):
            to, first = (plane * len(rows) + row) * width, (plane * height + rows[row]) * size
            if rows[row] < 0:
                for i in range(width):
                    target[u64(to + i)] = number
                continue
            for i in range(start):
                target[u64(to + i)] = pick(given, first, columns[u64(i)], number)
            for i in range(start, stop):
                target[u64(to + i)] = given[u64(first + shift + i)]
            for i in range(stop, width):
                target[u64(to + i)] = pick(given, first, columns[u64(i)], number)


@loop("T[::1]", "int64[::1]", "int64[::1]", "T[::1]", *["int64"] * 4, of=FLOATS)
def add_padded_rows(given: Any, rows: Any, columns: Any, target: Any, height: Any, size: Any, start: Any,
                    stop: Any) -> None:
    """Add elements to those that ``pad_rows`` copies to their places."""
    width, shift = len(columns), columns[start] - start
    for plane in range(len(given) // (len(rows) * width)):
        for row in range(len(rows)):
            at, first = (plane * len(rows) + row) * width, (plane * height + rows[row]) * size
            for i in range(start):
                target[u64(first + columns[u64(i)])] += given[u64(at + i)]
            for i in range(start, stop):
                target[u64(first + shift + i)] += given[u64(at + i)]
            for i in range(stop, width):
                target[u64(first + columns[u64(i)])] += given[u64(at + i)]


@loop("int32[::1]", "int32[::1]", *["int64"] * 11)
def columns(x: Any, out: Any, height: Any, width: Any, top: Any, left: Any, room: Any, room_width: Any, kernel: Any,
            kernel_width: Any, down: Any, across: Any, count: Any) -> None:
    """Write im2col: for each padded plane and window offset, copy ``count`` consecutive elements."""
    wide, target = np.zeros(room, i32), 0
    for plane in range(len(x) // (height * width)):
        for row in range(height):
            source, start = (plane * height + row) * width, (top + row) * room_width + left
            for i in range(width):
                wide[u64(start + i)] = x[u64(source + i)]
        for row in range(kernel):
            for column in range(kernel_width):
                start = row * down * room_width + column * across
                for i in range(count):
                    out[u64(target + i)] = wide[u64(start + i)]
                target += count


@loop("float32[::1]", "float32[::1]", "float32[::1]", "int64", "int64", "int64")
def real_places(x: Any, bias: Any, out: Any, rows: Any, width: Any, line: Any) -> None:
    """Copy the first ``width`` elements of each line of a channel, without the padding, and add the channel's bias."""
    source, target = 0, 0
    for channel in range(len(out) // (rows * width)):
        added = bias[u64(channel % len(bias))]
        for row in range(rows):
            for i in range(width):
                out[u64(target + i)] = x[u64(source + row * line + i)] + added
            target += width
        source += (rows - 1) * line + width


@loop("int32[::1]", "int32[::1]", "int64", "int64", "int64")
def all_places(x: Any, out: Any, rows: Any, width: Any, line: Any) -> None:
    """Undo ``real_places``, with zeros in the padding."""
    source, target = 0, 0
    while source < len(x):
        for row in range(rows):
            for i in range(width):
                out[u64(target + i)] = x[u64(source + i)]
            source, target = source + width, target + width
            if row + 1 < rows:
                for i in range(line - width):
                    out[u64(target + i)] = 0
                target += line - width


def of_lines(name: str, operation: Callable[[Any, Any], Any], lines_first: bool) -> None:
    """Build the loop of arithmetic between rows and another row, or a column. A single row is broadcast to all."""

    @loop("float32[:,::1]", "float32[:,::1]", "float32[:,::1]", name=name)
    def body(x: Any, y: Any, out: Any) -> None:
        for row in range(len(x)):
            line, result, other = x[row], out[row], y[row if len(y) > 1 else 0]
            if len(other) == 1:
                number = other[0]
                for i in range(len(line)):
                    result[i] = operation(line[i], number) if lines_first else operation(number, line[i])
            else:
                for i in range(len(line)):
                    result[i] = operation(line[i], other[i]) if lines_first else operation(other[i], line[i])


of_lines("add_to_lines", operator.add, True)
of_lines("multiply_lines", operator.mul, True)
of_lines("subtract_from_lines", operator.sub, True)
of_lines("subtract_lines", operator.sub, False)
of_lines("divide_lines", operator.truediv, True)
of_lines("divide_by_lines", operator.truediv, False)
