"""Padding, shuffling between channels and pixels, and sliding windows of images."""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from .._base.errors import check, check_takes
from .._base.layout import Ints, suggested_order, suggested_strides, wrap_dim
from .._dispatch.aten import (
    _pad_circular as circular_pad, _unsafe_view, add_, channel_shuffle, clone, col2im, constant_pad_nd,
    constant_pad_nd as pad_constant, copy_, fill__Scalar as fill_, flatten_using_ints as flatten, index_add_,
    index_select, narrow, pixel_shuffle, pixel_unshuffle, slice_Tensor as slice_,
)
from .._dispatch.keys import META
from .._dispatch.schemas import registry
from .._dtype import bool_
from .._tensor import Tensor
from . import composites, operator, schemas
from .creation import fresh, new_empty_strided
from .shape import arange


def like_format(self: Tensor, shape: Ints) -> Any:
    """Return new memory of a shape, in the memory format that a tensor suggests."""
    stride = suggested_strides(shape, suggested_order(tuple(self.shape), self._strides()))
    return self.new_empty(shape) if stride is None else new_empty_strided(self, shape, stride)


def padded_dims(pad: Ints, ndim: int) -> list[tuple[int, int, int]]:
    """Return the dimensions that are padded, the last one first, each with its padding before and after."""
    return list(zip(range(ndim - 1, -1, -1), pad[::2], pad[1::2], strict=False))


def pad(self: Any, pad: Ints, mode: str = "constant", value: float | None = None) -> Any:
    """``nn.functional.pad``: constant, reflect, replicate or circular. Raises NotImplementedError for another mode, or
    numbers of dimensions and paddings that no mode knows, and RuntimeError for an odd or too long padding, or a value
    with a mode that takes none.
    """
    check(len(pad) % 2 == 0, "Padding length must be divisible by 2")
    check(len(pad) <= 2 * self.dim(), lambda: "Padding length should be less than or equal to two times the input "
          f"dimension but got padding length {len(pad)} and input of dimension {self.dim()}")
    if mode == "constant":
        return pad_constant(self, pad, 0 if value is None else value)
    check(value is None or value == 0, lambda: f'Padding mode "{mode}" doesn\'t take in value argument')
    check(mode in ("reflect", "replicate", "circular"),
          lambda: f"Unrecognised padding mode {mode}", NotImplementedError)
    count = len(pad) // 2
    if mode == "circular":
        return circular_pad(self, pad)
    check(len(pad) in (2, 4, 6) and self.dim() in (count + 1, count + 2),
          lambda: f"Padding size {len(pad)} is not supported for {self.dim()}D input tensor.", NotImplementedError)
    return registry[f"{'reflection' if mode == 'reflect' else 'replication'}_pad{count}d"].call(self, pad)


def pad_derivatives(name: str, node: str) -> None:
    """Describe the derivatives of a padding and of its backward."""
    forward, backward = registry[name], registry[f"{name}_backward"]
    operator(name, node=f"{node}Backward0", self=lambda grad, self, padding: backward(grad, self, padding))
    operator(f"{name}_backward", node=f"{node}BackwardBackward0",
             grad_output=lambda grad, padding: forward(grad, padding),
             self=lambda grad, self_shape: grad.new_zeros(self_shape))


schemas("""
operator only:
    reflection_pad1d(Tensor self, int[2] padding) -> Tensor  # `self` with `padding` elements added before and after its last dimension that mirror it at its edges.
    reflection_pad1d_backward(Tensor grad_output, Tensor self, int[2] padding) -> Tensor
    reflection_pad2d(Tensor self, int[4] padding) -> Tensor  # `self` with `padding` elements added around its last two dimensions that mirror it at its edges.
    reflection_pad2d_backward(Tensor grad_output, Tensor self, int[4] padding) -> Tensor
    reflection_pad3d(Tensor self, int[6] padding) -> Tensor  # `self` with `padding` elements added around its last three dimensions that mirror it at its edges.
    reflection_pad3d_backward(Tensor grad_output, Tensor self, int[6] padding) -> Tensor
    replication_pad1d(Tensor self, int[2] padding) -> Tensor  # `self` with `padding` copies of its first and last element added along its last dimension.
    replication_pad1d_backward(Tensor grad_output, Tensor self, int[2] padding) -> Tensor
    replication_pad2d(Tensor self, int[4] padding) -> Tensor  # `self` with `padding` copies of its edges added around its last two dimensions.
    replication_pad2d_backward(Tensor grad_output, Tensor self, int[4] padding) -> Tensor
    replication_pad3d(Tensor self, int[6] padding) -> Tensor  # `self` with `padding` copies of its edges added around its last three dimensions.
    replication_pad3d_backward(Tensor grad_output, Tensor self, int[6] padding) -> Tensor
    _pad_circular(Tensor self, int[] pad) -> Tensor  # `self` with elements from its other end added around it: `pad` counts those before and after, for the last dimension first.
    pad(Tensor self, int[] pad, str mode="constant", float? value=None) -> Tensor  # `self` with elements added around it, as `mode` says: `pad` counts those before and after, for the last dimension first.
""")  # noqa: E501

Row = Callable[..., Any]


def reflected(self: Tensor, size: int, before: int, after: int) -> Any:
    """Return the index at each place of a dimension that is padded with its reflection."""
    return (size - 1) - ((size - 1) - arange(self, -before, size + after).abs()).abs()


def replicated(self: Tensor, size: int, before: int, after: int) -> Any:
    """Return the index at each place of a dimension that is padded with its ends."""
    return arange(self, -before, size + after).clamp(0, size - 1)


def check_padding(self: Tensor, padding: Ints, reflects: bool) -> None:
    """Refuse what the ``reflection_pad`` and ``replication_pad`` operators refuse."""
    count = len(padding) // 2
    shape, ndim = list(self.shape), self.dim()
    check(ndim in (count + 1, count + 2) and all(n for n in shape[-count - 1:]),
          lambda: f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other "
                  f"non-zero dimensions for input, but got: {shape}")
    for dim, before, after in padded_dims(padding, ndim):
        name, size = "WHD"[ndim - 1 - dim], shape[dim]
        if reflects and (before >= size or after >= size):
            raise RuntimeError("Argument #4: Padding size should be less than the corresponding input dimension, but "
                               f"got: padding ({before}, {after}) at dimension {dim} of input {shape}")
        if size + before + after < 1:
            raise RuntimeError(f"input ({name}: {size}) is too small. Calculated output {name}: "
                               f"{size + before + after}")


def padded_places(places: Callable[..., Any], self: Tensor, padding: Ints) -> tuple[Ints, Any]:
    """Return the padded shape, and for each of its places (of the padded dimensions, flat) the place in the input."""
    shape, flat = list(self.shape), None
    for dim, before, after in reversed(padded_dims(padding, len(shape))):  # the outermost dimension first
        size = shape[dim]
        at = places(self, size, before, after)
        flat = at if flat is None else (flat.unsqueeze(-1) * size + at).reshape(-1)
        shape[dim] = size + before + after
    return tuple(shape), flat


def indexed_pad(places: Callable[..., Any], reflects: bool) -> Row:
    """Return a padding that repeats elements: ``places`` maps each place to an element."""

    def row(self: Tensor, padding: Ints) -> Any:
        check_padding(self, padding, reflects)
        if self._dtype is bool_ and not self._keys & META:
            last = "_channels_last" if suggested_order(tuple(self.shape), self._strides()) else ""
            check_takes(False, f"{'reflection' if reflects else 'replication'}_pad{len(padding) // 2}d{last}", bool_)
        shape, at = padded_places(places, self, padding)
        chosen = index_select(flatten(self, -(len(padding) // 2), -1), -1, at)
        return fresh(copy_(like_format(self, shape), chosen.view(shape)))

    return row


def indexed_pad_backward(places: Callable[..., Any]) -> Row:
    """Return the gradient of an indexed padding: an element gets the gradients of all its copies."""

    def row(grad_output: Tensor, self: Tensor, padding: Ints) -> Any:
        _, at = padded_places(places, self, padding)
        inner, shape = -(len(padding) // 2), tuple(self.shape)
        grad = flatten(grad_output, inner, -1)
        out = flatten(grad_output.new_zeros(shape), inner, -1)
        result = _unsafe_view(index_add_(out, out.dim() - 1, at, grad), shape)
        return fresh(copy_(like_format(self, shape), result) if suggested_order(shape, self._strides()) else result)

    return row


def _pad_circular(self: Tensor, pad: Ints) -> Tensor:
    """``nn.functional.pad`` in circular mode: ends go on at the other end. Raises RuntimeError for longer padding."""
    ndim = self.dim()
    count = len(pad) // 2
    check((len(pad) % 2 == 0 and count + 2 == ndim) or count + 1 == ndim,
          lambda: f"Invalid padding size, expected {2 * (ndim - 2)} but got {len(pad)}")
    shape, dims = list(self.shape), padded_dims(pad, ndim)
    for dim, before, after in dims:
        check(before <= shape[dim] and after <= shape[dim], "Padding value causes wrapping around more than once.")
        size = shape[dim] + before + after
        check(size >= 0, "Negative padding value is resulting in an empty dimension")
        shape[dim] = size
    out = self.new_empty(shape)
    middle, inner = out, self
    for dim, before, after in dims:
        middle = slice_(middle, dim, max(before, 0), shape[dim] - max(after, 0))
        inner = slice_(inner, dim, max(-before, 0), self.shape[dim] - max(-after, 0))
    copy_(middle, inner)
    for i, (dim, before, after) in enumerate(dims):
        start, end, written = max(before, 0), shape[dim] - max(after, 0), out
        for other, first, last in dims[i + 1:]:  # beyond the middle of these, nothing is written yet
            written = slice_(written, other, max(first, 0), shape[other] - max(last, 0))
        if before > 0:
            copy_(slice_(written, dim, 0, before), slice_(written, dim, end - before, end))
        if after > 0:
            copy_(slice_(written, dim, end, end + after), slice_(written, dim, start, start + after))
    return out


composites(_pad_circular, pad)
operator("reflection_pad1d reflection_pad2d", composite=indexed_pad(reflected, True), autocast="cpu float32")
operator("reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward",
         composite=indexed_pad_backward(reflected))
operator("reflection_pad3d", composite=indexed_pad(reflected, True))
operator("replication_pad1d replication_pad2d replication_pad3d", composite=indexed_pad(replicated, False),
         autocast="cpu float32")
operator("replication_pad1d_backward replication_pad2d_backward replication_pad3d_backward",
         composite=indexed_pad_backward(replicated))

schemas("""
operator only:
    im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor  # The patches of size `kernel_size` of the images `self`, each as a column.
    col2im(Tensor self, int[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor  # The images of size `output_size` in which the columns of `self` are added up as patches of size `kernel_size`.
function:
    constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor  # `self` with `value` added around it: `pad` counts the elements before and after, for the last dimension first.
""")  # noqa: E501


def composite_constant_pad_nd(self: Any, pad: Ints, value: Any = 0) -> Any:
    """``nn.functional.pad`` with a number; negative padding cuts. Raises RuntimeError for odd or too long padding."""
    ndim = self.dim()
    check(len(pad) % 2 == 0, lambda: f"Length of pad must be even but instead it equals {len(pad)}")
    check(2 * ndim >= len(pad), lambda: "Length of pad should be no more than twice the number of dimensions of the "
          f"input. Pad length is {len(pad)} while the input has {ndim} dimensions.")
    inner = self
    for dim, before, after in padded_dims(pad, ndim):
        if before < 0:
            inner = narrow(inner, dim, -before, inner.shape[dim] + before)
        if after < 0:
            inner = narrow(inner, dim, 0, inner.shape[dim] + after)
    if all(n <= 0 for n in pad):
        return clone(inner)
    shape = list(self.shape)
    for dim, before, after in padded_dims(pad, ndim):
        size = shape[dim] + before + after
        if size < 0:
            raise RuntimeError(f"The input size {shape[dim]}, plus negative padding {before} and {after} resulted in a "
                               f"negative output size, which is invalid. Check dimension {dim} of your input.")
        shape[dim] = size
    out = like_format(self, tuple(shape))
    fill_(out, value)
    middle = out
    for dim, before, after in padded_dims(pad, ndim):
        before, after = max(before, 0), max(after, 0)
        middle = narrow(middle, dim, before, middle.shape[dim] - before - after)
    copy_(middle, inner)
    return fresh(out)


def block_counts(size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Ints:
    """Count the windows along each of two dimensions."""
    return tuple((size[d] + 2 * padding[d] - dilation[d] * (kernel_size[d] - 1) - 1) // stride[d] + 1 for d in (0, 1))


def check_windows(kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> None:
    for name, values in (("kernel size", kernel_size), ("dilation", dilation), ("stride", stride)):
        if min(values) <= 0:
            raise RuntimeError(f"{name} should be greater than zero, but got {' x '.join(map(str, values))}")
    check(min(padding) >= 0, lambda: f"padding should be non-negative, but got {' x '.join(map(str, padding))}")


def im2col(self: Tensor, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Tensor:
    """``nn.functional.unfold``: the windows of images as columns: ``(N, C, H, W)`` to ``(N, C kh kw, L)``. Raises
    IndexError if there are fewer than three dimensions, and RuntimeError if the sizes are not positive, or no window
    fits.
    """
    check_windows(kernel_size, dilation, padding, stride)
    for dim in (1, 2):
        wrap_dim(dim, self.dim())
    check(self.dim() in (3, 4) and all(self.shape[-3:]), lambda: "Expected 3D or 4D (batch mode) tensor with possibly "
          f"0 batch size and other non-zero dimensions for input, but got: {list(self.shape)}")
    rows, columns = block_counts(tuple(self.shape[-2:]), kernel_size, dilation, padding, stride)
    check(rows > 0 and columns > 0, lambda: f"Given input with spatial size {tuple(self.shape[-2:])}, "
          f"kernel_size={tuple(kernel_size)}, dilation={tuple(dilation)}, padding={tuple(padding)}, calculated shape "
          f"of the array of sliding blocks as ({rows}, {columns}), but its components must be at least one.")
    wide = composite_constant_pad_nd(self.contiguous(), (padding[1], padding[1], padding[0], padding[0]))
    *batch, channels, _, _ = self.shape
    outer, (down, across) = wide._strides()[:-2], wide._strides()[-2:]
    windows = wide.as_strided((*batch, channels, *kernel_size, rows, columns),
                              (*outer, down * dilation[0], across * dilation[1], down * stride[0], across * stride[1]))
    return _unsafe_view(clone(windows, "contiguous_format"), (*batch, channels * prod(kernel_size), rows * columns))


def composite_col2im(self: Any, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride:
                     Ints) -> Any:
    """``nn.functional.fold``: ``unfold``'s columns added up in images. Raises RuntimeError if sizes do not fit."""
    check_windows(kernel_size, dilation, padding, stride)
    check(self.dim() in (2, 3) and all(self.shape[-2:]), lambda: "Expected 2D or 3D (batch mode) tensor for input with "
          f"possibly 0 batch size and non-zero dimensions for input, but got: {list(self.shape)}")
    *batch, planes, blocks = self.shape
    check(planes % prod(kernel_size) == 0, lambda: "Expected size of input's dimension 1 to be divisible by the "
          f"product of kernel_size, but got input.size(1)={planes} and kernel_size={tuple(kernel_size)}.")
    rows, columns = block_counts(output_size, kernel_size, dilation, padding, stride)
    settings = (f"output_size={tuple(output_size)}, kernel_size={tuple(kernel_size)}, dilation={tuple(dilation)}, "
                f"padding={tuple(padding)}, stride={tuple(stride)}")
    check(rows > 0 and columns > 0, lambda: f"Given {settings}, calculated shape of the array of sliding blocks as "
                                            f"({rows}, {columns}), which is too small (non-positive)")
    check(blocks == rows * columns,
          lambda: f"Given {settings}, expected size of input's dimension 2 to match the calculated number of sliding "
                  f"blocks {rows} * {columns} = {rows * columns}, but got input.size(2)={blocks}.")
    channels = planes // prod(kernel_size)
    wide = self.new_zeros((*batch, channels, output_size[0] + 2 * padding[0], output_size[1] + 2 * padding[1]))
    windows = self.reshape((*batch, channels, *kernel_size, rows, columns))
    for i in range(kernel_size[0]):
        for j in range(kernel_size[1]):
            top, left = i * dilation[0], j * dilation[1]
            place = slice_(slice_(wide, -2, top, top + rows * stride[0], stride[0]), -1, left,
                           left + columns * stride[1], stride[1])
            add_(place, windows.select(-4, i).select(-3, j))
    return composite_constant_pad_nd(wide, (-padding[1], -padding[1], -padding[0], -padding[0]))


operator("im2col", composite=im2col, node="Im2ColBackward0",
         self=lambda grad, self_shape, kernel_size, dilation, padding, stride:
             col2im(grad, tuple(self_shape[-2:]), kernel_size, dilation, padding, stride))
operator("col2im", composite=composite_col2im, node="Col2ImBackward0", self=registry["im2col"])
operator("constant_pad_nd", composite=composite_constant_pad_nd,
         self=lambda grad, pad: constant_pad_nd(grad, tuple(-n for n in pad)))

schemas("""
function:
    pixel_shuffle(Tensor self, int upscale_factor) -> Tensor  # `self` with its channels, `upscale_factor` squared at a time, laid out as squares of pixels.
    pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor  # `self` with its squares of `downscale_factor` by `downscale_factor` pixels laid out as channels.
    channel_shuffle(Tensor self, int groups) -> Tensor  # `self` with its channels, in `groups` groups, taken from each group in turn.
function, explicit:
    native_channel_shuffle(Tensor self, int groups) -> Tensor  # `self` with its channels, in `groups` groups, taken from each group in turn; another name for `channel_shuffle`.
""")  # noqa: E501


def reordered(self: Tensor, split: Ints, order: Ints, shape: Ints) -> Any:
    """Return a copy with the dimensions split, permuted and joined, in the memory format that the tensor suggests."""
    return fresh(copy_(like_format(self, shape), self.reshape(split).permute(order).reshape(shape)))


def check_images(function: str, self: Tensor, name: str, factor: int) -> None:
    check(self.dim() >= 3, lambda: f"{function} expects input to have at least 3 dimensions, but got input with "
          f"{self.dim()} dimension(s)")
    check(factor > 0, lambda: f"{function} expects a positive {name}, but got {factor}")


def composite_pixel_shuffle(self: Any, upscale_factor: int) -> Any:
    """``torch.pixel_shuffle``: ``(*, C r^2, H, W)`` to ``(*, C, H r, W r)``, or RuntimeError."""
    r = upscale_factor
    check(r * r < 2**63, lambda: f"upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor={r}",
          ValueError)
    check_images("pixel_shuffle", self, "upscale_factor", r)
    *batch, channels, height, width = self.shape
    check(channels % (r * r) == 0, lambda: "pixel_shuffle expects its input's 'channel' dimension to be divisible by "
          f"the square of upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}")
    n = len(batch)
    return reordered(self, (*batch, channels // (r * r), r, r, height, width),
                     (*range(n), n, n + 3, n + 1, n + 4, n + 2), (*batch, channels // (r * r), height * r, width * r))


def composite_pixel_unshuffle(self: Any, downscale_factor: int) -> Any:
    """``torch.pixel_unshuffle``: ``(*, C, H r, W r)`` to ``(*, C r^2, H, W)``, or RuntimeError."""
    r = downscale_factor
    check_images("pixel_unshuffle", self, "downscale_factor", r)
    *batch, channels, height, width = self.shape
    for name, size, dim in (("height", height, -2), ("width", width, -1)):
        if size % r != 0:
            raise RuntimeError(f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                               f"input.size({dim})={size} is not divisible by {r}")
    n = len(batch)
    return reordered(self, (*batch, channels, height // r, r, width // r, r),
                     (*range(n), n, n + 2, n + 4, n + 1, n + 3), (*batch, channels * r * r, height // r, width // r))


def composite_channel_shuffle(self: Any, groups: int) -> Any:
    """``torch.channel_shuffle``: all groups' channels in turn. Raises RuntimeError unless the groups divide them."""
    check(self.dim() > 2,
          lambda: f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self.shape)}")
    channels = self.shape[1]
    check(groups > 0, lambda: f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    check(channels % groups == 0,
          lambda: f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups.")
    batch, _, *rest = self.shape
    return reordered(self, (batch, groups, channels // groups, *rest), (0, 2, 1, *range(3, 3 + len(rest))),
                     tuple(self.shape))


operator("pixel_shuffle", composite=composite_pixel_shuffle,
         self=lambda grad, upscale_factor: pixel_unshuffle(grad, upscale_factor))
operator("pixel_unshuffle", composite=composite_pixel_unshuffle,
         self=lambda grad, downscale_factor: pixel_shuffle(grad, downscale_factor))
operator("channel_shuffle", composite=composite_channel_shuffle,
         self=lambda grad, groups: channel_shuffle(grad, grad.shape[1] // groups))
operator("native_channel_shuffle", composite=composite_channel_shuffle)

for _kind, _node in (("reflection", "Reflection"), ("replication", "Replication")):
    for _n in (1, 2, 3):
        pad_derivatives(f"{_kind}_pad{_n}d", f"{_node}Pad{_n}D")
