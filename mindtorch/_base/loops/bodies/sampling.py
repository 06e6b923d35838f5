"""Samples of images and volumes between their elements, and the gradients."""
from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from .division import as_is
from .half import HALVES
from .writing import FLOATS, f32, i64, loop, u64

LINEAR, NEAREST, CUBIC = 0, 1, 2
ZEROS, REFLECTION = 0, 2
BLOCK = 256  #: places that are sampled at a time


def placing(rounded: Any) -> Any:
    """Return the function that moves a place into the input; each step is ``rounded``."""
    @njit(inline="always")
    def inside(x: Any, size: Any, padding: Any, corners: Any, kind: Any) -> Any:
        """Return a place moved into the input as the padding says, and the sign of that, which is 0 at the border."""
        sign, last = kind(1), kind(size - 1)
        if padding == REFLECTION:
            low, high = (kind(0), last) if corners else (kind(-0.5), kind(size - 0.5))
            span = high - low
            if span == 0:
                return kind(0), kind(0)
            distance = abs(rounded(x - low))
            sign = -sign if x < low else sign
            flips = np.floor(rounded(distance / span))
            rest = rounded(distance - rounded(flips * span))
            if flips == kind(2) * np.floor(flips / kind(2)):
                x = rounded(low + rest)
            else:
                x, sign = rounded(high - rest), -sign
        if padding != ZEROS and not (x > 0 and x < last):
            x, sign = (last if x > last else x if x > 0 else kind(0)), kind(0)  # of NaN, 0
        return x, sign

    return inside


def tapping(read: Any, rounded: Any) -> Any:
    """Return the function that finds the elements beside samples; numbers are ``read``, and each step is rounded."""
    inside = placing(rounded)

    @njit(inline="always")
    def start(place: Any, size: Any, scale: Any, corners: Any, kind: Any) -> Any:
        """Return a place of the grid, from -1 to 1, in elements."""
        x = rounded(read(place) + kind(1))
        return rounded(x * scale) if corners else rounded(rounded(rounded(x * kind(size)) - kind(1)) / kind(2))

    @njit
    def find_taps(places: Any, size: Any, mode: Any, padding: Any, corners: Any, index: Any, weight: Any,
                  slope: Any) -> Any:
        """Write the elements beside samples along a dimension, their weights, and the slopes of these. Index -1 is
        outside.
        """
        kind = weight.dtype.type
        one, last = kind(1), kind(size - 1)
        scale = kind((size - 1) / 2) if corners else kind(size / 2)
        steep = rounded(scale)
        if mode == CUBIC:
            for i in range(len(places)):
                x = start(places[i], size, scale, corners, kind)
                first = np.floor(x)
                t = rounded(x - first)
                for k in range(4):
                    place, _ = inside(first + kind(k - 1), size, padding, corners, kind)
                    d = t if k == 1 else rounded(t + one if k == 0 else one - t if k == 2 else kind(2) - t)
                    if k == 1 or k == 2:
                        near = rounded(rounded(kind(1.25) * d) - kind(2.25))
                        weight[k, i] = rounded(rounded(rounded(near * d) * d) + one)
                        grows = rounded(rounded(rounded(kind(3.75) * d) - kind(4.5)) * d)
                    else:
                        far = rounded(rounded(rounded(d - kind(5)) * d) + kind(8))
                        weight[k, i] = rounded(rounded(rounded(far * d) - kind(4)) * kind(-0.75))
                        far = rounded(rounded(rounded(kind(3) * d) - kind(10)) * d)
                        grows = rounded(rounded(far + kind(8)) * kind(-0.75))
                    there = place >= 0 and place <= last
                    slope[k, i] = kind(0) if not there else rounded(steep * grows if k < 2 else -steep * grows)
                    index[k, i] = i64(place) if there else i64(-1)
            return
        weights, slopes = weight[0], slope[0]  # few arrays in each loop: LLVM checks whether they overlap
        if padding == ZEROS:
            for i in range(len(places)):
                weights[i], slopes[i] = start(places[i], size, scale, corners, kind), one
        else:
            for i in range(len(places)):
                weights[i], slopes[i] = inside(
                    start(places[i], size, scale, corners, kind), size, padding, corners, kind)
        for k in range(1 if mode == NEAREST else 2):
            at = index[k]
            for i in range(len(places)):
                first = np.rint(weights[i]) if mode == NEAREST else np.floor(weights[i]) + kind(k)
                at[i] = i64(first) if first >= 0 and first <= last else i64(-1)
        if mode == NEAREST:
            weights[:] = one
        else:
            others, steeper = weight[1], slope[1]
            for i in range(len(places)):
                others[i] = rounded(weights[i] - np.floor(weights[i]))
                weights[i] = rounded(one - others[i])
            for i in range(len(places)):
                steeper[i] = steep * slopes[i]
                slopes[i] = -steeper[i]

    return find_taps


def joining(rounded: Any) -> Any:
    """Return the function that joins the elements of all dimensions."""
    @njit
    def find_elements(element: Any, taps: Any, size: Any, index: Any, weight: Any, at: Any, product: Any) -> None:
        """Write the flat places of one of the elements that make each sample, or -1, and its weights' products."""
        step = taps ** (len(size) - 1)
        for d in range(len(size)):
            k = element // step % taps
            step //= taps
            for i in range(len(at)):
                inner = index[d, k, i]
                if d:
                    at[i] = i64(-1) if at[i] < 0 or inner < 0 else at[i] * size[d] + inner
                    product[i] = rounded(product[i] * weight[d, k, i])
                else:
                    at[i], product[i] = inner, weight[d, k, i]

    return find_elements


def loops_of(half: str = "") -> None:
    """Build the loops of floats, or of a dtype of half precision, in which each step is rounded."""
    read, write = HALVES[half] if half else (as_is, as_is)
    rounded = njit(inline="always")(lambda x: read(write(x))) if half else as_is
    made = njit(lambda shape, x: np.empty(shape, f32)) if half else njit(lambda shape, x: np.empty(shape, x.dtype))
    name, of = f"_{half}" * bool(half), () if half else FLOATS
    arrays = "uint16[:,:,::1]" if half else "T[:,:,::1]"
    find_taps, find_elements = tapping(read, rounded), joining(rounded)

    @loop(arrays, arrays, "int64[::1]", "int64", "int64", "bool_", arrays, of=of, name=f"sample{name}")
    def sample(x: Any, grid: Any, size: Any, mode: Any, padding: Any, corners: Any, out: Any) -> None:
        """Sample images (N, C, elements) of ``size`` at a grid (N, places, dimensions) whose last coordinate comes
        first.
        """
        dims, taps = len(size), 1 if mode == NEAREST else 4 if mode == CUBIC else 2
        index, weight = np.empty((3, 4, BLOCK), np.int64), made((3, 4, BLOCK), x)
        slope = made((4, BLOCK), x)
        all_at, products = np.empty(BLOCK, np.int64), made(BLOCK, x)
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
                            value = read(image[u64(max(at[i], 0))])
                            part = rounded((value if at[i] >= 0 else product.dtype.type(0)) * product[i])
                            result[i] = write(read(result[i]) + part if element else part)

    @loop(arrays, arrays, arrays, "int64[::1]", "int64", "int64", "bool_", arrays, arrays, of=of,
          name=f"sample_backward{name}")
    def sample_backward(grad: Any, x: Any, grid: Any, size: Any, mode: Any, padding: Any, corners: Any, of_x: Any,
                        of_grid: Any) -> None:
        """Add to the gradients of images and grid, where they are not empty."""
        dims, taps = len(size), 1 if mode == NEAREST else 4 if mode == CUBIC else 2
        index, weight = np.empty((3, 4, BLOCK), np.int64), made((3, 4, BLOCK), x)
        slope, values = made((3, 4, BLOCK), x), made(BLOCK, x)
        all_at, products = np.empty(BLOCK, np.int64), made(BLOCK, x)
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
                                    part = rounded(read(through[i]) * product[i])
                                    target[u64(at[i])] = write(read(target[u64(at[i])]) + part)
                        if len(of_grid) and mode != NEAREST:
                            for i in range(len(through)):
                                value = read(image[u64(at[i])]) if at[i] >= 0 else product.dtype.type(0)
                                values[i] += rounded(read(through[i]) * value)
                    if len(of_grid) and mode != NEAREST:
                        for d in range(dims):
                            k = element // taps ** (dims - 1 - d) % taps
                            for i in range(len(places)):
                                step, factor = taps ** (dims - 1), slope[d, k, i]
                                for e in range(dims):
                                    if e != d:
                                        factor = rounded(factor * weight[e, element // step % taps, i])
                                    step //= taps
                                part, place = rounded(rounded(values[i]) * factor), dims - 1 - d
                                of_grid[n, start + i, place] = write(read(of_grid[n, start + i, place]) + part)


for _half in ("", *HALVES):
    loops_of(_half)
