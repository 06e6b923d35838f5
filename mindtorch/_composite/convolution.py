"""Convolutions as users call them: an input without its batch, padding by name, what is transposed."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._autograd.derivatives.convolution import double_grads
from .._base.errors import check
from .._base.layout import Ints
from .._base.warnings import warn_once
from .._dispatch.aten import _convolution_mode as convolution_mode, constant_pad_nd as pad_constant, convolution
from . import COMPOSITES


def batched(name: str, dims: int, input: Any, run: Callable[[Any], Any]) -> Any:
    """What ``run`` makes of an input (N, C, ...), or of (C, ...) with a batch of one.

    Raises:
        RuntimeError: for another number of dimensions.
    """
    check(input.dim() in (dims + 1, dims + 2),
          lambda: f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
                  f"{list(input.shape)}")
    return run(input) if input.dim() == dims + 2 else run(input.unsqueeze(0)).squeeze(0)


def conv(dims: int) -> Callable[..., Any]:
    """``conv1d`` to ``conv3d``; the padding is one of numbers or the name of a mode."""
    ones, zeros = (1,) * dims, (0,) * dims

    def row(input: Any, weight: Any, bias: Any = None, stride: Ints = ones, padding: Ints | str = zeros,
            dilation: Ints = ones, groups: int = 1) -> Any:
        if isinstance(padding, str):
            return batched(f"conv{dims}d", dims, input, lambda x:
                           convolution_mode(x, weight, bias, stride, padding, dilation, groups))
        return batched(f"conv{dims}d", dims, input, lambda x:
                       convolution(x, weight, bias, stride, padding, dilation, False, zeros, groups))

    return row


def conv_transpose(dims: int) -> Callable[..., Any]:
    """``conv_transpose1d`` to ``conv_transpose3d``."""
    ones, zeros = (1,) * dims, (0,) * dims

    def row(input: Any, weight: Any, bias: Any = None, stride: Ints = ones, padding: Ints = zeros,
            output_padding: Ints = zeros, groups: int = 1, dilation: Ints = ones) -> Any:
        return batched(f"conv_transpose{dims}d", dims, input, lambda x:
                       convolution(x, weight, bias, stride, padding, dilation, True, output_padding, groups))

    return row


def _convolution_mode(input: Any, weight: Any, bias: Any, stride: Ints, padding: str, dilation: Ints,
                      groups: int) -> Any:
    """A convolution padded by nothing ('valid'), or so that the size stays the same ('same').

    Raises:
        RuntimeError: for another padding, or a stride with 'same'.
    """
    dims = weight.dim() - 2
    check(padding in ("same", "valid"), lambda: f"Invalid padding string: '{padding}'")
    zeros = (0,) * dims
    if padding == "valid":
        return convolution(input, weight, bias, stride, zeros, dilation, False, zeros, groups)
    check(input.dim() == weight.dim(),
          lambda: f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional weight "
                  f"{list(weight.shape)}, but got {input.dim()}-dimensional input of size {list(input.shape)} instead")
    check(set(stride) == {1}, "padding='same' is not supported for strided convolutions")
    spread = dilation * dims if len(dilation) == 1 else dilation
    totals = [d * (k - 1) for d, k in zip(spread, weight.shape[2:], strict=True)]
    odd = [total % 2 for total in totals]
    if any(odd):  # one element more behind than before
        warn_once("Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of "
                  "the input be created")
        input = pad_constant(input, tuple(n for more in reversed(odd) for n in (0, more)), 0)
    return convolution(input, weight, bias, stride, tuple(total // 2 for total in totals), dilation, False, zeros,
                       groups)


def _convolution(input: Any, weight: Any, bias: Any, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
                 output_padding: Ints, groups: int, *settings: bool) -> Any:
    return convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def conv_tbc(self: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    """``torch.conv_tbc``: (time, batch, channels) with (time, channels in, channels out).

    Raises:
        RuntimeError: if the numbers of dimensions or the channels do not fit together.
    """
    check(self.dim() == 3, "Input must have 3 dims: time, batch, in_channel")
    check(weight.dim() == 3, "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    check(bias.dim() == 1, "Bias must be 1-D")
    check(self.shape[2] == weight.shape[1], "Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    check(weight.shape[2] == bias.shape[0], "Bias size must equal dim 2 in the weight tensor (output channels).")
    made = convolution(self.permute(1, 2, 0), weight.permute(2, 1, 0), bias, (1,), (pad,), (1,), False, (0,), 1)
    return made.permute(2, 0, 1).contiguous()


def _convolution_double_backward(ggI: Any, ggW: Any, ggb: Any, gO: Any, weight: Any, self: Any, stride: Ints,
                                 padding: Ints, dilation: Ints, transposed: bool, output_padding: Ints, groups: int,
                                 output_mask: Ints) -> tuple[Any, ...]:
    """The derivative of ``convolution_backward`` as an operator of its own, which does not look at ``output_mask``, as
    PyTorch's does not.
    """
    return double_grads((ggI, ggW, ggb), gO, self, weight, stride, padding, dilation, transposed, output_padding,
                        groups)


COMPOSITES.add(_convolution, _convolution_mode, _convolution_double_backward, conv_tbc)
COMPOSITES.update({
    **{f"conv{n}d{overload}": conv(n) for n in (1, 2, 3) for overload in ("", ".padding")},
    "conv_transpose1d": conv_transpose(1),
    "conv_transpose2d.input": conv_transpose(2),
    "conv_transpose3d.input": conv_transpose(3),
})
