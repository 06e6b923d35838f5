"""Convolution of images on processors with wide vectors, without im2col.

An image lies in a plane with its padding, or with a stride in one plane for each remainder of its rows and columns.
Each element of a filter then finds what it multiplies at one distance from a window's beginning, so that the columns of
im2col are read where they lie, as rows of a matrix with a table of their places.
"""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils

from .product import LANES, VECTOR, WIDE, WORD, constant, pointer, tiles_of, untyped
from .writing import f32, i64, loop, u64

tiles, narrow_tiles = tiles_of(2, True), tiles_of(1, True)
IMAGES = "float32[:,:,:,::1]"


def dots_of(rows: int, columns: int) -> Any:
    """Make the function that adds the products of so many rows with scattered ones to a matrix, given addresses and
    steps in bytes. A row has ``count`` vectors for each of so many ``samples``, which lie a step apart.
    """
    @untyped
    def dots(typing: Any, a: Any, down: Any, b: Any, apart: Any, places: Any, samples: Any, count: Any, out: Any,
             out_down: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            a, down, b, apart, places, samples, count, out, out_down = values
            at, module, single = partial(pointer, builder), builder.module, ir.FloatType()
            fma = cgutils.get_or_insert_function(module, ir.FunctionType(VECTOR, [VECTOR] * 3), f"llvm.fma.v{LANES}f32")
            total = cgutils.get_or_insert_function(
                module, ir.FunctionType(single, [single, VECTOR]), f"llvm.vector.reduce.fadd.v{LANES}f32")
            sums = [[cgutils.alloca_once_value(builder, ir.Constant(VECTOR, [0.0] * LANES)) for _ in range(columns)]
                    for _ in range(rows)]
            begins = [builder.load(at(WORD, places, constant(8 * column))) for column in range(columns)]
            with cgutils.for_range(builder, samples) as sample, cgutils.for_range(builder, count) as turn:
                step = builder.mul(turn.index, constant(4 * LANES))
                begun = builder.add(builder.mul(sample.index, apart), step)
                given = [builder.load(at(VECTOR, b, begin, begun), align=4) for begin in begins]
                step = builder.add(step, builder.mul(builder.mul(sample.index, count), constant(4 * LANES)))
                for row in range(rows):
                    factor = builder.load(at(VECTOR, a, step, builder.mul(down, constant(row))), align=4)
                    for cell, numbers in zip(sums[row], given, strict=True):
                        builder.store(builder.call(fma, [factor, numbers, builder.load(cell)]), cell)
            for row in range(rows):
                for column in range(columns):
                    cell = at(single, out, builder.mul(out_down, constant(row)), constant(4 * column))
                    added = builder.call(total, [ir.Constant(single, 0.0), builder.load(sums[row][column])],
                                         fastmath=("reassoc",))
                    builder.store(builder.fadd(builder.load(cell), added), cell)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 9), write

    return dots


def dots_in(columns: int) -> Any:
    """Make the function that adds the products of the next rows and returns their number."""
    dots_8, dots_4, dots_1 = (dots_of(rows, columns) for rows in (8, 4, 1))

    @njit
    def dots(rows: Any, a: Any, down: Any, b: Any, apart: Any, places: Any, samples: Any, count: Any, out: Any,
             out_down: Any) -> Any:
        if rows >= 8:
            dots_8(a, down, b, apart, places, samples, count, out, out_down)
            return 8
        if rows >= 4:
            dots_4(a, down, b, apart, places, samples, count, out, out_down)
            return 4
        dots_1(a, down, b, apart, places, samples, count, out, out_down)
        return 1

    return dots


dots_in_3, dots_in_1 = dots_in(3), dots_in(1)


@njit
def add_dots(outputs: Any, count: Any, a: Any, a_down: Any, b: Any, apart: Any, table: Any, samples: Any, vectors: Any,
             out: Any) -> None:
    """Add the products of so many rows, and of ``count`` scattered ones, in tiles."""
    i, rows, down = 0, 0, 4 * count
    while i < outputs:
        k, left = 0, a + a_down * i
        while k < count:
            places, into = table + 8 * k, out + down * i + 4 * k
            if count - k >= 3:
                rows = dots_in_3(outputs - i, left, a_down, b, apart, places, samples, vectors, into, down)
                k += 3
            else:
                rows = dots_in_1(outputs - i, left, a_down, b, apart, places, samples, vectors, into, down)
                k += 1
        i += rows


@njit
def place(image: Any, planes: Any, top: Any, left: Any, down: Any, across: Any) -> None:
    """Write an image (C, H, W) into its planes (C, remainders, H, W)."""
    for channel in range(image.shape[0]):
        for i in range(image.shape[1]):
            row, line = top + i, image[channel, i]
            if across == 1:
                target = planes[channel, row % down, row // down]
                for j in range(len(line)):
                    target[u64(left + j)] = line[j]
                continue
            if across == 2:  # by a number that the compiler knows, it is three times as fast
                for remainder in range(2):
                    first = (remainder - left) % 2
                    target, source = planes[channel, row % down * 2 + remainder, row // down], line[first:]
                    start = (left + first) // 2
                    for j in range((len(source) + 1) // 2):
                        target[u64(start + j)] = source[u64(2 * j)]
                continue
            for remainder in range(across):
                first = (remainder - left) % across
                target = planes[channel, row % down * across + remainder, row // down]
                start = (left + first) // across
                for j in range((len(line) - first + across - 1) // across):
                    target[u64(start + j)] = line[u64(first + j * across)]


@njit
def places_of(planes: Any, kernel: Any, kernel_width: Any, down: Any, across: Any, apart: Any, aside: Any,
              channels: Any) -> Any:
    """Return the distance in bytes from a window's beginning to each of its elements."""
    found, k = np.empty(channels * kernel * kernel_width, i64), 0
    remainders, rows, width = planes.shape[1:]
    for channel in range(channels):
        for i in range(kernel):
            for j in range(kernel_width):
                row, column = i * apart, j * aside
                plane = channel * remainders + row % down * across + column % across
                found[k] = 4 * ((plane * rows + row // down) * width + column // across)
                k += 1
    return found


@njit
def planes_of(channels: Any, remainders: Any, rows: Any, width: Any) -> Any:
    """Return zeros (C, remainders, H, W), with a tile of elements more: what is read there is not used."""
    return np.zeros((channels + 1 + WIDE // (remainders * rows * width), remainders, rows, width), f32)


@njit
def correlate_line(filters: Any, source: Any, table: Any, span: Any, target: Any, out_down: Any) -> None:
    """Write the products of filters and windows that begin at ``span`` places, in tiles; the last two may
    overlap.
    """
    outputs, count = filters.shape
    down, j = 4 * count, 0
    while j < span:
        wide = span - j > LANES and span >= WIDE
        j, i = min(j, span - (WIDE if wide else LANES)), 0
        while i < outputs:
            given, into = filters.ctypes.data + down * i, target + out_down * i + 4 * j
            if wide:
                i += tiles(outputs - i, given, 4, down, source + 4 * j, table, into, out_down, count)
            else:
                i += narrow_tiles(outputs - i, given, 4, down, source + 4 * j, table, into, out_down, count)
        j += WIDE if wide else LANES


@loop(IMAGES, "float32[:,:,::1]", "float32[::1]", IMAGES, *["int64"] * 16)
def correlate(x: Any, weight: Any, bias: Any, out: Any, rows: Any, width: Any, kernel: Any, kernel_width: Any, top: Any,
              left: Any, down: Any, across: Any, apart: Any, aside: Any, height: Any, length: Any, first_row: Any,
              first_column: Any, row_step: Any, column_step: Any) -> None:
    """Correlate images (N, C, H, W) with the filters of each group (G, O / G, elements). Padded planes have so many
    ``rows``, and this ``width``. ``bias`` has O elements, or one that is not read. Results of this ``height`` and
    ``length`` are written from ``first_row`` and ``first_column`` on, so many steps apart.
    """
    channels, (groups, outputs) = x.shape[1], weight.shape[:2]
    planes = planes_of(channels, down * across, rows, width)
    places = places_of(planes, kernel, kernel_width, down, across, apart, aside, channels // groups)
    step = 4 * (channels // groups) * down * across * rows * width
    joined = np.empty((outputs, max((height - 1) * width + length, LANES)), f32)
    apart_lines = length >= WIDE and length == out.shape[3] and height == out.shape[2]
    lines, span, out_down = (height, length, 4 * height * length) if apart_lines else (
        1, joined.shape[1], 4 * joined.shape[1])  # short lines are computed together, with what lies between them
    for n in range(len(x)):
        place(x[n], planes, top, left, down, across)
        for group in range(groups):
            images = out[n, group * outputs:(group + 1) * outputs]
            source = planes.ctypes.data + step * group
            target = images.ctypes.data if apart_lines else joined.ctypes.data
            for i in range(lines):
                correlate_line(weight[group], source + 4 * i * width, places.ctypes.data, span, target + 4 * i * length,
                               out_down)
            for i in range(0 if apart_lines else outputs):
                for row in range(height):
                    source_line = joined[i, row * width:]
                    line = images[i, first_row + row * row_step, first_column:]
                    if column_step == 1:
                        for column in range(length):
                            line[u64(column)] = source_line[u64(column)]
                    else:
                        for column in range(length):
                            line[u64(column * column_step)] = source_line[u64(column)]
        if len(bias) == out.shape[1]:
            for channel in range(out.shape[1]):
                added = bias[channel]
                for row in range(out.shape[2]):
                    line = out[n, channel, row]
                    for column in range(out.shape[3]):
                        line[u64(column)] += added


VECTORS = 1 << 6  #: of samples that are multiplied together, of which the rows of a tile stay in the nearest cache


@loop(IMAGES, IMAGES, "float32[:,:,::1]", *["int64"] * 10)
def weigh(x: Any, grad: Any, out: Any, rows: Any, width: Any, kernel: Any, kernel_width: Any, top: Any, left: Any,
          down: Any, across: Any, apart: Any, aside: Any) -> None:
    """Add the gradient of the filters (G, O / G, elements) to zeros, given that of ``correlate``."""
    channels, (groups, outputs, count), (height, length) = x.shape[1], out.shape, grad.shape[2:]
    size = channels * down * across * rows * width
    vectors = ((height - 1) * width + length + LANES - 1) // LANES
    most = max(1, min(len(x), VECTORS // vectors))
    planes = planes_of(most * channels, down * across, rows, width)
    places = places_of(planes, kernel, kernel_width, down, across, apart, aside, channels // groups)
    spread = np.zeros((groups * outputs, most, vectors * LANES), f32)  # lines at the planes' steps
    a_down, step = 4 * most * vectors * LANES, 4 * size
    for start in range(0, len(x), most):
        samples = min(len(x) - start, most)
        for n in range(samples):
            place(x[start + n], planes[n * channels:], top, left, down, across)
            for channel in range(groups * outputs):
                for i in range(height):
                    line, target = grad[start + n, channel, i], spread[channel, n, i * width:]
                    for j in range(length):
                        target[u64(j)] = line[u64(j)]
        for group in range(groups):
            add_dots(outputs, count, spread.ctypes.data + a_down * outputs * group, a_down,
                     planes.ctypes.data + step // groups * group, step, places.ctypes.data, samples, vectors,
                     out.ctypes.data + 4 * outputs * count * group)
