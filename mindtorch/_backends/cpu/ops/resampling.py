"""CPU kernels of resampling to another size: a linear map along one dimension after the other (``taps``)."""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ...._base import loops
from ...._storage import allocate
from ...common.blocks import BLOCK, LARGE, by_slices, each_block
from ...common.shapes import RESAMPLING
from ..precision import is_half
from ..rows import MOST, Prepared, by_matrix, moving
from ..taps import Array, Taps
from ..windows import Ints
from . import AT_ONCE, CPU_KERNELS
from .writes import as_loops_take

# -- sample positions in the input, and weights ------------------------------------------------------------------------

def step(size: int, out: int, scale: float | None, corners: bool, dtype: Any) -> Any:
    """Return the step between output elements, in elements of the input."""
    if corners:
        return dtype(size - 1) / dtype(out - 1) if out > 1 else dtype(0)
    return dtype(1 / scale) if scale is not None and scale > 0 else dtype(size) / dtype(out)


def source(size: int, out: int, scale: float | None, corners: bool, dtype: Any) -> Array:
    """Return the position of each output element in the input."""
    number, width = np.arange(out, dtype=dtype), step(size, out, scale, corners, dtype)
    return width * number if corners else width * (number + dtype(0.5)) - dtype(0.5)


def nearest(shift: float) -> Callable[..., Taps]:
    def taps(size: int, out: int, scale: float | None, corners: bool, dtype: Any) -> Taps:
        place = (np.arange(out, dtype=dtype) + dtype(shift)) * step(size, out, scale, False, dtype)
        index = np.minimum(np.floor(place).astype(np.intp), size - 1)[:, None]
        return Taps(index, np.ones(index.shape, dtype), size)

    return taps


def linear(size: int, out: int, scale: float | None, corners: bool, dtype: Any) -> Taps:
    if out == size:
        index, ones = np.arange(size), np.ones(size, dtype)
        return Taps(np.stack([index, index], 1), np.stack([ones, ones - 1], 1), size)
    place = np.maximum(source(size, out, scale, corners, dtype), 0)
    first = np.minimum(place.astype(np.intp), size - 1)
    part = np.clip(place - first.astype(dtype), 0, 1).astype(dtype)
    return Taps(np.stack([first, np.minimum(first + 1, size - 1)], 1), np.stack([1 - part, part], 1), size)


def cubic_filter(x: Array, a: float) -> Array:
    """Evaluate Keys' cubic convolution at these distances."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def cubic(size: int, out: int, scale: float | None, corners: bool, dtype: Any) -> Taps:
    place = source(size, out, scale, corners, dtype)
    first = np.floor(place)
    offsets = np.arange(-1, 3)
    weight = cubic_filter((place - first)[:, None] - offsets.astype(dtype), -0.75).astype(dtype)
    return Taps(np.clip(first.astype(np.intp)[:, None] + offsets, 0, size - 1), weight, size)


#: By name: the filter's radius, and its function.
FILTERS: dict[str, tuple[float, Callable[[Array], Array]]] = {
    "linear": (1, lambda x: np.maximum(1 - np.abs(x), 0)),
    "cubic": (2, lambda x: cubic_filter(x, -0.5)),
    "lanczos": (3, lambda x: np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)),
}


def antialiased(name: str) -> Callable[..., Taps]:
    """Return a maker of antialiasing taps, which widen the filter when downsampling."""
    reach, values = FILTERS[name]

    def taps(size: int, out: int, scale: float | None, corners: bool, dtype: Any) -> Taps:
        width = step(size, out, scale, corners, dtype)
        wide = max(width, dtype(1))
        support = dtype(reach) * wide
        centre = width * (np.arange(out, dtype=dtype) + dtype(0.5))
        start = np.maximum((centre - support + dtype(0.5)).astype(np.intp), 0)
        stop = np.minimum((centre + support + dtype(0.5)).astype(np.intp), size)
        index = start[:, None] + np.arange(max(1, int((stop - start).max(initial=1))))
        weight = values((index.astype(dtype) - centre[:, None] + dtype(0.5)) / wide).astype(dtype)
        weight[index >= stop[:, None]] = 0
        total = weight.sum(1, keepdims=True)
        weight /= np.where(total == 0, 1, total)
        return Taps(np.minimum(index, size - 1), weight.astype(dtype), size)

    return taps


MAKERS: dict[str, Callable[..., Taps]] = {
    "nearest": nearest(0), "nearest exact": nearest(0.5), "linear": linear, "cubic": cubic,
    **{f"{name} antialiased": antialiased(name) for name in FILTERS},
}


@lru_cache(256)
def taps_of(kind: str, size: int, out: int, scale: float | None, corners: bool, wide: bool) -> Taps:
    """Return the cached map along one dimension, computed in float64 if ``wide``, else in float32, as in PyTorch."""
    return MAKERS[kind](size, out, scale, corners, np.float64 if wide else np.float32)


def maps(name: str, size: Ints, out: Ints, settings: Any, wide: bool) -> list[Taps]:
    """Return the maps along the last dimensions."""
    dims, kind, has_corners = RESAMPLING[name]
    corners, scales = (settings[0], settings[1:]) if has_corners else (False, settings)
    scales = (*scales, *[None] * (dims - len(scales)))
    return [taps_of(kind, *values, corners, wide) for values in zip(size, out, scales, strict=True)]


# -- the operators -----------------------------------------------------------------------------------------------------

def bytes_along(x: Array, taps: Taps, axis: int) -> Array:
    """Map bytes along one dimension as PyTorch does: by the most precise 16-bit weights, rounded to bytes."""
    weight = taps.matrix.astype(np.float64)
    largest, precision = max(weight.max(), 0), 0
    while precision < 22 and int(0.5 + largest * (1 << (precision + 1))) < 1 << 15:
        precision += 1
    weight = np.trunc(weight * (1 << precision) + np.where(weight < 0, -0.5, 0.5))
    total = np.moveaxis(np.tensordot(x.astype(np.float64), weight, (axis, 1)), -1, axis)  # exact for integers
    rounded = (total.astype(np.int64) + (1 << precision >> 1)) >> precision
    return np.clip(rounded, 0, 255).astype(np.uint8)


def resample(name: str) -> Prepared:
    dims = RESAMPLING[name][0]

    def prepare(self: Array, output_size: Ints, *settings: Any) -> Callable[[Array], Array]:
        kind = self.dtype
        wide = kind == np.float64 or (kind == np.uint8 and "nearest" not in name)
        along = list(zip(maps(name, self.shape[2:], output_size, settings, wide), range(-dims, 0), strict=True))[::-1]

        def resampled(x: Array) -> Array:
            for taps, axis in along:
                x = bytes_along(x, taps, axis) if kind == np.uint8 and not taps.plain else taps.along(x, axis)
            return x

        def in_images(x: Array) -> Array:
            """Resample images one after the other, so that no more than one is in memory between two dimensions."""
            if x.size < LARGE or not x.flags.c_contiguous:
                return resampled(x)
            images = by_slices(resampled, x.reshape(-1, *x.shape[2:]), size=BLOCK >> 2)  # each may become larger
            return images.reshape(*x.shape[:2], *images.shape[1:])

        if all(taps.plain for taps, _ in along):
            return moving(resampled)(self) or in_images
        return by_matrix(in_images, self, dims, most=16 * MOST)

    return Prepared(prepare)


def resample_backward(name: str) -> Prepared:
    dims = RESAMPLING[name][0]

    def prepare(grad_output: Array, output_size: Ints, input_size: Ints, *settings: Any) -> Callable[[Array], Array]:
        made = maps(name, input_size[2:], output_size, settings, grad_output.dtype == np.float64)

        def spread(grad: Array) -> Array:
            for taps, axis in zip(made, range(-dims, 0), strict=True):
                grad = taps.adjoint.along(grad, axis)
            return grad

        return by_matrix(spread, grad_output, dims, most=16 * MOST)

    return Prepared(prepare)


# -- grids -------------------------------------------------------------------------------------------------------------

LINEAR, NEAREST, CUBIC = 0, 1, 2
CALL = 1 << 11  #: elements that NumPy computes in the time that it takes to be called


def work_of(mode: int, dims: int, size: int) -> int:
    """Return how many elements NumPy computes in the time of the composite, whose many calls cost most of few."""
    return 16 * (1 + {LINEAR: 2, NEAREST: 1, CUBIC: 4}[mode] ** dims) * max(size, CALL)


def flattened(images: Ints, grid: Ints) -> tuple[Ints, Ints]:
    """Return the shapes (N, C, places) of images, and (N, places, dimensions) of a grid."""
    return (*images[:2], prod(images[2:])), (grid[0], prod(grid[1:-1]), grid[-1])


def grid_sample(input: Array, grid: Array, mode: int, padding: int, corners: bool) -> Callable[..., Array | None]:
    """Prepare samples by a loop; until it is compiled, the composite computes."""
    size, dims, shape = np.array(input.shape[2:]), input.ndim - 2, (*input.shape[:2], *grid.shape[1:-1])
    (of_images, of_grid), of_samples = flattened(input.shape, grid.shape), flattened(shape, grid.shape)[0]
    work, dense = work_of(mode, dims, prod(shape)), input.flags.c_contiguous and grid.flags.c_contiguous

    half = is_half(input)

    def run(input: Array, grid: Array) -> Array | None:
        if not dense:
            input, grid = np.ascontiguousarray(input), np.ascontiguousarray(grid)
        if (loop := loops.sample.compiled(work, input, grid)) is None:
            return None
        out = allocate(shape, input.dtype)
        x, places, samples = input.reshape(of_images), grid.reshape(of_grid), out.reshape(of_samples)
        if half:
            x, places, samples = map(as_loops_take, (x, places, samples))
        if work < LARGE:
            loop(x, places, size, mode, padding, corners, samples)
        else:
            each_block(lambda part: loop(x[part], places[part], size, mode, padding, corners, samples[part]), len(x), 1,
                       work)
        return out

    return run


def grid_sample_backward(grad: Array, input: Array, grid: Array, mode: int, padding: int, corners: bool,
                         wanted: Any) -> Callable[..., tuple[Array | None, ...] | None]:
    """Prepare the gradients by a loop, if the arrays are large."""
    size, dims = np.array(input.shape[2:]), input.ndim - 2
    (of_images, of_grid), of_samples = flattened(input.shape, grid.shape), flattened(grad.shape, grid.shape)[0]
    work = work_of(mode, dims, grad.size)

    def run(grad: Array, input: Array, grid: Array) -> tuple[Array | None, ...] | None:
        grad, input, grid = map(np.ascontiguousarray, (grad, input, grid))
        loop = loops.sample_backward.compiled(work, grad, input, grid)
        if loop is None:
            return None
        outs = [np.zeros(x.shape if asked else (0,) * x.ndim, x.dtype)
                for x, asked in zip((input, grid), wanted, strict=True)]
        arrays = [*map(as_loops_take, (grad.reshape(of_samples), input.reshape(of_images), grid.reshape(of_grid)))]
        to_images, to_grid = (
            as_loops_take(out.reshape(to if asked else (0, 0, 0)))
            for out, to, asked in zip(outs, (of_images, of_grid), wanted, strict=True))
        if work < LARGE:
            loop(*arrays, size, mode, padding, corners, to_images, to_grid)
        else:
            each_block(lambda part: loop(*[x[part] for x in arrays], size, mode, padding, corners, to_images[part],
                                         to_grid[part]), len(input), 1, work)
        return tuple([out if asked else None for out, asked in zip(outs, wanted, strict=True)])

    return run


AT_ONCE["grid_sampler"] = grid_sample
for _dims in (2, 3):
    AT_ONCE[f"grid_sampler_{_dims}d"] = grid_sample
    AT_ONCE[f"grid_sampler_{_dims}d_backward"] = grid_sample_backward
CPU_KERNELS.update({name: resample(name) for name in RESAMPLING})
CPU_KERNELS.update({f"{name}_backward": resample_backward(name) for name in RESAMPLING})
