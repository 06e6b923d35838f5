"""Products of matrices on processors whose vectors are wider than those that BLAS computes with.

Tiles of the result stay in registers while a panel of the second matrix, packed so that it is read in order, and rows
of the first one stream by (Goto's algorithm, as in BLIS).
"""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from .writing import f32, loop

LANES = 16  #: numbers in a vector
WIDE = 2 * LANES  #: columns of a tile
FEW = 64  #: rows for which packing a panel that could be read where it is takes longer than it saves
VECTOR = ir.VectorType(ir.FloatType(), LANES)
WORD = ir.IntType(64)


def constant(value: int) -> Any:
    return ir.Constant(WORD, value)


def pointer(builder: Any, kind: Any, place: Any, *steps: Any) -> Any:
    """Return the pointer to the address that lies these steps behind a place."""
    for step in steps:
        place = builder.add(place, step)
    return builder.inttoptr(place, kind.as_pointer())


untyped: Any = intrinsic  # whose types leave out the two arguments that numba gives


def tile_of(rows: int, parts: int, scattered: bool) -> Any:
    """Make the function that computes a tile of so many rows and vectors, given addresses and steps in bytes. Rows of
    the second matrix may be ``scattered``: ``step`` is then the address of a table of their places.
    """
    @intrinsic
    def tile(typing: Any, a: Any, along: Any, down: Any, panel: Any, step: Any, out: Any, out_down: Any,
             count: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            a, along, down, panel, step, out, out_down, count = values
            at = partial(pointer, builder)
            fma = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(VECTOR, [VECTOR] * 3), f"llvm.fma.v{LANES}f32")
            first = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
            nothing = ir.Constant(VECTOR, ir.Undefined)
            sums = [[cgutils.alloca_once_value(builder, ir.Constant(VECTOR, [0.0] * LANES)) for _ in range(parts)]
                    for _ in range(rows)]
            with cgutils.for_range(builder, count) as turn:
                line = builder.load(at(WORD, step, builder.mul(turn.index, constant(8)))) if scattered else (
                    builder.mul(turn.index, step))
                given = [builder.load(at(VECTOR, panel, line, constant(4 * LANES * part)), align=4)
                         for part in range(parts)]
                column = builder.mul(turn.index, along)
                for row in range(rows):
                    number = builder.load(at(ir.FloatType(), a, column, builder.mul(down, constant(row))))
                    factor = builder.shuffle_vector(builder.insert_element(nothing, number, ir.Constant(
                        ir.IntType(32), 0)), nothing, first)
                    for cell, numbers in zip(sums[row], given, strict=True):
                        builder.store(builder.call(fma, [factor, numbers, builder.load(cell)]), cell)
            for row in range(rows):
                for part in range(parts):
                    builder.store(builder.load(sums[row][part]), at(VECTOR, out, builder.mul(
                        out_down, constant(row)), constant(4 * LANES * part)), align=4)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 8), write

    return tile


@untyped
def turn(typing: Any, source: Any, down: Any, last: Any, target: Any) -> Any:
    """Write the transpose of a square of numbers into a panel, given addresses, and the step in bytes to the next row;
    the ``last`` row stands for those behind it.

    Each round of interleaving moves the highest bit of a number's row to the lowest of its column, and so on around.
    """
    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        source, down, last, target = values
        rows = [builder.select(builder.icmp_signed("<", last, constant(row)), last, constant(row))
                for row in range(LANES)]
        lines = [builder.load(pointer(builder, VECTOR, source, builder.mul(down, row)), align=4) for row in rows]
        halves = [ir.Constant(ir.VectorType(ir.IntType(32), LANES), [
            lane + other for lane in range(start, start + LANES // 2) for other in (0, LANES)])
            for start in (0, LANES // 2)]
        for _ in range(LANES.bit_length() - 1):
            lines = [builder.shuffle_vector(lines[row], lines[row + LANES // 2], half)
                     for row in range(LANES // 2) for half in halves]
        for row, line in enumerate(lines):
            builder.store(line, pointer(builder, VECTOR, target, constant(4 * WIDE * row)), align=4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), write


def tiles_of(parts: int, scattered: bool = False) -> Any:
    """Make the function that multiplies the next rows of a matrix, as many as it returns, given how many are left."""
    tile_8, tile_4, tile_2, tile_1 = (tile_of(rows, parts, scattered) for rows in (8, 4, 2, 1))

    @njit
    def tiles(rows: Any, a: Any, along: Any, down: Any, panel: Any, step: Any, out: Any, out_down: Any,
              count: Any) -> Any:
        if rows >= 8:
            tile_8(a, along, down, panel, step, out, out_down, count)
            return 8
        if rows >= 4:
            tile_4(a, along, down, panel, step, out, out_down, count)
            return 4
        if rows >= 2:
            tile_2(a, along, down, panel, step, out, out_down, count)
            return 2
        tile_1(a, along, down, panel, step, out, out_down, count)
        return 1

    return tiles


tiles, narrow_tiles = tiles_of(2), tiles_of(1)


@njit
def multiply_panel(a: Any, place: Any, step: Any, out: Any, j: Any, width: Any, edge: Any) -> None:
    """Write the columns of the product from ``j`` on, given the address of the panel and the step in bytes to its next
    row; ``edge`` holds tiles that are not whole, with columns of any numbers behind the last.
    """
    i, m, count = 0, len(out), a.shape[1]
    down, along, whole = a.strides[0], a.strides[1], width == WIDE
    out_down = out.strides[0] if whole else 4 * WIDE
    while i < m:
        source = a.ctypes.data + i * down
        target = out.ctypes.data + i * out_down + 4 * j if whole else edge.ctypes.data
        if width > LANES:
            rows = tiles(m - i, source, along, down, place, step, target, out_down, count)
        else:
            rows = narrow_tiles(m - i, source, along, down, place, step, target, out_down, count)
        if not whole:
            for row in range(rows):
                for column in range(width):
                    out[i + row, j + column] = edge[row, column]
        i += rows


@loop("float32[:,:]", "float32[:,::1]", "float32[:,::1]")
def product(a: Any, b: Any, out: Any) -> None:
    """Multiply matrices."""
    n, panel, edge = out.shape[1], np.empty((len(b), WIDE), f32), np.empty((8, WIDE), f32)
    for j in range(0, n, WIDE):
        width = min(n - j, WIDE)
        if width == WIDE and len(out) <= FEW:
            multiply_panel(a, b.ctypes.data + 4 * j, b.strides[0], out, j, width, edge)
            continue
        for k in range(len(b)):
            line, into = b[k, j:j + width], panel[k]
            for column in range(width):
                into[column] = line[column]
        multiply_panel(a, panel.ctypes.data, 4 * WIDE, out, j, width, edge)


@loop("float32[:,:]", "float32[:,::1]", "float32[:,::1]")
def product_transposed(a: Any, b: Any, out: Any) -> None:
    """Multiply a matrix by the transpose of another one."""
    n, count = out.shape[1], b.shape[1]
    turned = count // LANES * LANES
    panel, edge = np.empty((count, WIDE), f32), np.empty((8, WIDE), f32)
    for j in range(0, n, WIDE):
        width = min(n - j, WIDE)
        for start in range(0, width, LANES):
            for k in range(0, turned, LANES):
                turn(b.ctypes.data + (j + start) * b.strides[0] + 4 * k, b.strides[0], width - start - 1,
                     panel.ctypes.data + 4 * (k * WIDE + start))
        for column in range(width):
            for k in range(turned, count):
                panel[k, column] = b[j + column, k]
        multiply_panel(a, panel.ctypes.data, 4 * WIDE, out, j, width, edge)
