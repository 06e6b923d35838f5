"""Sampling at the places of a grid, the grids of affine maps, and resampling by scale factors.

A sample is a sum of elements times weights, which are products of one for each dimension. The gradient of the places
needs the weights' slopes; where both are written in operators, it has a gradient itself.
"""
from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any, NamedTuple

from .._base.errors import NAMES, check, check_takes
from .._base.layout import Ints
from .._dispatch.aten import _unsafe_view, grid_sampler_2d, grid_sampler_3d, where_self as where
from .._dispatch.schemas import registry
from .._dtype import FLOATING, int64
from . import COMPOSITES
from .shape import arange

LINEAR, NEAREST, CUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2


class Tap(NamedTuple):
    """One of the elements along a dimension that samples are made of, for each sample: which, its weight, and how fast
    that grows with the coordinate of the grid (None: not at all). Outside of the input both are zero.
    """

    index: Any
    weight: Any
    slope: Any


# -- places ------------------------------------------------------------------------------------------------------------

def reflected(x: Any, slope: Any, low: float, high: float) -> tuple[Any, Any]:
    """Places reflected at two edges until they lie between them, and the slope of that."""
    span = high - low
    if not span:
        return x * 0, slope * 0
    distance, sign = (x - low).abs(), where(x < low, -slope, slope)
    flips = (distance / span).floor().detach()
    rest, even = distance - flips * span, flips % 2 == 0
    return where(even, low + rest, high - rest), where(even, sign, -sign)


def inside(x: Any, slope: Any, size: int, padding_mode: int, corners: bool) -> tuple[Any, Any]:
    """Places moved into the input as the padding says, and the slope of that."""
    if padding_mode == REFLECTION:
        x, slope = reflected(x, slope, *((0, size - 1) if corners else (-0.5, size - 0.5)))
    if padding_mode != ZEROS:
        within = (x > 0).logical_and(x < size - 1)
        x, slope = where(within, x, x.detach().clamp(0, size - 1)), where(within, slope, slope * 0)
    return x, slope


def cubic_weights(t: Any) -> list[tuple[Any, Any]]:
    """The weights of the four elements around places that lie ``t`` behind the second, and their slopes: Keys' cubic
    convolution.
    """
    a = -0.75

    def near(x: Any) -> tuple[Any, Any]:
        return ((a + 2) * x - (a + 3)) * x * x + 1, (3 * (a + 2) * x - 2 * (a + 3)) * x

    def far(x: Any) -> tuple[Any, Any]:
        return (((x - 5) * x + 8) * x - 4) * a, ((3 * x - 10) * x + 8) * a

    behind = [(weight, -slope) for weight, slope in (near(1 - t), far(2 - t))]
    return [far(t + 1), near(t), *behind]


def taps_of(coordinate: Any, size: int, mode: int, padding_mode: int, corners: bool) -> list[Tap]:
    """What samples at these coordinates are made of, along one dimension."""
    scale = (size - 1) / 2 if corners else size / 2
    x = (coordinate + 1) * scale if corners else ((coordinate + 1) * size - 1) / 2
    slope = coordinate.new_full(coordinate.shape, scale)
    if mode == CUBIC:
        first = x.floor().detach()
        found = [(inside(first + k - 1, slope, size, padding_mode, corners)[0], weight, slope * grows)
                 for k, (weight, grows) in enumerate(cubic_weights(x - first))]
    else:
        x, slope = inside(x, slope, size, padding_mode, corners)
        if mode == NEAREST:
            found = [(x.detach().round(), slope * 0 + 1, None)]
        else:
            first = x.floor().detach()
            found = [(first, 1 - (x - first), -slope), (first + 1, x - first, slope)]
    return [limited(*tap, size) for tap in found]


def limited(place: Any, weight: Any, slope: Any, size: int) -> Tap:
    """A tap that is zero where its place lies outside of the input."""
    there = (place >= 0).logical_and(place <= size - 1)
    index = where(there, place, place * 0).to(int64)
    return Tap(index.masked_fill(there.logical_not(), 0), weight.masked_fill(there.logical_not(), 0),
               None if slope is None else slope.masked_fill(there.logical_not(), 0))


def each_element(input: Any, grid: Any, mode: int, padding_mode: int, corners: bool) -> Any:
    """For each of the elements that a sample is made of: where they lie (N, 1, places) in the input as if it had one
    spatial dimension, and the taps of the dimensions, the outermost first.
    """
    size, batch = tuple(input.shape[2:]), input.shape[0]
    dims, count = len(size), prod(grid.shape[1:-1])
    along = [taps_of(grid.select(-1, dims - 1 - d).reshape((batch, 1, count)), size[d], mode, padding_mode, corners)
             for d in range(dims)]
    steps = [prod(size[d + 1:]) for d in range(dims)]
    for taps in product(*along):
        yield sum(tap.index * by for tap, by in zip(taps, steps, strict=True)), taps


def product_of(factors: list[Any]) -> Any:
    found = factors[0]
    for factor in factors[1:]:
        found = found * factor
    return found


# -- sampling ----------------------------------------------------------------------------------------------------------

def check_grid(input: Any, grid: Any, interpolation_mode: int) -> None:
    for given in (input, grid):
        given.size(0)
    dims = input.dim() - 2
    shapes = f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    check(input._device == grid._device,
          lambda: f"grid_sampler(): expected input and grid to be on same device, but input is on {input._device} and "
                  f"grid is on {grid._device}")
    check(dims in (2, 3) and grid.dim() == input.dim(),
          lambda: f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got {shapes}")
    check(input.shape[0] == grid.shape[0],
          lambda: f"grid_sampler(): expected grid and input to have same batch size, but got {shapes}")
    check(grid.shape[-1] == dims,
          lambda: f"grid_sampler(): expected grid to have size {dims} in last dimension, but got grid with sizes "
                  f"{list(grid.shape)}")
    for d in range(2, dims + 2):
        if not input.shape[d]:
            raise RuntimeError("grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
                               f"sizes {list(input.shape)} with dimension {d} being empty")
    check(dims == 2 or interpolation_mode != CUBIC, "grid_sampler(): bicubic interpolation only supports 4D input")
    check_takes(input._dtype.category == FLOATING, f"grid_sampler_{dims}d_cpu", input._dtype)
    check(input._dtype is grid._dtype,
          lambda: f"expected scalar type {NAMES[input._dtype.name]} but found {NAMES[grid._dtype.name]}")


def grid_sample(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """``grid_sampler_2d`` and ``grid_sampler_3d``.

    Raises:
        RuntimeError: if the shapes, dtypes or devices do not fit together, or a volume is to be sampled cubically.
    """
    check_grid(input, grid, interpolation_mode)
    flat, total = input.flatten(2), None
    batch, channels = input.shape[:2]
    for index, taps in each_element(input, grid, interpolation_mode, padding_mode, align_corners):
        values = flat.gather(2, index.expand((batch, channels, index.shape[2])))
        part = values * product_of([tap.weight for tap in taps])
        total = part if total is None else total + part
    return _unsafe_view(total, (batch, channels, *grid.shape[1:-1]))


def grid_sample_backward(grad_output: Any, input: Any, grid: Any, interpolation_mode: int, padding_mode: int,
                         align_corners: bool, output_mask: Any) -> tuple[Any, Any]:
    """The gradients of the input and of the grid, or those of them that ``output_mask`` says."""
    batch, channels, *size = input.shape
    dims, flat, grad = len(size), input.flatten(2), grad_output.flatten(2)
    to_input: Any = input.new_zeros(flat.shape) if output_mask[0] else None
    to_grid: list[Any] = [None] * dims
    for index, taps in each_element(input, grid, interpolation_mode, padding_mode, align_corners):
        wide = index.expand((batch, channels, index.shape[2]))
        if output_mask[0]:
            to_input = to_input.scatter_add(2, wide, grad * product_of([tap.weight for tap in taps]))
        if output_mask[1] and interpolation_mode != NEAREST:
            values = (flat.gather(2, wide) * grad).sum(1, True)
            for d, tap in enumerate(taps):
                others = [other.weight for e, other in enumerate(taps) if e != d]
                part = values * product_of([tap.slope, *others])
                to_grid[d] = part if to_grid[d] is None else to_grid[d] + part
    of_grid = None
    if output_mask[1]:
        of_grid = (grid.new_zeros(grid.shape) if interpolation_mode == NEAREST else
                   registry["stack"].call([part.reshape(grid.shape[:-1]) for part in reversed(to_grid)], -1))
    return None if to_input is None else to_input.view(input.shape), of_grid


def grid_sampler(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    check_grid(input, grid, interpolation_mode)
    sample = grid_sampler_2d if input.dim() == 4 else grid_sampler_3d
    return sample(input, grid, interpolation_mode, padding_mode, align_corners)


# -- affine maps -------------------------------------------------------------------------------------------------------

def base_grid(theta: Any, size: Ints, align_corners: bool) -> Any:
    """The coordinates of the elements of an image or a volume, with a one at the end: (elements, dimensions + 1)."""
    spatial = size[2:]
    columns = []
    for d in reversed(range(len(spatial))):
        n = spatial[d]
        line = arange(theta, 0, n).to(theta._dtype)
        line = (line * (2 / (n - 1) if n > 1 else 0) - (1 if n > 1 else 0)) if align_corners else (2 * line + 1) / n - 1
        columns.append(line.view([n if e == d else 1 for e in range(len(spatial))]).expand(spatial).reshape(-1))
    return registry["stack"].call([*columns, theta.new_ones((prod(spatial),))], 1)


def affine_grid_generator(theta: Any, size: Ints, align_corners: bool) -> Any:
    """``nn.functional.affine_grid``.

    Raises:
        RuntimeError: for a size that is neither one of images nor of volumes.
    """
    check(len(size) in (4, 5), "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    base = base_grid(theta, size, align_corners)
    grid = base.unsqueeze(0).expand((size[0], *base.shape)).bmm(theta.transpose(1, 2))
    return _unsafe_view(grid, (size[0], *size[2:], len(size) - 2))


def affine_grid_generator_backward(grad: Any, size: Ints, align_corners: bool) -> Any:
    base = base_grid(grad, size, align_corners)
    flat = grad.reshape((size[0], base.shape[0], len(size) - 2))
    return base.unsqueeze(0).expand((size[0], *base.shape)).transpose(1, 2).bmm(flat).transpose(1, 2)


# -- by scale factors --------------------------------------------------------------------------------------------------

def by_factors(name: str) -> Callable[..., Any]:
    """The overload ``vec`` of resampling: the size of the output, or by how much the input's is multiplied."""
    resample = registry[name].call

    def row(input: Any, output_size: Any, *settings: Any) -> Any:
        factors = settings[-1]
        size = tuple(input.shape[2:])
        check((output_size is None) != (factors is None), "Must specify exactly one of output_size and scale_factors")
        if output_size is None:
            check(len(factors) == len(size),
                  lambda: f"Expected {len(size)} scale factors, but got {len(factors)}")
            output_size = tuple(int(n * factor) for n, factor in zip(size, factors, strict=True))
        scales = [None] * len(size) if factors is None else factors
        return resample(input, tuple(output_size), *settings[:-1], *scales)

    return row


RESAMPLED = [op for op in registry.operators if op.startswith(("upsample_", "_upsample_")) and op.endswith(".vec")]
COMPOSITES.add(grid_sampler, affine_grid_generator, affine_grid_generator_backward)
COMPOSITES.update({
    "grid_sampler_2d": grid_sample, "grid_sampler_3d": grid_sample,
    "grid_sampler_2d_backward": grid_sample_backward, "grid_sampler_3d_backward": grid_sample_backward,
    **{name: by_factors(name.removesuffix(".vec")) for name in RESAMPLED},
})
