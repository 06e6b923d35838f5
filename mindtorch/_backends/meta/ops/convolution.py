"""Meta kernels of convolutions."""
from __future__ import annotations

from typing import Any

from ...._base.errors import CPP_NAMES, NAMES, check, check_takes
from ...._base.layout import Ints, Spec, suggested_order, suggested_strides
from ...._dtype import BOOL, FLOATING, bfloat16, float16, float32, int64
from . import META_KERNELS


def expanded(values: Ints, name: str, dims: int) -> Ints:
    """A setting with one number for each spatial dimension."""
    check(len(values) in (1, dims),
          lambda: f"expected {name} to be a single integer value or a list of {dims} values to match the convolution "
                  f"dimensions, but got {name}={list(values)}")
    return values * dims if len(values) == 1 and dims != 1 else values


def check_settings(input: Any, weight: Any, bias_sizes: Any, stride: Ints, padding: Ints, dilation: Ints,
                   transposed: bool, output_padding: Ints, groups: int) -> None:
    """What ATen checks before it chooses an implementation (``check_shape_forward``)."""
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


def output_size(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
                output_padding: Ints) -> Ints:
    """The spatial dimensions of a convolution's output."""
    settings = zip(size, kernel, stride, padding, dilation, output_padding, strict=True)
    if transposed:
        return tuple((n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, k, s, p, d, o in settings)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d, _ in settings)


def in_channels_last(shape: Ints, *tensors: Any) -> Ints | None:
    """The strides of an output: channels-last if the input or the weight is so, except where ATen's kernels for three
    dimensions know no such format.
    """
    if len(shape) == 5 and tensors[0]._dtype not in (float32, bfloat16, float16):
        return None
    orders = (suggested_order(tuple(t.shape), t._strides()) for t in tensors)
    return suggested_strides(shape, next((order for order in orders if order is not None), None))


def convolution(input: Any, weight: Any, bias: Any, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
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


def convolution_backward(grad_output: Any, input: Any, weight: Any, bias_sizes: Any, stride: Ints, padding: Ints,
                         dilation: Ints, transposed: bool, output_padding: Ints, groups: int,
                         output_mask: Any) -> tuple[Spec | None, ...]:
    out = convolution(input, weight, None, stride, padding, dilation, transposed, output_padding, groups)
    check(tuple(grad_output.shape) == out.shape,
          lambda: f"Mismatch in shape: grad_output has a shape of {list(grad_output.shape)} and the output of the "
                  f"convolution one of {list(out.shape or ())}")
    dtype = grad_output._dtype
    specs = [Spec(tuple(t.shape), dtype, in_channels_last(tuple(t.shape), input, weight)) for t in (input, weight)]
    specs.append(Spec(tuple(bias_sizes or (grad_output.shape[1],)), dtype))
    return tuple(spec if wanted else None for spec, wanted in zip(specs, output_mask, strict=True))


META_KERNELS.add(convolution, convolution_backward)
