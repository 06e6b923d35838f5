"""Normalisations in terms of those that also give the moments, and of other operators."""
from __future__ import annotations

from math import prod
from typing import Any

from .._backends.meta.ops.normalization import check_groups, check_normalized
from .._base.errors import check, check_takes
from .._base.formats import channels_last, channels_last_3d, contiguous_format
from .._base.layout import Ints, suggested_order, wrap_dim
from .._dispatch.aten import empty_memory_format as empty, native_batch_norm, native_group_norm, native_layer_norm
from .._dispatch.dispatcher import is_seen
from .._dispatch.keys import DUAL, NONCONTIGUOUS
from .._dtype import COMPLEX, FLOATING, finfo, float32, uint8
from . import COMPOSITES

#: The memory formats with the channels last, by number of dimensions.
ORDERS = {4: channels_last, 5: channels_last_3d}


def batch_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
               momentum: float, eps: float, cudnn_enabled: bool) -> Any:
    if not input.numel():
        out = input.clone()
        out = out if weight is None else out * weight[0]
        return out if bias is None else out + bias[0]
    channels = input.shape[1] if input.dim() > 1 else 0
    check_channels("running_mean", running_mean, channels, training)
    check_channels("running_var", running_var, channels, training)
    check_channels("weight", weight, channels)
    check_channels("bias", bias, channels)
    input.size(1)
    check((running_mean is None) == (running_var is None),
          "running_mean and running_var must either both be None or neither be None", ValueError)
    if input._keys & DUAL:
        check(not any(running is not None and running._keys & DUAL for running in (running_mean, running_var)),
              "batch_norm is not differentiable wrt running_mean and running_var, they cannot have forward grad "
              "defined")
    if is_seen(input):
        empty((0,), uint8, None, input._device)  # what PyTorch's other kernels reserve for their backward pass
    return native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


def check_channels(name: str, parameter: Any, channels: int, optional: bool = True) -> None:
    check(optional or parameter is not None, lambda: f"{name} must be defined in evaluation mode")
    check(parameter is None or parameter.numel() == channels,
          lambda: f"{name} should contain {channels} elements not {parameter.numel()}")


def instance_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, use_input_stats: bool,
                  momentum: float, eps: float, cudnn_enabled: bool) -> Any:
    """The batch normalisation of one sample, which has the channels of all."""
    check(use_input_stats or (running_mean is not None and running_var is not None),
          "Expected running_mean and running_var to be defined when use_input_stats is false")
    channels, batch = input.shape[wrap_dim(1, input.dim())], input.shape[0]
    weight, bias, mean, var = [None if parameter is None else parameter.repeat(batch)
                               for parameter in (weight, bias, running_mean, running_var)]
    together = input.contiguous().view((1, batch * channels, *input.shape[2:]))
    out = batch_norm(together, weight, bias, mean, var, use_input_stats, momentum, eps, cudnn_enabled)
    for running, found in ((running_mean, mean), (running_var, var)):
        if running is not None:
            running.copy_(found.view(batch, channels).mean(0))  # type: ignore[union-attr]
    return out.view(input.shape)


def layer_norm(input: Any, normalized_shape: Ints, weight: Any = None, bias: Any = None, eps: float = 1e-5,
               cudnn_enable: bool = True) -> Any:
    return native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5,
               cudnn_enabled: bool = True) -> Any:
    channels, batch = input.shape[wrap_dim(1, input.dim())], input.shape[0]
    check_groups(input, channels, num_groups, weight, bias)
    order = suggested_order(tuple(input.shape), input._strides())
    x = input
    if order is not None or input._keys & NONCONTIGUOUS:
        x = input.contiguous(memory_format=contiguous_format if order is None else ORDERS[len(order)])
    return native_group_norm(x, weight, bias, batch, channels, prod(input.shape[2:]), num_groups, eps)[0]


def rms_norm(input: Any, normalized_shape: Ints, weight: Any = None, eps: float | None = None) -> Any:
    """Half precision is computed in float32."""
    check_normalized(input, normalized_shape, weight, comma="")
    dtype = input._dtype
    check_takes(dtype.category in (FLOATING, COMPLEX), "rms_norm", dtype)
    wide = input.to(float32) if dtype.itemsize == 2 else input
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    least = finfo(wide._dtype.to_real()).eps if eps is None else eps
    result = wide * wide.pow(2).mean(dims, True).add_(least).rsqrt()
    return (result if weight is None else result * weight).contiguous().to(dtype)


COMPOSITES.add(batch_norm, instance_norm, layer_norm, group_norm, rms_norm)
COMPOSITES.update({
    "_native_batch_norm_legit": native_batch_norm,
    "_native_batch_norm_legit.no_stats": lambda input, weight, bias, training, momentum, eps:
        native_batch_norm(input, weight, bias, None, None, training, momentum, eps),
})
