"""Resampling: other sizes of images, and images sampled at the places of a grid.

``align_corners`` says whether the centres of the outermost elements stay in place, or their outer edges do. A scale is
how many elements of the output there are to one of the input; without it, the sizes say that.
``interpolation_mode``: 0 linear, 1 nearest, 2 cubic. ``padding_mode``: 0 zeros, 1 border, 2 reflection."""
from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import product
from math import prod
from typing import Any, NamedTuple

from .._backends.common.shapes import RESAMPLING
from .._base.errors import NAMES, check, check_takes
from .._base.layout import Ints, Spec
from .._dispatch.aten import (
    _unsafe_view, affine_grid_generator, affine_grid_generator_backward, grid_sampler_2d, grid_sampler_2d_backward,
    grid_sampler_3d, grid_sampler_3d_backward, where_self as where,
)
from .._dispatch.schemas import registry
from .._dtype import FLOATING, int64, uint8
from .._tensor import Tensor
from .._transforms.batching.rules import by_sample
from . import operator, schemas
from .pooling import like_format
from .shape import arange


def check_sizes(dims: int, input_size: Ints, output_size: Ints) -> None:
    """Check the sizes of images (N, C, ...) before and after."""
    check(len(output_size) == dims,
          lambda: f"It is expected output_size equals to {dims}, but got size {len(output_size)}")
    check(len(input_size) == dims + 2,
          lambda: f"It is expected input_size equals to {dims + 2}, but got size {len(input_size)}")
    check(min((*input_size[2:], *output_size)) > 0,
          lambda: f"Input and output sizes should be greater than 0, but got input {list(input_size[2:])} output "
                  f"{list(output_size)}")
    check(input_size[1] > 0,
          lambda: f"Non-empty {dims + 2}D data tensor expected but got a tensor with sizes {list(input_size)}")


def resample(name: str, dims: int) -> Callable[..., Spec]:
    def meta(self: Tensor, output_size: Ints, *settings: Any) -> Spec:
        shape, dtype = tuple(self.shape), self._dtype
        check_sizes(dims, shape, output_size)
        narrow = dtype.itemsize == 2 and name.endswith("_aa")
        check_takes((dtype.category == FLOATING and not narrow) or (dtype is uint8 and takes_bytes(name)), name, dtype)
        return like_format(self, (*shape[:2], *output_size))

    return meta


def takes_bytes(name: str) -> bool:
    """Return True if ATen's kernel takes uint8: those of images, and all that choose elements."""
    return "nearest" in name or (name.strip("_").startswith("upsample_bi") or "lanczos" in name)


def resample_backward(name: str, dims: int) -> Callable[..., Spec]:
    def meta(grad_output: Tensor, output_size: Ints, input_size: Ints, *settings: Any) -> Spec:
        check_sizes(dims, input_size, output_size)
        expected = (*input_size[:2], *output_size)
        check(tuple(grad_output.shape) == expected,
              lambda: f"Expected grad_output to have the same shape as output; output.size = {list(expected)} but got "
                      f"grad_output.size = {list(grad_output.shape)}")
        check_takes(grad_output._dtype.category == FLOATING, f"{name}_backward", grad_output._dtype)
        return like_format(grad_output, tuple(input_size))

    return meta


def by_factors(name: str) -> Callable[..., Any]:
    """Return the overload ``vec`` of resampling, which takes the size of the output or the factors of the input's."""
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


def of_input(name: str) -> Any:
    """Return the input's formula, named by its parameters: ATen's scales have other names in each rank."""
    back = registry[f"{name}_backward"]
    names = ",".join(parameter.name for parameter in registry[name].schema.parameters[2:])
    return {
        "scales": lambda grad, output_size, self_shape, scales: back(grad, output_size, self_shape, scales),
        "scales_h,scales_w": lambda grad, output_size, self_shape, scales_h, scales_w:
            back(grad, output_size, self_shape, scales_h, scales_w),
        "scales_d,scales_h,scales_w": lambda grad, output_size, self_shape, scales_d, scales_h, scales_w:
            back(grad, output_size, self_shape, scales_d, scales_h, scales_w),
        "align_corners,scales": lambda grad, output_size, self_shape, align_corners, scales:
            back(grad, output_size, self_shape, align_corners, scales),
        "align_corners,scales_h,scales_w": lambda grad, output_size, self_shape, align_corners, scales_h, scales_w:
            back(grad, output_size, self_shape, align_corners, scales_h, scales_w),
        "align_corners,scales_d,scales_h,scales_w":
            lambda grad, output_size, self_shape, align_corners, scales_d, scales_h, scales_w:
                back(grad, output_size, self_shape, align_corners, scales_d, scales_h, scales_w),
    }[names]


schemas("""
out, exact dtype, no overlap:
    upsample_nearest1d(Tensor self, int[1] output_size, float? scales=None) -> Tensor  # `self` with the size `output_size` in its last dimension, each element that of `self` which lies nearest before it.
    upsample_nearest2d(Tensor self, int[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last two dimensions, each element that of `self` which lies nearest before it.
    upsample_nearest3d(Tensor self, int[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last three dimensions, each element that of `self` which lies nearest before it.
    _upsample_nearest_exact1d(Tensor self, int[1] output_size, float? scales=None) -> Tensor  # `self` with the size `output_size` in its last dimension, each element that of `self` which lies nearest to it.
    _upsample_nearest_exact2d(Tensor self, int[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last two dimensions, each element that of `self` which lies nearest to it.
    _upsample_nearest_exact3d(Tensor self, int[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last three dimensions, each element that of `self` which lies nearest to it.
    upsample_linear1d(Tensor self, int[1] output_size, bool align_corners, float? scales=None) -> Tensor  # `self` with the size `output_size` in its last dimension, the elements interpolated linearly.
    upsample_bilinear2d(Tensor self, int[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last two dimensions, the elements interpolated linearly.
    upsample_trilinear3d(Tensor self, int[3] output_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last three dimensions, the elements interpolated linearly.
    upsample_bicubic2d(Tensor self, int[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last two dimensions, the elements interpolated by cubic polynomials.
    _upsample_bilinear2d_aa(Tensor self, int[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last two dimensions, the elements interpolated linearly, over as many of `self` as one stands for.
    _upsample_bicubic2d_aa(Tensor self, int[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last two dimensions, the elements interpolated by cubic polynomials, over as many of `self` as one stands for.
    _upsample_lanczos2d_aa(Tensor self, int[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last two dimensions, the elements interpolated by windows of the sinc function, over as many of `self` as one stands for.
operator only:
    {upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d}.vec(Tensor input, int[]? output_size, float[]? scale_factors) -> Tensor
    {upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d _upsample_bilinear2d_aa _upsample_bicubic2d_aa _upsample_lanczos2d_aa}.vec(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
    upsample_nearest1d_backward(Tensor grad_output, int[1] output_size, int[3] input_size, float? scales=None) -> Tensor
    upsample_nearest2d_backward(Tensor grad_output, int[2] output_size, int[4] input_size, float? scales_h=None, float? scales_w=None) -> Tensor
    upsample_nearest3d_backward(Tensor grad_output, int[3] output_size, int[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor
    _upsample_nearest_exact1d_backward(Tensor grad_output, int[1] output_size, int[3] input_size, float? scales=None) -> Tensor
    _upsample_nearest_exact2d_backward(Tensor grad_output, int[2] output_size, int[4] input_size, float? scales_h=None, float? scales_w=None) -> Tensor
    _upsample_nearest_exact3d_backward(Tensor grad_output, int[3] output_size, int[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor
    upsample_linear1d_backward(Tensor grad_output, int[1] output_size, int[3] input_size, bool align_corners, float? scales=None) -> Tensor
    upsample_bilinear2d_backward(Tensor grad_output, int[2] output_size, int[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor
    upsample_trilinear3d_backward(Tensor grad_output, int[3] output_size, int[5] input_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor
    upsample_bicubic2d_backward(Tensor grad_output, int[2] output_size, int[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor
    _upsample_bilinear2d_aa_backward(Tensor grad_output, int[2] output_size, int[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor
    _upsample_bicubic2d_aa_backward(Tensor grad_output, int[2] output_size, int[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor
    _upsample_lanczos2d_aa_backward(Tensor grad_output, int[2] output_size, int[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor
""")  # noqa: E501

for name, node in (
    *((f"upsample_nearest{n}d", f"UpsampleNearest{n}D") for n in (1, 2, 3)),
    *((f"_upsample_nearest_exact{n}d", f"UpsampleNearestExact{n}D") for n in (1, 2, 3)),
    ("upsample_linear1d", "UpsampleLinear1D"), ("upsample_bilinear2d", "UpsampleBilinear2D"),
    ("upsample_trilinear3d", "UpsampleTrilinear3D"), ("upsample_bicubic2d", "UpsampleBicubic2D"),
    ("_upsample_bilinear2d_aa", "UpsampleBilinear2DAa"), ("_upsample_bicubic2d_aa", "UpsampleBicubic2DAa"),
    ("_upsample_lanczos2d_aa", "UpsampleLanczos2DAa"),
):
    dims = RESAMPLING[name][0]
    operator(name, resample(name, dims), batching=None if "lanczos" in name else by_sample, node=f"{node}Backward0",
             self=of_input(name))
    operator(f"{name}.vec", composite=by_factors(name))
    operator(f"{name}_backward", resample_backward(name, dims), batching=None if name[0] == "_" else by_sample,
             node=f"{node}BackwardBackward0", grad_output=registry[name])

schemas("""
operator only:
    grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)
    grid_sampler_3d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)
function:
    grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor  # The images or volumes `input` at the places of `grid`, whose coordinates go from -1 to 1.
    grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor  # The images `input` at the places of `grid`, whose coordinates go from -1 to 1.
    grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor  # The volumes `input` at the places of `grid`, whose coordinates go from -1 to 1.
""")  # noqa: E501

LINEAR, NEAREST, CUBIC = 0, 1, 2

ZEROS, BORDER, REFLECTION = 0, 1, 2


class Tap(NamedTuple):
    """One source element a sample: index, weight, and the weight's slope (None: constant); 0 outside the input, where
    ``there`` is False.
    """

    index: Any
    weight: Any
    slope: Any
    there: Any


def reflected(x: Any, slope: Any, low: float, high: float) -> tuple[Any, Any]:
    """Return places reflected at two edges until they lie between them, and the slope of that."""
    span = high - low
    if not span:
        return x.nan_to_num(0) * 0, slope * 0
    distance, sign = (x - low).abs(), where(x < low, -slope, slope)
    flips = (distance / span).floor().detach()
    rest, even = distance - flips * span, flips % 2 == 0
    return where(even, low + rest, high - rest), where(even, sign, -sign)


def inside(x: Any, slope: Any, size: int, padding_mode: int, corners: bool) -> tuple[Any, Any]:
    """Return places moved into the input as the padding says, and the slope of that."""
    if padding_mode == REFLECTION:
        x, slope = reflected(x, slope, *((0, size - 1) if corners else (-0.5, size - 0.5)))
    if padding_mode != ZEROS:
        within = (x > 0).logical_and(x < size - 1)
        x, slope = where(within, x, x.detach().nan_to_num(0).clamp(0, size - 1)), where(within, slope, slope * 0)
    return x, slope


def cubic_weights(t: Any) -> list[tuple[Any, Any]]:
    """Return the weights of four elements around ``t`` behind the second, and slopes (Keys' convolution)."""
    a = -0.75

    def near(x: Any) -> tuple[Any, Any]:
        return ((a + 2) * x - (a + 3)) * x * x + 1, (3 * (a + 2) * x - 2 * (a + 3)) * x

    def far(x: Any) -> tuple[Any, Any]:
        return (((x - 5) * x + 8) * x - 4) * a, ((3 * x - 10) * x + 8) * a

    behind = [(weight, -slope) for weight, slope in (near(1 - t), far(2 - t))]
    return [far(t + 1), near(t), *behind]


def taps_of(coordinate: Any, size: int, mode: int, padding_mode: int, corners: bool) -> list[Tap]:
    """Return the elements and weights of samples at these coordinates, along one dimension."""
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
    """Return a tap that is zero where its place lies outside of the input, or NaN."""
    there = (place >= 0).logical_and(place <= size - 1)
    index = where(there, place, place * 0).to(int64)
    lost = there.logical_not().logical_and(weight.isnan().logical_not())
    return Tap(index.masked_fill(there.logical_not(), 0), weight.masked_fill(lost, 0),
               None if slope is None else slope.masked_fill(there.logical_not(), 0), there)


def each_element(input: Any, grid: Any, mode: int, padding_mode: int, corners: bool) -> Any:
    """Yield each element of a sample: its flat place (N, 1, places) and the dimensions' taps, outermost first."""
    size, batch = tuple(input.shape[2:]), input.shape[0]
    dims, count = len(size), prod(grid.shape[1:-1])
    along = [taps_of(grid.select(-1, dims - 1 - d).reshape((batch, 1, count)), size[d], mode, padding_mode, corners)
             for d in range(dims)]
    steps = [prod(size[d + 1:]) for d in range(dims)]
    for taps in product(*along):
        yield sum(tap.index * by for tap, by in zip(taps, steps, strict=True)), taps


def outside(taps: Any) -> Any:
    """Return where an element lies outside of the input: it counts as 0, whatever is read in its place."""
    return reduce(lambda one, other: one.logical_and(other), [tap.there for tap in taps]).logical_not()


def product_of(factors: list[Any]) -> Any:
    found = factors[0]
    for factor in factors[1:]:
        found = found * factor
    return found


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
    """``grid_sampler_2d`` and ``_3d``; RuntimeError if tensors do not fit, or for a volume's cubic samples."""
    check_grid(input, grid, interpolation_mode)
    flat, total = input.flatten(2), None
    batch, channels = input.shape[:2]
    for index, taps in each_element(input, grid, interpolation_mode, padding_mode, align_corners):
        values = flat.gather(2, index.expand((batch, channels, index.shape[2]))).masked_fill(outside(taps), 0)
        part = values * product_of([tap.weight for tap in taps])
        total = part if total is None else total + part
    return _unsafe_view(total, (batch, channels, *grid.shape[1:-1]))


def grid_sample_backward(grad_output: Tensor, input: Tensor, grid: Any, interpolation_mode: int, padding_mode: int,
                         align_corners: bool, output_mask: Any) -> tuple[Any, Any]:
    """Return the gradients of the input and of the grid that ``output_mask`` asks for."""
    batch, channels, *size = input.shape
    dims, flat, grad = len(size), input.flatten(2), grad_output.flatten(2)
    to_input: Any = input.new_zeros(flat.shape) if output_mask[0] else None
    to_grid: list[Any] = [None] * dims
    for index, taps in each_element(input, grid, interpolation_mode, padding_mode, align_corners):
        wide = index.expand((batch, channels, index.shape[2]))
        if output_mask[0]:
            part = grad * product_of([tap.weight for tap in taps])
            to_input = to_input.scatter_add(2, wide, part.masked_fill(outside(taps), 0))
        if output_mask[1] and interpolation_mode != NEAREST:
            values = (flat.gather(2, wide).masked_fill(outside(taps), 0) * grad).sum(1, True)
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


operator("grid_sampler_2d_backward grid_sampler_3d_backward", composite=grid_sample_backward, batching=by_sample)
operator("grid_sampler", composite=grid_sampler, autocast="cpu float32")
operator("grid_sampler_2d", composite=grid_sample, batching=by_sample, autocast="cpu float32",
         node="GridSampler2DBackward0",
         jointly={
             "input, grid": lambda grad, input, grid, interpolation_mode, padding_mode, align_corners, output_mask:
             grid_sampler_2d_backward(grad, input, grid, interpolation_mode, padding_mode, align_corners, output_mask)})
operator("grid_sampler_3d", composite=grid_sample, batching=by_sample, autocast="cpu float32",
         node="GridSampler3DBackward0",
         jointly={
             "input, grid": lambda grad, input, grid, interpolation_mode, padding_mode, align_corners, output_mask:
             grid_sampler_3d_backward(grad, input, grid, interpolation_mode, padding_mode, align_corners, output_mask)})

schemas("""
operator only:
    affine_grid_generator_backward(Tensor grad, int[] size, bool align_corners) -> Tensor
function:
    affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor  # The places that the affine maps `theta` give the elements of images or volumes of `size`, as `grid_sampler` takes them.
""")  # noqa: E501


def base_grid(theta: Any, size: Ints, align_corners: bool) -> Any:
    """Return the coordinates of an image's or volume's elements and a one: (elements, dimensions + 1)."""
    spatial = size[2:]
    columns = []
    for d in reversed(range(len(spatial))):
        n = spatial[d]
        line = arange(theta, 0, n).to(theta._dtype)
        line = (line * (2 / (n - 1) if n > 1 else 0) - (1 if n > 1 else 0)) if align_corners else (2 * line + 1) / n - 1
        columns.append(line.view([n if e == d else 1 for e in range(len(spatial))]).expand(spatial).reshape(-1))
    return registry["stack"].call([*columns, theta.new_ones((prod(spatial),))], 1)


def composite_affine_grid_generator(theta: Tensor, size: Ints, align_corners: bool) -> Tensor:
    """``nn.functional.affine_grid``; RuntimeError for a size that is neither one of images nor of volumes."""
    check(len(size) in (4, 5), "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    base = base_grid(theta, size, align_corners)
    grid = base.unsqueeze(0).expand((size[0], *base.shape)).bmm(theta.transpose(1, 2))
    return _unsafe_view(grid, (size[0], *size[2:], len(size) - 2))


def composite_affine_grid_generator_backward(grad: Any, size: Ints, align_corners: bool) -> Any:
    base = base_grid(grad, size, align_corners)
    flat = grad.reshape((size[0], base.shape[0], len(size) - 2))
    return base.unsqueeze(0).expand((size[0], *base.shape)).transpose(1, 2).bmm(flat).transpose(1, 2)


operator("affine_grid_generator_backward", composite=composite_affine_grid_generator_backward,
         grad=lambda grad, size, align_corners:
             affine_grid_generator(grad, size, align_corners))
operator("affine_grid_generator", composite=composite_affine_grid_generator,
         theta=lambda grad, size, align_corners:
             affine_grid_generator_backward(grad, size, align_corners))
