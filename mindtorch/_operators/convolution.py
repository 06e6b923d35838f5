"""Convolutions, of one to three dimensions. ``input`` is (N, C, ...), or (C, ...) where an operator says so."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._backends.common.shapes import output_size
from .._base.call_site import warn_once
from .._base.errors import CPP_NAMES, NAMES, check, check_takes
from .._base.layout import Ints, Spec, suggested_order, suggested_strides
from .._dispatch.aten import (
    _convolution_mode as convolution_mode, constant_pad_nd as pad_constant, convolution, convolution_backward,
)
from .._dispatch.registry import Operator
from .._dtype import BOOL, FLOATING, bfloat16, float16, float32, int64
from .._tensor import Tensor
from .._transforms.batching.frames import Frame, filled, is_batched, lowered
from .._transforms.batching.rules import apart, beside, per_channel
from . import composites, operator, schemas

schemas("""
function:
    conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, int[1] padding=0, int[1] dilation=1, int groups=1) -> Tensor  # The sums of `input`, in windows of one dimension, times each filter of `weight`, plus `bias`; `input` may lack its batch dimension.
    conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, str padding="valid", int[1] dilation=1, int groups=1) -> Tensor
    conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] dilation=1, int groups=1) -> Tensor  # The sums of `input`, in windows of two dimensions, times each filter of `weight`, plus `bias`; `input` may lack its batch dimension.
    conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, str padding="valid", int[2] dilation=1, int groups=1) -> Tensor
    conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, int[3] padding=0, int[3] dilation=1, int groups=1) -> Tensor  # The sums of `input`, in windows of three dimensions, times each filter of `weight`, plus `bias`; `input` may lack its batch dimension.
    conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, str padding="valid", int[3] dilation=1, int groups=1) -> Tensor
    conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, int[1] padding=0, int[1] output_padding=0, int groups=1, int[1] dilation=1) -> Tensor  # What `conv1d` has as its gradient: each element of `input` times the filters of `weight`, added up where the windows lie, plus `bias`.
    conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] output_padding=0, int groups=1, int[2] dilation=1) -> Tensor  # What `conv2d` has as its gradient: each element of `input` times the filters of `weight`, added up where the windows lie, plus `bias`.
    conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, int[3] padding=0, int[3] output_padding=0, int groups=1, int[3] dilation=1) -> Tensor  # What `conv3d` has as its gradient: each element of `input` times the filters of `weight`, added up where the windows lie, plus `bias`.
""")  # noqa: E501


def batched(name: str, dims: int, input: Any, run: Callable[[Any], Any]) -> Any:
    """Call ``run`` on (N, C, ...), or on (C, ...) as a batch of one; RuntimeError for other dimensions."""
    if (ndim := input.ndim) == dims + 2:
        return run(input)
    check(ndim == dims + 1, lambda: unfit(name, dims, input))
    return run(input.unsqueeze(0)).squeeze(0)


def unfit(name: str, dims: int, input: Any) -> str:
    return (f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}")


def conv(dims: int) -> Callable[..., Any]:
    """``conv1d`` to ``conv3d``; the padding is one of numbers or the name of a mode."""
    ones, zeros = (1,) * dims, (0,) * dims

    def row(input: Any, weight: Any, bias: Any = None, stride: Ints = ones, padding: Ints | str = zeros,
            dilation: Ints = ones, groups: int = 1) -> Any:
        if (ndim := input.ndim) != dims + 2:
            check(ndim == dims + 1, lambda: unfit(f"conv{dims}d", dims, input))
            return row(input.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0)
        if padding.__class__ is str:
            return convolution_mode(input, weight, bias, stride, padding, dilation, groups)
        return convolution(input, weight, bias, stride, padding, dilation, False, zeros, groups)

    return row


def conv_transpose(dims: int) -> Callable[..., Any]:
    """``conv_transpose1d`` to ``conv_transpose3d``."""
    ones, zeros = (1,) * dims, (0,) * dims

    def row(input: Any, weight: Any, bias: Any = None, stride: Ints = ones, padding: Ints = zeros,
            output_padding: Ints = zeros, groups: int = 1, dilation: Ints = ones) -> Any:
        return batched(f"conv_transpose{dims}d", dims, input, lambda x:
                       convolution(x, weight, bias, stride, padding, dilation, True, output_padding, groups))

    return row


operator("conv1d conv1d.padding", composite=conv(1), autocast="lower")
operator("conv2d conv2d.padding", composite=conv(2), autocast="lower")
operator("conv3d conv3d.padding", composite=conv(3), autocast="lower")
operator("conv_transpose1d", composite=conv_transpose(1), autocast="lower")
operator("conv_transpose2d.input", composite=conv_transpose(2), autocast="lower")
operator("conv_transpose3d.input", composite=conv_transpose(3), autocast="lower")

schemas("""
function:
    convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor  # The convolution of `input` with `weight` in as many dimensions as `weight` has besides two, or the transposed one, plus `bias`.
    _convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor  # What `convolution` computes of `input` and `weight`; the last four settings are those of GPUs.
    _convolution_mode(Tensor input, Tensor weight, Tensor? bias, int[] stride, str padding, int[] dilation, int groups) -> Tensor  # What `convolution` computes of `input` and `weight`, with the padding 'valid' (none) or 'same' (as much as keeps the size).
operator only:
    convolution_backward(Tensor grad_output, Tensor input, Tensor weight, int[]? bias_sizes, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
    _convolution_double_backward(Tensor? ggI, Tensor? ggW, Tensor? ggb, Tensor gO, Tensor weight, Tensor self, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)  # The gradients of `convolution_backward` with respect to `gO`, `self` and `weight`, from those of its outputs.
""")  # noqa: E501


def expanded(values: Ints, name: str, dims: int) -> Ints:
    """Return a setting with one number for each spatial dimension."""
    check(len(values) in (1, dims),
          lambda: f"expected {name} to be a single integer value or a list of {dims} values to match the convolution "
                  f"dimensions, but got {name}={list(values)}")
    return values * dims if len(values) == 1 and dims != 1 else values


def check_settings(input: Any, weight: Any, bias_sizes: Any, stride: Ints, padding: Ints, dilation: Ints,
                   transposed: bool, output_padding: Ints, groups: int) -> None:
    """Check what ATen checks before it chooses an implementation (``check_shape_forward``)."""
    shape, filters = list(input.shape), list(weight.shape)
    ndim = len(filters)
    check(min(output_padding) >= 0, "negative output_padding is not supported")
    check(min(padding) >= 0, "negative padding is not supported")
    check(min(stride) > 0, "non-positive stride is not supported")
    check(min(dilation) > 0, "non-positive dilation is not supported")
    check(len(shape) == ndim,
          lambda: f"Expected {ndim}-dimensional input for {ndim}-dimensional weight {filters}, but got {len(shape)}-"
                  f"dimensional input of size {shape} instead")
    check(filters[0] >= groups,
          lambda: f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of "
                  f"size {filters} instead")
    check(filters[0] % groups == 0,
          lambda: f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight "
                  f"of size [{filters}] instead")
    given = f"transposed={int(transposed)}" if transposed else f"groups={groups}"
    channels = filters[0] if transposed else filters[1] * groups
    check(not transposed or filters[1] > 0,
          lambda: f"non-empty weight tensor expected, but got: {filters}")
    check(shape[1] == channels,
          lambda: f"Given {given}, weight of size {filters}, expected input{shape} to have {channels} channels, but "
                  f"got {shape[1]} channels instead")
    outputs = filters[1] * groups if transposed else filters[0]
    check(bias_sizes is None or list(bias_sizes) == [outputs],
          lambda: f"Given {'transposed=1' if transposed else f'weight of size {filters}'}"
                  f"{f', weight of size {filters}' if transposed else ''}, expected bias to be 1-dimensional with "
                  f"{outputs} elements, but got bias of size {list(bias_sizes)} instead")
    if transposed:
        check(all(o < s or o < d for o, s, d in zip(output_padding, stride, dilation, strict=True)),
              lambda: "output padding must be smaller than either stride or dilation, but got output_padding "
                      f"{list(output_padding)}, stride {list(stride)}, dilation {list(dilation)}")
        return
    padded = [n + 2 * p for n, p in zip(shape[2:], padding, strict=True)]
    reach = [d * (k - 1) + 1 for k, d in zip(filters[2:], dilation, strict=True)]
    check(min(reach) > 0, lambda: f"kernel size should be greater than zero, but got weight of size {filters}")
    check(all(n >= r for n, r in zip(padded, reach, strict=True)),
          lambda: f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
                  f"({' x '.join(map(str, reach))}). Kernel size can't be greater than actual input size")


def check_dtypes(input: Any, weight: Any, bias: Any, transposed: bool) -> None:
    """One dtype, which the kernels take."""
    dtype, dims = input._dtype, weight.ndim - 2
    given = CPP_NAMES[dtype.name]
    if transposed:
        check_takes(dtype.category >= FLOATING or dtype is int64, f"slow_conv_transpose{max(dims, 2)}d_out_cpu", dtype)
    else:
        check(bias is None or bias._dtype is dtype,
              lambda: f"Input type ({given}) and bias type ({CPP_NAMES[bias._dtype.name]}) should be the same",
              kind="convolution dtypes")
    other = next((t._dtype for t in (weight, bias) if t is not None and t._dtype is not dtype), dtype)
    check(other is dtype, lambda: f"expected scalar type {NAMES[dtype.name]} but found {NAMES[other.name]}",
          kind="convolution dtypes")
    check_takes(dtype.category != BOOL, "compute_columns3d" if dims == 3 else "slow_conv2d_cpu", dtype)


def in_channels_last(shape: Ints, *tensors: Any) -> Ints | None:
    """Return an output's strides: channels-last like an operand, save where ATen's 3d kernels lack it."""
    if len(shape) == 5 and tensors[0]._dtype not in (float32, bfloat16, float16):
        return None
    orders = (suggested_order(tuple(t.shape), t._strides()) for t in tensors)
    return suggested_strides(shape, next((order for order in orders if order is not None), None))


def meta_convolution(input: Any, weight: Any, bias: Any, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
                     output_padding: Ints, groups: int) -> Spec:
    dims = weight.ndim - 2
    check(dims > 0, "weight should have at least three dimensions")
    check(groups > 0, "non-positive groups is not supported")
    stride, padding, dilation, output_padding = (
        expanded(values, name, dims) for name, values in (
            ("stride", stride), ("padding", padding), ("dilation", dilation), ("output_padding", output_padding)))
    check_settings(input, weight, None if bias is None else bias.shape, stride, padding, dilation, transposed,
                   output_padding, groups)
    check_dtypes(input, weight, bias, transposed)
    size = tuple(input.shape[2:])
    out = output_size(size, tuple(weight.shape[2:]), stride, padding, dilation, transposed, output_padding)
    check(min(out) >= 0 and (min(out) or not transposed),
          lambda: f"Given input size per channel: {size}. Calculated output size per channel: {out}. Output size is "
                  "too small")
    channels = weight.shape[1] * groups if transposed else weight.shape[0] if input.shape[1] else 0
    shape = (input.shape[0], channels, *out)
    return Spec(shape, input._dtype, in_channels_last(shape, input, weight))


def meta_convolution_backward(grad_output: Any, input: Any, weight: Any, bias_sizes: Any, stride: Ints, padding: Ints,
                              dilation: Ints, transposed: bool, output_padding: Ints, groups: int,
                              output_mask: Any) -> tuple[Spec | None, ...]:
    out = meta_convolution(input, weight, None, stride, padding, dilation, transposed, output_padding, groups)
    check(tuple(grad_output.shape) == out.shape,
          lambda: f"Mismatch in shape: grad_output has a shape of {list(grad_output.shape)} and the output of the "
                  f"convolution one of {list(out.shape or ())}")
    dtype = grad_output._dtype
    specs = [Spec(tuple(t.shape), dtype, in_channels_last(tuple(t.shape), input, weight)) for t in (input, weight)]
    specs.append(Spec(tuple(bias_sizes or (grad_output.shape[1],)), dtype))
    return tuple(spec if wanted else None for spec, wanted in zip(specs, output_mask, strict=True))


def _convolution_mode(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: str, dilation: Ints,
                      groups: int) -> Tensor:
    """Convolve with the padding 'valid' or 'same'; RuntimeError for others, and strides with 'same'."""
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


def _convolution_double_backward(ggI: Any, ggW: Any, ggb: Any, gO: Any, weight: Any, self: Any, stride: Ints,
                                 padding: Ints, dilation: Ints, transposed: bool, output_padding: Ints, groups: int,
                                 output_mask: Ints) -> tuple[Any, ...]:
    """Return the derivative of ``convolution_backward``; as PyTorch's, it ignores ``output_mask``."""
    return double_grads((ggI, ggW, ggb), gO, self, weight, stride, padding, dilation, transposed, output_padding,
                        groups)


def convolution_grads(grad: Tensor, input: Any, weight: Any, bias_shape: Any, stride: Any, padding: Any, dilation: Any,
                      transposed: bool, output_padding: Any, groups: int, output_mask: Any) -> Any:
    return convolution_backward(grad, input, weight, bias_shape, stride, padding, dilation, transposed, output_padding,
                                groups, output_mask)


def total(terms: list[Any]) -> Any:
    """Return the sum of the terms that are not None; None without any."""
    found = None
    for term in terms:
        if term is not None:
            found = term if found is None else found + term
    return found


def double_grads(grads: Any, grad_output: Tensor, input: Any, weight: Any, stride: Any, padding: Any, dilation: Any,
                 transposed: bool, output_padding: Any, groups: int) -> tuple[Any, ...]:
    """Return the gradients of ``convolution_backward``, each of whose outputs is linear in two inputs."""
    of_input, of_weight, of_bias = grads
    settings = stride, padding, dilation, transposed, output_padding, groups
    of_grad, to_input, to_weight = [], None, None
    if of_input is not None:
        of_grad.append(convolution(of_input, weight, None, *settings))
        to_weight = convolution_backward(grad_output, of_input, weight, None, *settings, (False, True, False))[1]
    if of_weight is not None:
        of_grad.append(convolution(input, of_weight, None, *settings))
        to_input = convolution_backward(grad_output, input, of_weight, None, *settings, (True, False, False))[0]
    if of_bias is not None:
        of_grad.append(of_bias.reshape([-1 if d == 1 else 1 for d in range(grad_output.ndim)])
                       .expand(grad_output.shape))
    return total(of_grad), to_input, to_weight


def convolution_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """With one weight for all, the elements are samples alike; weights of their own make groups of channels."""
    input, weight, bias, *settings, groups = args
    if is_batched(bias, frame) and not is_batched(weight, frame):
        out = op.call(input, weight, None, *settings, groups)
        return lowered(out + per_channel(bias, input.ndim), frame)
    if not is_batched(weight, frame):
        whole = lowered(input, frame)
        out = op.call(whole.flatten(0, 1), weight, bias, *settings, groups)
        return out.unflatten(0, (frame.size, input.shape[0]))
    offset = None if bias is None else filled(bias, frame).flatten()
    weights = lowered(weight, frame).flatten(0, 1)
    if groups == 1 and not is_batched(input, frame) and not settings[3]:
        return apart(op.call(input, weights, offset, *settings, 1), frame)
    return apart(op.call(beside(input, frame), weights, offset, *settings, groups * frame.size), frame)


def convolution_backward_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Return the three gradients. Weights that differ between elements are groups of channels."""
    grad, input, weight, _, *settings, groups, wanted = args
    of_bias = filled(grad.sum([d for d in range(grad.ndim) if d != 1]), frame) if wanted[2] else None
    if not is_batched(weight, frame) and not wanted[1]:
        of_input = op.call(filled(grad, frame).flatten(0, 1), filled(input, frame).flatten(0, 1), weight,
                                        None, *settings, groups, [True, False, False])[0] if wanted[0] else None
        return None if of_input is None else of_input.unflatten(0, (frame.size, input.shape[0])), None, of_bias
    of_input, of_weight, _ = op.call(
        beside(grad, frame), beside(input, frame), filled(weight, frame).flatten(0, 1), None, *settings,
        groups * frame.size, [*wanted[:2], False])
    return (None if of_input is None else apart(of_input, frame),
            None if of_weight is None else of_weight.unflatten(0, (frame.size, weight.shape[0])), of_bias)


composites(_convolution_mode, _convolution_double_backward)
operator("convolution", meta_convolution, batching=convolution_batch_rule, autocast="npu lower",
         jointly={"input, weight, bias": convolution_grads})
operator("_convolution", composite=_convolution, autocast="lower")
operator("convolution_backward", meta_convolution_backward, batching=convolution_backward_batch_rule,
         jointly={"grad_output, input, weight": double_grads})

schemas("""
function:
    conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor  # The convolution along the first dimension of `self` (time, batch, channels) with `weight` (time, channels in, channels out), plus `bias`.
""")  # noqa: E501


def conv_tbc(self: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """``torch.conv_tbc``: (time, batch, channels) by (time, channels in, out); RuntimeError if they do not fit."""
    check(self.dim() == 3, "Input must have 3 dims: time, batch, in_channel")
    check(weight.dim() == 3, "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    check(bias.dim() == 1, "Bias must be 1-D")
    check(self.shape[2] == weight.shape[1], "Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    check(weight.shape[2] == bias.shape[0], "Bias size must equal dim 2 in the weight tensor (output channels).")
    made = convolution(self.permute(1, 2, 0), weight.permute(2, 1, 0), bias, (1,), (pad,), (1,), False, (0,), 1)
    return made.permute(2, 0, 1).contiguous()


operator("conv_tbc", composite=conv_tbc, autocast="lower")
