"""Meta kernels of pooling, in two and three dimensions."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._base.errors import NAMES, check, check_real, check_takes
from ...._base.layout import (
    CHANNELS_LAST, Ints, Spec, check_sizes, is_contiguous, ordered_strides, suggested_order, suggested_strides,
)
from ...._dtype import FLOATING, INTEGER, int64
from . import META_KERNELS

WORDS = {1: "one", 2: "two", 3: "three"}
SIZES = {2: "two elements (height, width)", 3: "three elements (depth, height, width)"}


def like_format(self: Any, shape: Ints, dtype: Any = None) -> Spec:
    """An output in the memory format that the input suggests."""
    order = suggested_order(tuple(self.shape), self._strides())
    return Spec(shape, dtype or self._dtype, suggested_strides(shape, order))


def like_sample(self: Any, shape: Ints, dtype: Any = None) -> Spec:
    """An output (C, D, H, W), whose channels lie last in memory where those of the input do."""
    order = CHANNELS_LAST[5][1:]
    last = is_contiguous([self.shape[d - 1] for d in order], [self._strides()[d - 1] for d in order])
    made = ordered_strides((1, *shape), CHANNELS_LAST[5])[1:] if last and not self.is_contiguous() else None
    return Spec(shape, dtype or self._dtype, made)


def check_filled(name: str, what: str, shape: Ints, first: int = 1) -> None:
    """Raise a RuntimeError if a dimension, from ``first`` on, is empty."""
    for d in range(first, len(shape)):
        if not shape[d]:
            raise RuntimeError(f"{name}(): Expected {what} to have non-zero size for non-batch dimensions, but {what} "
                               f"has sizes {list(shape)} with dimension {d} being empty")


def check_list(name: str, what: str, values: Ints, dims: int, also: str = "") -> None:
    check(len(values) in (1, dims) or (also and not values),
          lambda: f"{name}: {what} must either be {also}a single int, or a tuple of {WORDS[dims]} ints")


def window(name: str, dims: int, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints = (1,)) -> list[Ints]:
    """Kernel, stride, padding and dilation with a number for each dimension.

    Raises:
        RuntimeError: if they have another count of numbers, or some are too small or too large.
    """
    check_list(name, "kernel_size", kernel, dims)
    check_list(name, "stride", stride, dims, "omitted, ")
    check_list(name, "padding", padding, dims)
    check_list(name, "dilation", dilation, dims)
    kernel, padding, dilation = (
        tuple(values) * dims if len(values) == 1 else tuple(values) for values in (kernel, padding, dilation))
    stride = (tuple(stride) * dims if len(stride) == 1 else tuple(stride)) if stride else kernel
    check(min(stride) != 0, "stride should not be zero")
    check(min(kernel) > 0, lambda: f"kernel size should be greater than zero, but got {kernel}")
    check(min(stride) > 0, lambda: f"stride should be greater than zero, but got {stride}")
    check(min(dilation) > 0, lambda: f"dilation should be greater than zero, but got {dilation}")
    for k, p, d in zip(kernel, padding, dilation, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if 2 * p > (k - 1) * d + 1:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} "
                               f"and dilation={d}")
    if any(p > k // 2 for k, p in zip(kernel, padding, strict=True)):
        got = (f"padW = {padding[1]}, padH = {padding[0]}, kW = {kernel[1]}, kH = {kernel[0]}" if dims == 2 else
               f"kT: {kernel[0]} kW: {kernel[2]} kH: {kernel[1]} padT: {padding[0]} padW: {padding[2]} "
               f"padH: {padding[1]}")
        raise RuntimeError(f"pad should be smaller than or equal to half of kernel size, but got {got}")
    return [kernel, stride, padding, dilation]


def places(size: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    """How many places a window takes along a dimension; none begins behind the elements and the padding before."""
    count = (size + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
    return count - 1 if ceil_mode and (count - 1) * s >= size + p else count


def pooled(name: str, dims: int, self: Any, ceil_mode: bool, settings: list[Ints]) -> Ints:
    """The shape of what a window makes of the last dimensions.

    Raises:
        RuntimeError: if the input has other dimensions, or no window fits.
    """
    shape = tuple(self.shape)
    check(len(shape) in (dims + 1, dims + 2) and all(shape[-dims - 1:]),
          lambda: f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size for input, "
                  f"but got: {list(shape)}")
    out = tuple(places(n, k, s, p, d, ceil_mode) for n, k, s, p, d in zip(shape[-dims:], *settings, strict=True))
    check(min(out) >= 1,
          lambda: f"Given input size: ({'x'.join(map(str, shape[-dims - 1:]))}). Calculated output size: "
                  f"({'x'.join(map(str, (shape[-dims - 1], *out)))}). Output size is too small")
    return (*shape[:-dims], *out)


# -- windows -----------------------------------------------------------------------------------------------------------

def max_pool(dims: int) -> Callable[..., Any]:
    name = f"max_pool{dims}d"

    def meta(self: Any, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), dilation: Ints = (1,),
             ceil_mode: bool = False) -> tuple[Spec, Spec]:
        settings = window(name, dims, kernel_size, stride, padding, dilation)
        shape = pooled(name, dims, self, ceil_mode, settings)
        check_takes(self._dtype.category in (INTEGER, FLOATING), name, self._dtype)
        like = like_sample if self.ndim == 4 and dims == 3 else like_format
        return like(self, shape), like(self, shape, int64)

    return meta


def avg_pool(dims: int) -> Callable[..., Any]:
    name = f"avg_pool{dims}d"

    def meta(self: Any, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), ceil_mode: bool = False,
             count_include_pad: bool = True, divisor_override: int | None = None) -> Spec:
        settings = window(name, dims, kernel_size, stride, padding)
        check(divisor_override != 0, "divisor must be not zero")
        shape = pooled(name, dims, self, ceil_mode, settings)
        dtype = self._dtype
        check_takes(dtype.category == FLOATING or dtype is int64, name if dims == 2 else f"{name}_out_frame", dtype)
        return like_format(self, shape) if dims == 2 else Spec(shape, self._dtype)

    return meta


def like_input(grad_output: Any, self: Any, *rest: Any) -> Spec:
    """A gradient: of the input's shape, in the memory format that it suggests."""
    check(grad_output._dtype is self._dtype,
          lambda: f"expected dtype {NAMES[self._dtype.name]} for `grad_output` but got dtype "
                  f"{NAMES[grad_output._dtype.name]}")
    return like_format(self, tuple(self.shape))


def like_regions(name: str) -> Callable[..., Spec]:
    """A gradient of adaptive pooling, which has to come from at least one region."""

    def meta(grad_output: Any, self: Any, *rest: Any) -> Spec:
        check_filled(f"{name}_backward", "grad_output", tuple(grad_output.shape))
        return like_input(grad_output, self)

    return meta


# -- regions that depend on the input's size ---------------------------------------------------------------------------

def check_regions(name: str, dims: int, self: Any, output_size: Ints) -> Ints:
    """The shape of what ``adaptive`` pooling makes."""
    check(len(output_size) == dims, lambda: f"{name}: output_size must be {dims}")
    shape = tuple(self.shape)
    check(len(shape) in (dims + 1, dims + 2),
          lambda: f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(shape)}")
    check_filled(name, "input", shape, len(shape) - dims if name == "adaptive_avg_pool2d" else 1)
    check(min(output_size) >= 0,
          lambda: f"{name}: elements of output_size must be greater than or equal to 0 but received "
                  f"{{{', '.join(map(str, output_size))}}}")
    return check_sizes((*shape[:-dims], *output_size), self._dtype.itemsize)


def adaptive_avg_pool(dims: int) -> Callable[..., Spec]:
    name = f"adaptive_avg_pool{dims}d"

    def meta(self: Any, output_size: Ints) -> Spec:
        shape = check_regions(name, dims, self, output_size)
        if dims == 3 or 0 not in shape:
            check_real(f"{name}_cpu" if dims == 3 else name, self)
        return like_format(self, shape) if dims == 2 else Spec(shape, self._dtype)

    return meta


def adaptive_max_pool(dims: int) -> Callable[..., tuple[Spec, Spec]]:
    name = f"adaptive_max_pool{dims}d"

    def meta(self: Any, output_size: Ints) -> tuple[Spec, Spec]:
        shape = check_regions(name, dims, self, output_size)
        check_real(name, self)
        if dims == 2:
            return like_format(self, shape), like_format(self, shape, int64)
        return Spec(shape, self._dtype), Spec(shape, int64)

    return meta


def fractional_max_pool(dims: int) -> Callable[..., tuple[Spec, Spec]]:
    name = f"fractional_max_pool{dims}d"

    def meta(self: Any, kernel_size: Ints, output_size: Ints, random_samples: Any) -> tuple[Spec, Spec]:
        for what, values in (("kernel_size", kernel_size), ("output_size", output_size)):
            if len(values) != dims:
                raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of "
                                   f"{'three Ints' if dims == 3 else 'Ints'}")
        shape = tuple(self.shape)
        check(len(shape) in (dims + 1, dims + 2),
              lambda: f"{name}: Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(shape)}")
        check(all(shape[-dims - 1:]),
              lambda: f"{name}: Expected input to have non-zero size for non-batch dimensions, but got: {list(shape)}")
        along = ("time", "height", "width")[-dims:]
        for n, k, o, what in zip(shape[-dims:], kernel_size, output_size, along, strict=True):
            check(k > 0 and o >= 0, lambda: f"{name}: kernel sizes must be positive, output sizes not negative")
            if o + k - 1 > n:
                raise RuntimeError(f"{name}(): pool {what} {k} too large relative to input {what} {n}")
        batch = shape[0] if len(shape) == dims + 2 else 1
        check(self._dtype is random_samples._dtype,
              "Expect _random_samples to have the same dtype as input")
        check(random_samples.ndim == 3 and random_samples.shape[0] >= batch
              and random_samples.shape[1] >= shape[-dims - 1] and random_samples.shape[2] == dims,
              lambda: f"Expect _random_samples to have the shape [{batch}, {shape[-dims - 1]}, {dims}], but got "
                      f"{list(random_samples.shape)}")
        check_real(f"{name}_out_frame", self)
        made = (*shape[:-dims], *output_size)
        return Spec(made, self._dtype), Spec(made, int64)

    return meta


def max_unpool(dims: int) -> Callable[..., Spec]:
    name = f"max_unpool{dims}d"

    def meta(self: Any, indices: Any, output_size: Ints, *settings: Ints) -> Spec:
        check(indices._dtype is int64,
              lambda: f"elements in indices should be type int64 but got: {NAMES[indices._dtype.name]}")
        check(len(output_size) == dims,
              lambda: f"There should be exactly {SIZES[dims]} in output_size, but got {len(output_size)} elements.")
        shape = tuple(self.shape)
        check(len(shape) in (dims + 1, dims + 2),
              lambda: f"Input to {name} should be a {dims + 1}d or {dims + 2}d Tensor, but got a tensor with "
                      f"{len(shape)} dims.")
        check(shape == tuple(indices.shape),
              lambda: f"Expected shape of indices to be same as that of the input tensor ({list(shape)}) but got "
                      f"indices tensor with shape: {list(indices.shape)}")
        for values, what in zip(settings, ("stride", "padding"), strict=False):
            if len(values) != dims:
                raise RuntimeError(f"There should be exactly {WORDS[dims]} elements ({what}), but got {len(values)}")
        check(not settings or min(settings[0]) > 0,
              lambda: f"strides should be greater than zero, but got stride: {settings[0]}")
        check(all(shape[-dims - 1:]),
              lambda: f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got {list(shape)}")
        check_real(name, self)
        made = (*shape[:-dims], *output_size)
        return like_format(self, made) if dims == 2 else Spec(made, self._dtype)

    return meta


for _n in (2, 3):
    META_KERNELS.update({
        f"max_pool{_n}d_with_indices": max_pool(_n), f"avg_pool{_n}d": avg_pool(_n),
        f"_adaptive_avg_pool{_n}d": adaptive_avg_pool(_n), f"adaptive_max_pool{_n}d": adaptive_max_pool(_n),
        f"fractional_max_pool{_n}d": fractional_max_pool(_n), f"max_unpool{_n}d": max_unpool(_n),
        **{f"{name}_backward": like_input for name in (
            f"max_pool{_n}d_with_indices", f"avg_pool{_n}d", f"fractional_max_pool{_n}d")},
        f"_adaptive_avg_pool{_n}d_backward": like_regions(f"adaptive_avg_pool{_n}d"),
        f"adaptive_max_pool{_n}d_backward": like_regions(f"adaptive_max_pool{_n}d"),
    })
