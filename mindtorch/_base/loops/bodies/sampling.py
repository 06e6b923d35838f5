"""Samples of images and volumes between their elements, and the gradients."""
from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from .writing import FLOATS, i64, loop, u64

LINEAR, NEAREST, CUBIC = 0, 1, 2
ZEROS, REFLECTION = 0, 2


@njit(inline="always")
def inside(x: Any, size: Any, padding: Any, corners: Any, kind: Any) -> Any:
    """Return a place moved into the input as the padding says, and the sign of that, which is 0 at the border."""
    sign, last = kind(1), kind(size - 1)
    if padding == REFLECTION:
        low, high = (kind(0), last) if corners else (kind(-0.5), kind(size - 0.5))
        span = high - low
        if span == 0:
            return kind(0), kind(0)
        distance = abs(x - low)
        sign = -sign if x < low else sign
        flips = np.floor(distance / span)
        rest = distance - flips * span
        if flips % 2 == 0:
            x = low + rest
        else:
            x, sign = high - rest, -sign
    if padding != ZEROS and not (x > 0 and x < last):
        x, sign = (last if x > last else x if x > 0 else kind(0)), kind(0)  # of NaN, 0
    return x, sign


@njit
def find_taps(places: Any, size: Any, mode: Any, padding: Any, corners: Any, index: Any, weight: Any,
              slope: Any) -> Any:
    """Write the elements beside samples along a dimension, their weights, and the slopes of these. Index -1 is outside.
    """
    kind = weight.dtype.type
    one, last = kind(1), kind(size - 1)
    scale = kind((size - 1) / 2) if corners else kind(size / 2)
    for i in range(len(places)):
        x = (places[i] + one) * scale if corners else ((places[i] + one) * kind(size) - one) / kind(2)
        if mode == CUBIC:
            first = np.floor(x)
            t = x - first
            for k in range(4):
                place, _ = inside(first + kind(k - 1), size, padding, corners, kind)
                d = t + one if k == 0 else t if k == 1 else one - t if k == 2 else kind(2) - t
                if k == 1 or k == 2:
                    weight[k, i] = (kind(1.25) * d - kind(2.25)) * d * d + one
                    grows = (kind(3.75) * d - kind(4.5)) * d
                else:
                    weight[k, i] = (((d - kind(5)) * d + kind(8)) * d - kind(4)) * kind(-0.75)
                    grows = ((kind(3) * d - kind(10)) * d + kind(8)) * kind(-0.75)
                slope[k, i] = scale * grows if k < 2 else -(scale * grows)
                index[k, i] = i64(place) if place >= 0 and place <= last else i64(-1)
            continue
        x, sign = inside(x, size, padding, corners, kind)
        first = np.rint(x) if mode == NEAREST else np.floor(x)
        weight[0, i], slope[0, i] = one if mode == NEAREST else one - (x - first), -scale * sign
        index[0, i] = i64(first) if first >= 0 and first <= last else i64(-1)
        first += one
        weight[1, i], slope[1, i] = x - (first - one), scale * sign
        index[1, i] = i64(first) if first >= 0 and first <= last else i64(-1)


@njit
def find_elements(element: Any, taps: Any, size: Any, index: Any, weight: Any, at: Any, product: Any) -> None:
    """Write the flat places of one of the elements that make each sample, or -1, and the products of its weights."""
    step = taps ** (len(size) - 1)
    for d in range(len(size)):
        k = element // step % taps
        step //= taps
        for i in range(len(at)):
            inner = index[d, k, i]
            if d:
                at[i] = i64(-1) if at[i] < 0 or inner < 0 else at[i] * size[d] + inner
                product[i] *= weight[d, k, i]
            else:
                at[i], product[i] = inner, weight[d, k, i]


BLOCK = 256  #: places that are sampled at a time


@loop("T[:,:,::1]", "T[:,:,::1]", "int64[::1]", "int64", "int64", "bool_", "T[:,:,::1]", of=FLOATS)
def sample(x: Any, grid: Any, size: Any, mode: Any, padding: Any, corners: Any, out: Any) -> None:
    """Sample images (N, C, elements) of ``size`` at a grid (N, places, dimensions) whose last coordinate comes first.
    """
    dims, taps = len(size), 1 if mode == NEAREST else 4 if mode == CUBIC else 2
    index, weight = np.empty((3, 4, BLOCK), np.int64), np.empty((3, 4, BLOCK), x.dtype)
    slope = np.empty((4, BLOCK), x.dtype)
    all_at, products = np.empty(BLOCK, np.int64), np.empty(BLOCK, x.dtype)
    for n in range(len(x)):
        for start in range(0, grid.shape[1], BLOCK):
            places = grid[n, start:start + BLOCK]
            at, product = all_at[:len(places)], products[:len(places)]
            for d in range(dims):
                find_taps(places[:, dims - 1 - d], size[d], mode, padding, corners, index[d], weight[d], slope)
            for element in range(taps ** dims):
                find_elements(element, taps, size, index, weight, at, product)
                for c in range(x.shape[1]):
                    image, result = x[n, c], out[n, c, start:start + BLOCK]
                    for i in range(len(result)):
                        part = image[u64(at[i])] * product[i] if at[i] >= 0 else (
                            product[i] if product[i] != product[i] else product.dtype.type(0))
                        result[i] = result[i] + part if element else part


@loop("T[:,:,::1]", "T[:,:,::1]", "T[:,:,::1]", "int64[::1]", "int64", "int64", "bool_", "T[:,:,::1]", "T[:,:,::1]",
      of=FLOATS)
def sample_backward(grad: Any, x: Any, grid: Any, size: Any, mode: Any, padding: Any, corners: Any, of_x: Any,
                    of_grid: Any) -> None:
    """Add to the gradients of images and grid, where they are not empty."""
    dims, taps = len(size), 1 if mode == NEAREST else 4 if mode == CUBIC else 2
    index, weight = np.empty((3, 4, BLOCK), np.int64), np.empty((3, 4, BLOCK), x.dtype)
    slope, values = np.empty((3, 4, BLOCK), x.dtype), np.empty(BLOCK, x.dtype)
    all_at, products = np.empty(BLOCK, np.int64), np.empty(BLOCK, x.dtype)
    for n in range(len(x)):
        for start in range(0, grid.shape[1], BLOCK):
            places = grid[n, start:start + BLOCK]
            at, product = all_at[:len(places)], products[:len(places)]
            for d in range(dims):
                find_taps(places[:, dims - 1 - d], size[d], mode, padding, corners, index[d], weight[d], slope[d])
            for element in range(taps ** dims):
                find_elements(element, taps, size, index, weight, at, product)
                values[:] = 0
                for c in range(x.shape[1]):
                    image, through = x[n, c], grad[n, c, start:start + BLOCK]
                    if len(of_x):
                        target = of_x[n, c]
                        for i in range(len(through)):
                            if at[i] >= 0:
                                target[u64(at[i])] += through[i] * product[i]
                    if len(of_grid) and mode != NEAREST:
                        for i in range(len(through)):
                            values[i] += through[i] * (image[u64(at[i])] if at[i] >= 0 else product.dtype.type(0))
                if len(of_grid) and mode != NEAREST:
                    for d in range(dims):
                        for i in range(len(places)):
                            step, part = taps ** (dims - 1), values[i]
                            for e in range(dims):
                                k = element // step % taps
                                step //= taps
                                part *= slope[e, k, i] if e == d else weight[e, k, i]
                            of_grid[n, start + i, dims - 1 - d] += part
