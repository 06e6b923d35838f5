"""Pooling: maxima and means of windows. Without a ``stride``, the window moves by its own size."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._backends.common.shapes import places
from .._base.errors import NAMES, check, check_real, check_takes
from .._base.layout import (
    CHANNELS_LAST, Ints, Spec, check_sizes, is_contiguous, ordered_strides, suggested_order, suggested_strides,
    wrap_dims,
)
from .._dispatch.aten import (
    _adaptive_avg_pool2d, _adaptive_avg_pool3d, adaptive_max_pool2d, avg_pool2d, max_pool2d_with_indices,
    max_pool3d_with_indices,
)
from .._dispatch.keys import CPU, NONCONTIGUOUS
from .._dispatch.schemas import registry
from .._dtype import FLOATING, INTEGER, int64
from .._tensor import Tensor
from .._transforms.batching.rules import by_sample
from . import composites, operator, schemas
from .creation import fresh

WORDS = {1: "one", 2: "two", 3: "three"}
SIZES = {2: "two elements (height, width)", 3: "three elements (depth, height, width)"}


def like_format(self: Tensor, shape: Ints, dtype: Any = None) -> Spec:
    """Describe an output in the memory format that the input suggests."""
    order = suggested_order(tuple(self.shape), self._strides())
    return Spec(shape, dtype or self._dtype, suggested_strides(shape, order))


def like_sample(self: Tensor, shape: Ints, dtype: Any = None) -> Spec:
    """Describe an output (C, D, H, W) whose channels lie last in memory if the input's do."""
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
    """Return kernel, stride, padding and dilation by dimension; RuntimeError for wrong counts and ranges."""
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


def pooled(name: str, dims: int, self: Tensor, ceil_mode: bool, settings: list[Ints]) -> Ints:
    """Return a window's output shape over the last dimensions; RuntimeError if none fits."""
    shape = tuple(self.shape)
    check(len(shape) in (dims + 1, dims + 2) and all(shape[-dims - 1:]),
          lambda: f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size for input, "
                  f"but got: {list(shape)}")
    out = tuple(places(n, k, s, p, d, ceil_mode) for n, k, s, p, d in zip(shape[-dims:], *settings, strict=True))
    check(min(out) >= 1,
          lambda: f"Given input size: ({'x'.join(map(str, shape[-dims - 1:]))}). Calculated output size: "
                  f"({'x'.join(map(str, (shape[-dims - 1], *out)))}). Output size is too small")
    return (*shape[:-dims], *out)


def like_input(grad_output: Tensor, self: Tensor, *rest: Any) -> Spec:
    """Describe a gradient of the input's shape, in the memory format that the input suggests."""
    check(grad_output._dtype is self._dtype,
          lambda: f"expected dtype {NAMES[self._dtype.name]} for `grad_output` but got dtype "
                  f"{NAMES[grad_output._dtype.name]}")
    return like_format(self, tuple(self.shape))


def like_regions(name: str) -> Callable[..., Spec]:
    """Return the meta kernel of a gradient of adaptive pooling, which has to come from at least one region."""

    def meta(grad_output: Tensor, self: Tensor, *rest: Any) -> Spec:
        check_filled(f"{name}_backward", "grad_output", tuple(grad_output.shape))
        return like_input(grad_output, self)

    return meta


def check_regions(name: str, dims: int, self: Tensor, output_size: Ints) -> Ints:
    """Return the output shape of adaptive pooling, and check it."""
    check(len(output_size) == dims, lambda: f"{name}: output_size must be {dims}")
    shape = tuple(self.shape)
    check(len(shape) in (dims + 1, dims + 2),
          lambda: f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(shape)}")
    check_filled(name, "input", shape, len(shape) - dims if name == "adaptive_avg_pool2d" else 1)
    check(min(output_size) >= 0,
          lambda: f"{name}: elements of output_size must be greater than or equal to 0 but received "
                  f"{{{', '.join(map(str, output_size))}}}")
    return check_sizes((*shape[:-dims], *output_size), self._dtype.itemsize)


def chosen(dims: int) -> Any:
    """Return the elements at the maxima's places: the gradient of the gradient."""

    def formula(grad: Tensor, indices: Any) -> Any:
        return grad.flatten(-dims).gather(-1, indices.flatten(-dims)).view(indices.shape)

    return formula


def zeros(grad: Tensor, self_shape: Any) -> Tensor:
    return grad.new_zeros(self_shape)


def check_line(name: str, self: Tensor) -> None:
    """Check that a tensor is (N, C, L) or (C, L)."""
    check(self.dim() in (2, 3) and 0 not in self.shape[-2:],
          lambda: f"{name}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
                  f"{list(self.shape)}")


def check_single(name: str, **given: Ints) -> None:
    """Refuse lists of another number of ints than one."""
    for argument, ints in given.items():
        if len(ints) != 1:
            raise RuntimeError(f"{name}() argument '{argument}' should contain one int (got {len(ints)})")


schemas("""
function:
    max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, bool ceil_mode=False) -> Tensor  # The greatest element of each window of `kernel_size` that moves over the last dimension.
    max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)  # The greatest element of each window of `kernel_size` that moves over the last dimension, and its place in that.
    max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor  # The greatest element of each window of `kernel_size` that moves over the last two dimensions.
    max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor  # The greatest element of each window of `kernel_size` that moves over the last three dimensions.
out, exact dtype, no overlap:
    max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor result0, Tensor result1)  # The greatest element of each window of `kernel_size` that moves over the last two dimensions, and its place in these, counted as if they were one.
    max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor result0, Tensor result1)  # The greatest element of each window of `kernel_size` that moves over the last three dimensions, and its place in these, counted as if they were one.
operator only:
    max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor
    max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode, Tensor indices) -> Tensor
""")  # noqa: E501


def max_pool(dims: int) -> Callable[..., Any]:
    name = f"max_pool{dims}d"

    def meta(self: Tensor, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), dilation: Ints = (1,),
             ceil_mode: bool = False) -> tuple[Spec, Spec]:
        settings = window(name, dims, kernel_size, stride, padding, dilation)
        shape = pooled(name, dims, self, ceil_mode, settings)
        check_takes(self._dtype.category in (INTEGER, FLOATING), name, self._dtype)
        like = like_sample if self.ndim == 4 and dims == 3 else like_format
        return like(self, shape), like(self, shape, int64)

    return meta


def max_pool1d_with_indices(self: Tensor, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,),
                            dilation: Ints = (1,), ceil_mode: bool = False) -> tuple[Any, Any]:
    """``torch.nn.functional.max_pool1d`` with places; RuntimeError for sizes that do not fit."""
    check_line("max_pool1d", self)
    check_single("max_pool1d", kernel_size=kernel_size, stride=stride or kernel_size, padding=padding,
                 dilation=dilation)
    values, indices = max_pool2d_with_indices(self.unsqueeze(-2), (1, *kernel_size), (1, *(stride or kernel_size)),
                                              (0, *padding), (1, *dilation), ceil_mode)
    return values.squeeze(-2), indices.squeeze(-2)


def max_pool1d(self: Any, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), dilation: Ints = (1,),
               ceil_mode: bool = False) -> Any:
    check_line("max_pool1d", self)
    check_single("max_pool1d", kernel_size=kernel_size, stride=stride or kernel_size, padding=padding,
                 dilation=dilation)
    check(kernel_size[0] > 0, lambda: f"max_pool1d() kernel_size must be greater than zero, but got {kernel_size[0]}")
    check(padding[0] >= 0, lambda: f"max_pool1d() padding must be non-negative, but got {padding[0]}")
    check(padding[0] <= kernel_size[0] // 2, lambda: "max_pool1d() padding should be at most half of kernel size, but "
          f"got padding={padding[0]} and kernel_size={kernel_size[0]}")
    step, reach = (stride or kernel_size)[0], dilation[0] * (kernel_size[0] - 1) + 1
    check(step > 0, lambda: f"max_pool1d() stride must be greater than zero, but got {step}")
    check(dilation[0] > 0, lambda: f"max_pool1d() dilation must be greater than zero, but got {dilation[0]}")
    room = self.shape[-1] + 2 * padding[0] - reach
    check(room >= (0 if not ceil_mode else 1 - step), lambda: "max_pool1d() Invalid computed output size: "
          f"{(-(-room // step) if ceil_mode else room // step) + 1}")
    if self.device.type == "cpu":
        check_real("max_pool1d_impl", self)
    if self._keys & ~NONCONTIGUOUS != CPU:
        return max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]
    values, _ = max_pool2d_with_indices(self.unsqueeze(-2), (1, *kernel_size), (1, *(stride or kernel_size)),
                                        (0, *padding), (1, *dilation), ceil_mode)
    return fresh(values.squeeze_(-2))  # no view, as of ATen's kernel without a history


def first_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the maxima without their places."""

    def row(*args: Any) -> Any:
        return function(*args)[0]

    return row


def max_pooling(n: int) -> None:
    backward = registry[f"max_pool{n}d_with_indices_backward"]
    operator(f"max_pool{n}d_with_indices", max_pool(n), batching=by_sample, node=f"MaxPool{n}DWithIndicesBackward0",
             outputs=(0,), self=lambda grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1:
                 backward(grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1))
    operator(f"max_pool{n}d_with_indices_backward", like_input, batching=by_sample,
             node=f"MaxPool{n}DWithIndicesBackwardBackward0", grad_output=chosen(n), self=zeros)


composites(max_pool1d, max_pool1d_with_indices)
operator("max_pool2d", composite=first_of(max_pool2d_with_indices))
operator("max_pool3d", composite=first_of(max_pool3d_with_indices), autocast="cpu float32")
for n in (2, 3):
    max_pooling(n)


schemas("""
function:
    avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, bool ceil_mode=False, bool count_include_pad=True) -> Tensor  # The mean of each window of `kernel_size` that moves over the last dimension.
out, exact dtype, no overlap:
    avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor  # The mean of each window of `kernel_size` that moves over the last two dimensions, or its sum over `divisor_override`.
    avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor  # The mean of each window of `kernel_size` that moves over the last three dimensions, or its sum over `divisor_override`.
operator only:
    avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor
    avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor
""")  # noqa: E501


def avg_pool(dims: int) -> Callable[..., Any]:
    name = f"avg_pool{dims}d"

    def meta(self: Tensor, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), ceil_mode: bool = False,
             count_include_pad: bool = True, divisor_override: int | None = None) -> Spec:
        settings = window(name, dims, kernel_size, stride, padding)
        check(divisor_override != 0, "divisor must be not zero")
        shape = pooled(name, dims, self, ceil_mode, settings)
        dtype = self._dtype
        check_takes(dtype.category == FLOATING or dtype is int64, name if dims == 2 else f"{name}_out_frame", dtype)
        return like_format(self, shape) if dims == 2 else Spec(shape, self._dtype)

    return meta


def avg_pool1d(self: Tensor, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), ceil_mode: bool = False,
               count_include_pad: bool = True) -> Tensor:
    check(self.dim() in (2, 3), lambda: f"Expected 2 to 3 dimensions, but got {self.dim()}-dimensional tensor for "
                                        "argument #1 'self' (while checking arguments for avg_pool1d)")
    check_single("avg_pool1d", kernel_size=kernel_size, stride=stride or kernel_size, padding=padding)
    return avg_pool2d(self.unsqueeze(-2), (1, *kernel_size), (1, *(stride or kernel_size)), (0, *padding), ceil_mode,
                      count_include_pad).squeeze(-2)


def avg_pooling(n: int) -> None:
    forward = registry[f"avg_pool{n}d"]
    operator(f"avg_pool{n}d", avg_pool(n), batching=by_sample, autocast="cpu float32" if n == 3 else "",
             node=f"AvgPool{n}DBackward0", self=registry[f"avg_pool{n}d_backward"])
    operator(f"avg_pool{n}d_backward", like_input, batching=by_sample, node=f"AvgPool{n}DBackwardBackward0",
             grad_output=lambda grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override:
                 forward(grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override),
             self=zeros)


composites(avg_pool1d)
for n in (2, 3):
    avg_pooling(n)


schemas("""
function:
    adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor  # The means of `output_size` regions, as even as they can be, of the last dimension.
    _adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor  # The means of `output_size` regions, as even as they can be, of the last two dimensions, if they are more than one.
    _adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor  # The means of `output_size` regions, as even as they can be, of the last three dimensions, if they are more than one.
operator only:
    adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor  # The means of `output_size` regions, as even as they can be, of the last two dimensions.
    adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor  # The means of `output_size` regions, as even as they can be, of the last three dimensions.
    _adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor
    _adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor
""")  # noqa: E501


def meta_adaptive_avg_pool(dims: int) -> Callable[..., Spec]:
    name = f"adaptive_avg_pool{dims}d"

    def meta(self: Tensor, output_size: Ints) -> Spec:
        shape = check_regions(name, dims, self, output_size)
        if dims == 3 or 0 not in shape:
            check_real(f"{name}_cpu" if dims == 3 else name, self)
        return like_format(self, shape) if dims == 2 else Spec(shape, self._dtype)

    return meta


def check_adaptive(name: str, self: Tensor, output_size: Ints) -> None:
    check(self.dim() in (2, 3), lambda: f"{name}(): Expected 2D or 3D tensor, but got {list(self.shape)}")
    check(len(output_size) == 1, lambda: f"{name}() argument 'output_size' should contain one int")


def adaptive_avg_pool1d(self: Any, output_size: Ints) -> Any:
    check_adaptive("adaptive_avg_pool1d", self, output_size)
    return adaptive_avg_pool(2)(self.unsqueeze(-2), (1, *output_size)).squeeze(-2)


def adaptive_avg_pool(dims: int) -> Callable[..., Any]:
    """``adaptive_avg_pool2d`` and ``adaptive_avg_pool3d``: of a single region, the mean."""
    pool, name = {2: _adaptive_avg_pool2d, 3: _adaptive_avg_pool3d}[dims], f"adaptive_avg_pool{dims}d"

    def row(self: Tensor, output_size: Ints) -> Any:
        check(len(output_size) == dims, lambda: f"{name}: output_size must be {dims}")
        check(min(output_size) >= 0,
              lambda: f"{name}: elements of output_size must be greater than or equal to 0 but received "
                      f"{{{', '.join(map(str, output_size))}}}")
        if set(output_size) != {1} or self.dim() < dims:
            return pool(self, output_size)
        mean = self.mean(wrap_dims(tuple(range(-dims, 0)), self.dim()), True)
        if suggested_order(tuple(self.shape), self._strides()) == CHANNELS_LAST.get(self.dim(), ()):
            channels = mean.shape[1]
            return mean.as_strided(mean.shape, (channels, 1, *[channels] * dims))
        return mean

    return row


def adaptive_avg_pooling(n: int) -> None:
    forward = registry[f"_adaptive_avg_pool{n}d"]
    operator(f"_adaptive_avg_pool{n}d", meta_adaptive_avg_pool(n), batching=by_sample,
             node=f"AdaptiveAvgPool{n}DBackward0", self=registry[f"_adaptive_avg_pool{n}d_backward"])
    operator(f"_adaptive_avg_pool{n}d_backward", like_regions(f"adaptive_avg_pool{n}d"), batching=by_sample,
             node=f"AdaptiveAvgPool{n}DBackwardBackward0",
             grad_output=lambda grad, grad_output_shape: forward(grad, tuple(grad_output_shape[-n:])), self=zeros)


composites(adaptive_avg_pool1d)
operator("adaptive_avg_pool2d", composite=adaptive_avg_pool(2))
operator("adaptive_avg_pool3d", composite=adaptive_avg_pool(3), autocast="cpu float32")
for n in (2, 3):
    adaptive_avg_pooling(n)


schemas("""
function:
    adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)  # The greatest elements of `output_size` regions, as even as they can be, of the last dimension, and their places in that.
out, exact dtype, no overlap:
    adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor result0, Tensor result1)  # The greatest elements of `output_size` regions, as even as they can be, of the last two dimensions, and their places in these, counted as if they were one.
    adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor result0, Tensor result1)  # The greatest elements of `output_size` regions, as even as they can be, of the last three dimensions, and their places in these, counted as if they were one.
operator only:
    adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor
    adaptive_max_pool3d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor
""")  # noqa: E501


def adaptive_max_pool(dims: int) -> Callable[..., tuple[Spec, Spec]]:
    name = f"adaptive_max_pool{dims}d"

    def meta(self: Tensor, output_size: Ints) -> tuple[Spec, Spec]:
        shape = check_regions(name, dims, self, output_size)
        check_real(name, self)
        if dims == 2:
            return like_format(self, shape), like_format(self, shape, int64)
        return Spec(shape, self._dtype), Spec(shape, int64)

    return meta


def adaptive_max_pool1d(self: Tensor, output_size: Ints) -> tuple[Any, Any]:
    check_adaptive("adaptive_max_pool1d", self, output_size)
    check_filled("adaptive_max_pool1d", "input", tuple(self.shape))
    values, indices = adaptive_max_pool2d(self.unsqueeze(-2), (1, *output_size))
    return values.squeeze(-2), indices.squeeze(-2)


def adaptive_max_pooling(n: int) -> None:
    backward = registry[f"adaptive_max_pool{n}d_backward"]
    operator(f"adaptive_max_pool{n}d", adaptive_max_pool(n), batching=by_sample,
             autocast="cpu float32" if n == 3 else "", node=f"AdaptiveMaxPool{n}DBackward0", outputs=(0,),
             self=lambda grad, self, result1: backward(grad, self, result1))
    operator(f"adaptive_max_pool{n}d_backward", like_regions(f"adaptive_max_pool{n}d"), batching=by_sample,
             node=f"AdaptiveMaxPool{n}DBackwardBackward0", grad_output=chosen(n), self=zeros)


composites(adaptive_max_pool1d)
for n in (2, 3):
    adaptive_max_pooling(n)


schemas("""
out, exact dtype, no overlap:
    fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> (Tensor result0, Tensor result1)  # The greatest elements of `output_size` windows, which lie as `random_samples` says, of the last two dimensions, and their places in these, counted as if they were one.
    fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> (Tensor result0, Tensor result1)  # The greatest elements of `output_size` windows, which lie as `random_samples` says, of the last three dimensions, and their places in these, counted as if they were one.
operator only:
    fractional_max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] output_size, Tensor indices) -> Tensor
    fractional_max_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] output_size, Tensor indices) -> Tensor
""")  # noqa: E501


def fractional_max_pool(dims: int) -> Callable[..., tuple[Spec, Spec]]:
    name = f"fractional_max_pool{dims}d"

    def meta(self: Tensor, kernel_size: Ints, output_size: Ints, random_samples: Any) -> tuple[Spec, Spec]:
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


def fractional_max_pooling(n: int) -> None:
    backward = registry[f"fractional_max_pool{n}d_backward"]
    operator(f"fractional_max_pool{n}d", fractional_max_pool(n), batching=by_sample if n == 2 else None,
             autocast="cpu float32", node=f"FractionalMaxPool{n}DBackward0", outputs=(0,),
             self=lambda grad, self, kernel_size, output_size, result1:
                 backward(grad, self, kernel_size, output_size, result1))
    operator(f"fractional_max_pool{n}d_backward", like_input, node=f"FractionalMaxPool{n}DBackwardBackward0",
             grad_output=chosen(n), self=zeros)


for n in (2, 3):
    fractional_max_pooling(n)


schemas("""
out, exact dtype, no overlap:
    max_unpool2d(Tensor self, Tensor indices, int[2] output_size) -> Tensor  # Zeros, with the elements of `self` at the places `indices` in the last two dimensions.
    max_unpool3d(Tensor self, Tensor indices, int[3] output_size, int[3] stride, int[3] padding) -> Tensor  # Zeros, with the elements of `self` at the places `indices` in the last three dimensions.
""")  # noqa: E501


def max_unpool(dims: int) -> Callable[..., Spec]:
    name = f"max_unpool{dims}d"

    def meta(self: Tensor, indices: Any, output_size: Ints, *settings: Ints) -> Spec:
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


for n in (2, 3):
    operator(f"max_unpool{n}d", max_unpool(n), batching=by_sample, autocast="cpu float32",
             node=f"MaxUnpool{n}DBackward0", self=chosen(n))
