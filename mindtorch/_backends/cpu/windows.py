"""Sliding windows over the last dimensions of arrays, for convolution and pooling (im2col).

``padded`` makes an array large enough for all windows. ``stride`` is the step between windows, ``dilation`` the step
between the elements of a window. A "place" is one window position of the output.
"""
from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..._base import loops
from ..._storage import allocate

Array = np.ndarray
Ints = tuple[int, ...]


def reach(out: Ints, kernel: Ints, stride: Ints, dilation: Ints) -> Ints:
    """Return the extent along each dimension that ``out`` windows cover."""
    return tuple((n - 1) * s + (k - 1) * d + 1 for n, k, s, d in zip(out, kernel, stride, dilation, strict=True))


def room(size: Ints, before: Ints, out: Ints, kernel: Ints, stride: Ints, dilation: Ints) -> Ints:
    """Return the size of an array that holds all windows, which begin ``before`` the elements."""
    return tuple(max(b + n, r) for n, b, r in zip(size, before, reach(out, kernel, stride, dilation), strict=True))


def middle(x: Array, before: Ints, size: Ints) -> Array:
    """Return a slice of the last dimensions that begins at ``before`` and has these sizes. Shares memory."""
    key: Any = (..., *[slice(b, b + n) for b, n in zip(before, size, strict=True)])
    return x[key]


def padded(x: Array, before: Ints, size: Ints, value: Any = 0) -> Array:
    """Return a contiguous array of these last dimensions, with ``x`` inside ``value``; ``x`` itself if it has them."""
    inner = x.shape[-len(size):]
    if inner == size:
        return np.ascontiguousarray(x)
    wide = np.full((*x.shape[:-len(size)], *size), value, x.dtype) if value else np.zeros(
        (*x.shape[:-len(size)], *size), x.dtype)
    middle(wide, before, inner)[...] = x
    return wide


def keys_of_positions(out: Ints, kernel: Ints, stride: Ints, dilation: Ints) -> list[Any]:
    """Return an index for each offset within the window, which selects that element of every window."""
    return [(..., *[slice(a * d, a * d + (n - 1) * s + 1, s)
                    for a, d, n, s in zip(at, dilation, out, stride, strict=True)])
            for at in product(*map(range, kernel))]


class Columns:
    """The im2col layout of arrays (N, C, ...): columns (N, C, window, places).

    With a stride of 1, places may be ``joined``: counted over the whole array, so that each window offset is one
    contiguous copy. This adds places between rows that are not real windows. If they would be too many, or with other
    strides, only real places are counted.
    """

    def __init__(self, size: Ints, out: Ints, kernel: Ints, stride: Ints, dilation: Ints, joined: bool = True):
        self.size, self.out, self.kernel, self.dilation, self.stride = size, out, kernel, dilation, stride
        self.steps = tuple(prod(size[d + 1:]) for d in range(len(size)))  # the strides of an array, in elements
        self.real = prod(out)
        whole = 1 + sum((n - 1) * step for n, step in zip(out, self.steps, strict=True))
        self.joined = joined and set(stride) == {1} and whole <= 1.5 * self.real
        self.count = whole if self.joined else self.real
        within = [step * d for step, d in zip(self.steps, dilation, strict=True)]
        between = [1] if self.joined else [step * s for step, s in zip(self.steps, stride, strict=True)]
        self.shape, self.window_steps = (*kernel, *([self.count] if self.joined else out)), (*within, *between)

    def looped(self, loop: loops.Loop, x: Array, passes: int) -> Callable[..., None] | None:
        """Return the compiled loop for ``passes`` NumPy passes over joined 2-d columns of 4-byte elements, or None."""
        return loop.compiled(passes * x.size) if self.joined and len(self.out) == 2 and x.itemsize == 4 else None

    def gathered(self, x: Array, before: Ints) -> Array:
        """Return the columns of arrays (im2col), with zeros ``before`` them and behind them as the windows need."""
        shape = (*x.shape[:2], prod(self.kernel), self.count)
        compiled = self.looped(loops.columns, x, 2 * shape[2])
        if compiled is None:
            return np.ascontiguousarray(self.of(padded(x, before, self.size))).reshape(shape)
        out = allocate(shape, x.dtype)
        compiled(np.ascontiguousarray(x).view(np.int32).reshape(-1), out.view(np.int32).reshape(-1), *x.shape[2:],
                 *before, prod(self.size), self.size[1], *self.kernel, *self.dilation, self.count)
        return out

    def of(self, x: Array) -> Array:
        """Return the columns of contiguous arrays as a view (N, C, *window, *places)."""
        strides = (*x.strides[:2], *map(x.itemsize.__mul__, self.window_steps))
        return np.ndarray((*x.shape[:2], *self.shape), x.dtype, x, 0, strides)

    def places(self, rows: Array) -> Array:
        """Return the real places of (..., places) as (..., *out). Shares memory."""
        if self.count == self.real:
            return rows.reshape(*rows.shape[:-1], *self.out)
        strides = (*rows.strides[:-1], *map(rows.itemsize.__mul__, self.steps))
        return np.ndarray((*rows.shape[:-1], *self.out), rows.dtype, rows, 0, strides)

    def write(self, rows: Array, bias: Array | None, out: Array) -> None:
        """Write the real places of contiguous rows (N, C, places) into (N, C, *out), plus a bias. Overwrites the rows.
        """
        compiled = self.looped(loops.real_places, rows, 2) if rows.dtype == np.float32 else None
        if compiled is None or not out.flags.c_contiguous:
            if bias is not None:
                rows += bias[:, None]
            out[...] = self.places(rows)
        else:
            added = np.array([-0.0], np.float32) if bias is None else np.ascontiguousarray(bias)
            compiled(rows.reshape(-1), added, out.reshape(-1), *self.out, self.size[1])

    def rows(self, y: Array) -> Array:
        """Return (..., *out) as (..., places), with zeros at places that are not real (the inverse of ``places``)."""
        lead = y.shape[:y.ndim - len(self.out)]
        if self.count == self.real:
            return np.ascontiguousarray(y).reshape(*lead, self.real)
        compiled = self.looped(loops.all_places, y, 2)
        if compiled is not None:
            rows = allocate((*lead, self.count), y.dtype)
            compiled(np.ascontiguousarray(y).view(np.int32).reshape(-1), rows.view(np.int32).reshape(-1), *self.out,
                     self.size[1])
            return rows
        rows = np.zeros((*lead, self.count), y.dtype)
        self.places(rows)[...] = y
        return rows
