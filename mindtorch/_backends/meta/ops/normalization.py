"""Meta kernels of normalisation. An output that is not asked for is None."""
from __future__ import annotations

from math import prod
from typing import Any

from ...._base.errors import NAMES, check, check_real
from ...._base.layout import Ints, Spec, is_channels_last, is_contiguous, suggested_order, suggested_strides, wrap_dim
from ...._dtype import DType, bfloat16, float16, float32, uint8
from . import META_KERNELS


def parameter_dtype(kernel: str, input: Any, *parameters: Any) -> DType:
    """The dtype of moments and of the parameters, of which the first decides: the input's, or float32 where that is of
    half precision (ATen's ``mixed_data_type``).
    """
    wanted = input._dtype
    given = [parameter._dtype for parameter in parameters if parameter is not None]
    if given and given[0] is not wanted:
        check(all(dtype is float32 for dtype in given),
              "mixed dtype (CPU): expect parameter to have scalar type of Float")
        check(wanted in (float16, bfloat16), "mixed dtype (CPU): all inputs must share same datatype.")
        wanted = float32
    check_real(kernel, input)
    other = next((one for one in given if one is not wanted), wanted)
    check(other is wanted, lambda: f"expected scalar type {NAMES[wanted.name]} but found {NAMES[other.name]}")
    return wanted


def like(input: Any) -> Spec:
    """A result of the input's shape, in channels-last order if the input is."""
    shape, stride = tuple(input.shape), input._strides()
    order = suggested_order(shape, stride)
    if order is not None and not is_channels_last(shape, stride):
        order = None
    return Spec(shape, input._dtype, suggested_strides(shape, order))


def gradients(input: Spec, affine: Ints, dtype: DType, output_mask: Any) -> tuple[Spec | None, ...]:
    """The gradients of input, weight and bias that are asked for."""
    specs = input, Spec(affine, dtype), Spec(affine, dtype)
    return tuple([spec if wanted else None for spec, wanted in zip(specs, output_mask, strict=True)])


# -- by channel --------------------------------------------------------------------------------------------------------

def native_batch_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
                      momentum: float, eps: float) -> tuple[Spec, Spec, Spec]:
    channels = input.shape[wrap_dim(1, input.ndim)]
    check(training or (running_mean is not None and running_var is not None),
          "native_batch_norm: running_mean and running_var must be defined in evaluation mode")
    dtype = parameter_dtype("batch_norm", input, weight, bias, running_mean, running_var)
    moments = Spec((channels if training else 0,), dtype)
    return like(input), moments, moments


def with_update(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float,
                eps: float) -> tuple[Spec, ...]:
    outputs = native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *outputs, Spec((0,), uint8)


def native_batch_norm_backward(grad_out: Any, input: Any, weight: Any, running_mean: Any, running_var: Any,
                               save_mean: Any, save_invstd: Any, train: bool, eps: float, output_mask: Any) -> Any:
    moments = (save_mean, save_invstd) if train else (running_mean, running_var)
    dtype = parameter_dtype("batch_norm_backward", input, weight, *moments)
    return gradients(like(input), (input.shape[1],), dtype, output_mask)


# -- by row ------------------------------------------------------------------------------------------------------------

def check_normalized(input: Any, normalized_shape: Ints, weight: Any, bias: Any = None, comma: str = ", ") -> None:
    """The normalised dimensions are the input's last ones, and those of the parameters."""
    sizes, shape = tuple(normalized_shape), tuple(input.shape)
    check(sizes, "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but "
          "got normalized_shape = []")
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and parameter.shape != sizes:
            raise RuntimeError(f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                               f"{list(parameter.shape)} and normalized_shape = {list(sizes)}")
    if not comma:  # of rms_norm
        check(len(sizes) <= len(shape), lambda: f"Input tensor must have at least {len(sizes)} dimensions, but got "
              f"{len(shape)}", ValueError)
    check(shape[-len(sizes):] == sizes,
          lambda: f"Given normalized_shape={list(sizes)}, expected input with shape "
                  f"[*{comma}{', '.join(map(str, sizes))}], but got input of size{list(shape)}")


def native_layer_norm(input: Any, normalized_shape: Ints, weight: Any, bias: Any, eps: float) -> tuple[Spec, ...]:
    check_normalized(input, normalized_shape, weight, bias)
    dtype = parameter_dtype("LayerNormKernelImpl", input, weight, bias)
    shape, dims = tuple(input.shape), len(normalized_shape)
    moments = Spec((*shape[:len(shape) - dims], *(1,) * dims), dtype)
    return Spec(shape, input._dtype), moments, moments


def native_layer_norm_backward(grad_out: Any, input: Any, normalized_shape: Ints, mean: Any, rstd: Any, weight: Any,
                               bias: Any, output_mask: Any) -> Any:
    dtype = parameter_dtype("LayerNormBackwardKernelImpl", input, weight, mean, rstd)
    wanted = (output_mask[0], output_mask[1] and weight is not None, output_mask[2] and bias is not None)
    return gradients(Spec(tuple(input.shape), input._dtype), tuple(normalized_shape), dtype, wanted)


# -- by group ----------------------------------------------------------------------------------------------------------

def check_groups(input: Any, channels: int, group: int, weight: Any, bias: Any) -> None:
    """Groups have as many channels each, and parameters one element for each channel."""
    check(group > 0, lambda: f"Expected num groups to be greater than 0, got {group}")
    check(channels % group == 0,
          lambda: "Expected number of channels in input to be divisible by num_groups, but got input of shape "
                  f"{list(input.shape)} and num_groups={group}")
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and parameter.shape != (channels,):
            raise RuntimeError(f"Expected {name} to be a vector of size equal to the number of channels in input, but "
                               f"got {name} of shape {list(parameter.shape)} and input of shape {list(input.shape)}")


def native_group_norm(input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int,
                      eps: float) -> tuple[Spec, ...]:
    check_groups(input, C, group, weight, bias)
    dtype = parameter_dtype("GroupNormKernelImpl", input, weight, bias)
    spec = like(input)
    check(prod(spec.shape or ()) == N * C * HxW,
          lambda: f"Expected X.numel() == N * C * HxW, but got {input.numel()} elements for {N} * {C} * {HxW}")
    check(input._strides() == spec.stride or is_contiguous(input.shape, input._strides()),
          "Expected X.is_contiguous(memory_format) to be true, but got false.  (Could this error message be improved?  "
          "If so, please report an enhancement request to PyTorch.)")
    return spec, Spec((N, group), dtype), Spec((N, group), dtype)


def native_group_norm_backward(grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int, HxW: int,
                               group: int, output_mask: Any) -> Any:
    dtype = parameter_dtype("GroupNormBackward", input, weight, mean, rstd)
    return gradients(like(input), (C,), dtype, output_mask)


META_KERNELS.add(native_batch_norm, native_batch_norm_backward, native_layer_norm, native_layer_norm_backward,
                 native_group_norm, native_group_norm_backward)
META_KERNELS["_batch_norm_with_update"] = with_update
