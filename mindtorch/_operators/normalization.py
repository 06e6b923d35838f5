"""Normalisation by the mean and variance of batches, layers, groups of channels, and samples."""
from __future__ import annotations

from math import prod
from typing import Any

from .._base.errors import NAMES, check, check_real, check_takes
from .._base.formats import channels_last, channels_last_3d, contiguous_format, strided
from .._base.groups import Groups, by_channel, by_group, by_row
from .._base.layout import Ints, Spec, is_channels_last, is_contiguous, suggested_order, suggested_strides, wrap_dim
from .._dispatch.aten import (
    empty_memory_format as empty, native_batch_norm, native_batch_norm_backward, native_group_norm,
    native_group_norm_backward, native_layer_norm, native_layer_norm_backward,
)
from .._dispatch.dispatcher import is_seen
from .._dispatch.keys import DUAL, NONCONTIGUOUS
from .._dispatch.local import local
from .._dispatch.registry import Operator
from .._dtype import COMPLEX, FLOATING, DType, bfloat16, finfo, float16, float32, uint8
from .._tensor import Tensor
from .._transforms.batching.frames import Frame, filled, is_batched, lowered
from .._transforms.batching.rules import apart, beside, composed, per_channel
from . import composites, operator, schemas

schemas("""
function:
    batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor  # `input` less the mean and over the standard deviation of each channel, times `weight` plus `bias`; in `training` these are the batch's, and move the running ones by `momentum`, otherwise the running ones.
    instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor  # `input` less the mean and over the standard deviation of each channel of each sample, times `weight` plus `bias`.
    layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor  # `input` less the mean and over the standard deviation of its last dimensions, which have the sizes `normalized_shape`, times `weight` plus `bias`.
""")  # noqa: E501


def batch_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
               momentum: float, eps: float, cudnn_enabled: bool) -> Any:
    if not input.numel():
        out = input.clone()
        out = out if weight is None else out * weight[0]
        return out if bias is None else out + bias[0]
    channels = input.shape[1] if input.dim() > 1 else 0
    for name, given in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight),
                        ("bias", bias)):
        if given is None:
            check(training or "running" not in name, lambda: f"{name} must be defined in evaluation mode")  # noqa: B023
        elif given.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {given.numel()}")
    input.size(1)
    check((running_mean is None) == (running_var is None),
          "running_mean and running_var must either both be None or neither be None", ValueError)
    if input._keys & DUAL:
        check(not any(running is not None and running._keys & DUAL for running in (running_mean, running_var)),
              "batch_norm is not differentiable wrt running_mean and running_var, they cannot have forward grad "
              "defined")
    if is_seen(input):
        empty((0,), uint8, strided, input._device)  # what PyTorch's other kernels reserve for their backward pass
    return native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


def instance_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, use_input_stats: bool,
                  momentum: float, eps: float, cudnn_enabled: bool) -> Any:
    """Normalise the batch as one sample that has the channels of all."""
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


composites(batch_norm, instance_norm)
operator("layer_norm", composite=layer_norm, autocast="npu float32")

schemas("""
function:
    group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor  # `input` less the mean and over the standard deviation of each of `num_groups` groups of channels of each sample, times `weight` plus `bias`.
""")  # noqa: E501

#: The memory formats with the channels last, by number of dimensions.
ORDERS = {4: channels_last, 5: channels_last_3d}


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5,
               cudnn_enabled: bool = True) -> Any:
    channels, batch = input.shape[wrap_dim(1, input.dim())], input.shape[0]
    check_groups(input, channels, num_groups, weight, bias)
    order = suggested_order(tuple(input.shape), input._strides())
    x = input
    if order is not None or input._keys & NONCONTIGUOUS:
        x = input.contiguous(memory_format=contiguous_format if order is None else ORDERS[len(order)])
    return native_group_norm(x, weight, bias, batch, channels, prod(input.shape[2:]), num_groups, eps)[0]


operator("group_norm", composite=group_norm, autocast="npu float32")

schemas("""
function:
    rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor  # `input` over the root of the mean square of its last dimensions, which have the sizes `normalized_shape`, times `weight`.
    native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor result0, Tensor result1, Tensor result2)  # The layer normalisation of `input`, and the means and the reciprocals of the standard deviations.
    native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps) -> (Tensor result0, Tensor result1, Tensor result2)  # The group normalisation of `input`, which has N samples of C channels of HxW elements, and the means and the reciprocals of the standard deviations.
function, out:
    native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!)? running_mean, Tensor(b!)? running_var, bool training, float momentum, float eps) -> (Tensor result0, Tensor result1, Tensor result2)  # The batch normalisation of `input`, and in `training` the mean and the reciprocal of the standard deviation of each channel.
    _native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor result0, Tensor result1, Tensor result2)  # What `native_batch_norm` computes of `input`.
    _native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> (Tensor result0, Tensor result1, Tensor result2)
operator only:
    _batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, float momentum, float eps) -> (Tensor result0, Tensor result1, Tensor result2, Tensor result3)  # What `native_batch_norm` computes of `input` in training, and an empty tensor.
out:
    native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor result0, Tensor result1, Tensor result2)
    native_layer_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor result0, Tensor result1, Tensor result2)
    native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, int N, int C, int HxW, int group, bool[3] output_mask) -> (Tensor result0, Tensor result1, Tensor result2)
""")  # noqa: E501


def parameter_dtype(kernel: str, input: Any, *parameters: Any) -> DType:
    """Return the dtype of moments and parameters, maybe float32 beside half precision (``mixed_data_type``)."""
    wanted: DType = input._dtype
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
    """Describe a result of the input's shape, in channels-last order if the input is."""
    shape, stride = tuple(input.shape), input._strides()
    order = suggested_order(shape, stride)
    if order is not None and not is_channels_last(shape, stride):
        order = None
    return Spec(shape, input._dtype, suggested_strides(shape, order))


def gradients(input: Spec, affine: Ints, dtype: DType, output_mask: Any) -> tuple[Spec | None, ...]:
    """Return the gradients of input, weight and bias that are asked for."""
    specs = input, Spec(affine, dtype), Spec(affine, dtype)
    return tuple([spec if wanted else None for spec, wanted in zip(specs, output_mask, strict=True)])


def meta_native_batch_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
                           momentum: float, eps: float) -> tuple[Spec, Spec, Spec]:
    channels = input.shape[wrap_dim(1, input.ndim)]
    check(training or (running_mean is not None and running_var is not None),
          "native_batch_norm: running_mean and running_var must be defined in evaluation mode")
    check_real("batch_norm", input)
    dtype = parameter_dtype("batch_norm", input, weight, bias, running_mean, running_var)
    moments = Spec((channels if training else 0,), dtype)
    return like(input), moments, moments


def with_update(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float,
                eps: float) -> tuple[Spec, ...]:
    outputs = meta_native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *outputs, Spec((0,), uint8)


def meta_native_batch_norm_backward(grad_out: Any, input: Any, weight: Any, running_mean: Any, running_var: Any,
                                    save_mean: Any, save_invstd: Any, train: bool, eps: float, output_mask: Any) -> Any:
    moments = (save_mean, save_invstd) if train else (running_mean, running_var)
    dtype = parameter_dtype("batch_norm_backward", input, weight, *moments)
    return gradients(like(input), (input.shape[1],), dtype, output_mask)


def check_normalized(input: Any, normalized_shape: Ints, weight: Any, bias: Any = None, comma: str = ", ") -> None:
    """Check that the normalised dimensions are the input's last ones, and the parameters'."""
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


def meta_native_layer_norm(input: Any, normalized_shape: Ints, weight: Any, bias: Any, eps: float) -> tuple[Spec, ...]:
    check_normalized(input, normalized_shape, weight, bias)
    dtype = parameter_dtype("LayerNormKernelImpl", input, weight, bias)
    shape, dims = tuple(input.shape), len(normalized_shape)
    moments = Spec((*shape[:len(shape) - dims], *(1,) * dims), dtype)
    return Spec(shape, input._dtype), moments, moments


def meta_native_layer_norm_backward(grad_out: Any, input: Any, normalized_shape: Ints, mean: Any, rstd: Any, weight:
                                    Any, bias: Any, output_mask: Any) -> Any:
    dtype = parameter_dtype("LayerNormBackwardKernelImpl", input, weight, mean, rstd)
    wanted = (output_mask[0], output_mask[1] and weight is not None, output_mask[2] and bias is not None)
    return gradients(Spec(tuple(input.shape), input._dtype), tuple(normalized_shape), dtype, wanted)


def check_groups(input: Any, channels: int, group: int, weight: Any, bias: Any) -> None:
    """Check that groups have equally many channels, and parameters one element for each channel."""
    check(group > 0, lambda: f"Expected num groups to be greater than 0, got {group}")
    check(channels % group == 0,
          lambda: "Expected number of channels in input to be divisible by num_groups, but got input of shape "
                  f"{list(input.shape)} and num_groups={group}")
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and parameter.shape != (channels,):
            raise RuntimeError(f"Expected {name} to be a vector of size equal to the number of channels in input, but "
                               f"got {name} of shape {list(parameter.shape)} and input of shape {list(input.shape)}")


def meta_native_group_norm(input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps:
                           float) -> tuple[Spec, ...]:
    check_groups(input, C, group, weight, bias)
    dtype = parameter_dtype("GroupNormKernelImpl", input, weight, bias)
    spec = like(input)
    check(prod(spec.shape or ()) == N * C * HxW,
          lambda: f"Expected X.numel() == N * C * HxW, but got {input.numel()} elements for {N} * {C} * {HxW}")
    check(input._strides() == spec.stride or is_contiguous(input.shape, input._strides()),
          "Expected X.is_contiguous(memory_format) to be true, but got false.  (Could this error message be improved?  "
          "If so, please report an enhancement request to PyTorch.)")
    return spec, Spec((N, group), dtype), Spec((N, group), dtype)


def meta_native_group_norm_backward(grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int, HxW:
                                    int, group: int, output_mask: Any) -> Any:
    dtype = parameter_dtype("GroupNormBackward", input, weight, mean, rstd)
    return gradients(like(input), (C,), dtype, output_mask)


def rms_norm(input: Tensor, normalized_shape: Ints, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Half precision is computed in float32."""
    check_normalized(input, normalized_shape, weight, comma="")
    dtype = input._dtype
    check_takes(dtype.category in (FLOATING, COMPLEX), "rms_norm", dtype)
    wide = input.to(float32) if dtype.itemsize == 2 else input
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    least = finfo(wide._dtype.to_real()).eps if eps is None else eps
    result = wide * wide.pow(2).mean(dims, True).add_(least).rsqrt()
    result = result if weight is None else result * weight
    return (result.contiguous() if suggested_order(input.shape, input._strides()) is None else result).to(dtype)


def wide(tensor: Tensor, shape: Any) -> Any:
    """Return a tensor in some shape, in float32 if it is of half precision."""
    if tensor is None:
        return None
    return (tensor.float() if tensor.dtype.itemsize == 2 else tensor).reshape(shape)


def double_grads(grads: Any, grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, groups: Groups,
                 fixed: bool = False) -> tuple[Any, Any, Any]:
    """Return the gradients of ``grad_out``, input and weight, given those of a backward operator's three outputs.

    The gradient of the input is ``rstd * P(grad_out * weight)``, where P removes the mean and the part parallel to the
    normalised input. P is symmetric, so its own gradient goes through it again; besides, it depends on the normalised
    input, as ``rstd`` does. With ``fixed`` moments P is the identity.
    """
    of_input, of_weight, of_bias = [
        wide(grad, shape) for grad, shape in zip(grads, (groups.shape, groups.affine, groups.affine), strict=True)]
    grad, x, factor = wide(grad_out, groups.shape), wide(input, groups.shape), wide(weight, groups.affine)
    mean, rstd = wide(mean, groups.moments), wide(rstd, groups.moments)
    normal = (x - mean) * rstd
    over = list(groups.over)

    def average(values: Any) -> Any:
        return values.mean(over, True)

    def projected(values: Any) -> Any:
        return values if fixed else values - average(values) - normal * average(values * normal)

    to_grad, to_input, to_weight = [], [], None
    if of_input is not None:
        through = grad if factor is None else grad * factor
        back = rstd * projected(of_input)
        to_grad.append(back if factor is None else back * factor)
        if factor is not None:
            to_weight = (back * grad).sum(list(groups.shared)).reshape(weight.shape).to(weight.dtype)
        if not fixed:
            of_normal = of_input * average(through * normal) + through * average(of_input * normal)
            of_rstd = average(of_input * projected(through))
            to_input.append(-rstd * rstd * (projected(of_normal) + normal * of_rstd))
    if of_weight is not None:
        to_grad.append(of_weight * normal)
        to_input.append(rstd * projected(of_weight * grad))
    if of_bias is not None:
        to_grad.append(of_bias)
    found = [sum(parts[1:], parts[0]).expand(groups.shape).reshape(like.shape).to(like.dtype) if parts else None
             for parts, like in ((to_grad, grad_out), (to_input, input))]
    return found[0], found[1], to_weight


def batch_norm_grads(grad: Tensor, input: Any, weight: Any, running_mean: Any, running_var: Any, result1: Any,
                     result2: Any, training: bool, eps: float, output_mask: Any) -> Any:
    return native_batch_norm_backward(grad, input, weight, running_mean, running_var, result1, result2, training, eps,
                                      output_mask)


def batch_norm_double_grads(grads: Any, grad_out: Any, input: Any, weight: Any, running_mean: Any, running_var: Any,
                            save_mean: Any, save_invstd: Any, train: bool, eps: float) -> Any:
    groups = by_channel(input.shape)
    if train:
        return double_grads(grads, grad_out, input, save_mean, save_invstd, weight, groups)
    return double_grads(grads, grad_out, input, running_mean, (running_var + eps).rsqrt(), weight, groups, fixed=True)


OUTPUT: tuple[int, ...] = (0,)


def group_norm_grads(grads: Any, input: Any, weight: Any, N: int, C: int, HxW: int, group: int, result1: Any,
                     result2: Any, output_mask: Any) -> Any:
    grad, of_mean, of_rstd = grads
    found = [None, None, None]
    if grad is not None:
        at_once = (*output_mask[:2], output_mask[2] and not local.grad_enabled)
        if is_seen(grad):
            grad = grad.contiguous()  # so that PyTorch's kernel can read it
        found = list(native_group_norm_backward(grad, input, result1, result2, weight, N, C, HxW, group, at_once))
        if output_mask[2] and local.grad_enabled:  # it depends on nothing but ``grad``, as the graph is to show
            found[2] = wide(grad, (N, C, HxW)).sum((0, 2)).to(result1.dtype)
    if output_mask[0]:
        groups = by_group(N, C, HxW, group)
        for part in (of_mean, of_rstd):
            if part is None:
                continue
            more = wide(part, groups.moments) / groups.elements
            if part is of_rstd:
                mean, rstd = wide(result1, groups.moments), wide(result2, groups.moments)
                more = -more * rstd**3 * (wide(input, groups.shape) - mean)
            more = more.expand(groups.shape).reshape(input.shape).to(input.dtype)
            found[0] = more if found[0] is None else found[0] + more
    return found


def layer_norm_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    input, shape, weight, bias, eps = args
    check_normalized(input, shape, weight, bias)
    parameter_dtype("LayerNormKernelImpl", input, weight, bias)
    if not (is_batched(weight, frame) or is_batched(bias, frame)):
        return op.call(lowered(input, frame), shape, weight, bias, eps)

    def affine(*_: Any) -> Any:
        out, mean, rstd = native_layer_norm(input, shape, None, None, eps)
        out = out if weight is None else out * weight
        return out if bias is None else out + bias, mean, rstd

    return composed(affine)(op, frame, args)


def group_norm_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    input, weight, bias, samples, channels, places, groups, eps = args
    parameter_dtype("GroupNormKernelImpl", input, weight, bias)  # check the dtypes of one element
    if not (is_batched(weight, frame) or is_batched(bias, frame)):
        together = lowered(input, frame).flatten(0, 1).contiguous()
        results = op.call(together, weight, bias, samples * frame.size, channels, places, groups, eps)
        return tuple([t.unflatten(0, (frame.size, samples)) for t in results])

    def affine(*_: Any) -> Any:
        out, mean, rstd = native_group_norm(input, None, None, samples, channels, places, groups, eps)
        out = out if weight is None else out * per_channel(weight, input.ndim)
        return out if bias is None else out + per_channel(bias, input.ndim), mean, rstd

    return composed(affine)(op, frame, args)


def decomposed_layer_norm_backward(grad: Tensor, input: Any, shape: Any, mean: Any, rstd: Any, weight: Any, bias: Any,
                                   wanted: Any) -> Any:
    rows = list(range(input.ndim - len(shape)))
    over = list(range(len(rows), input.ndim))
    if local.grad_enabled and input.requires_grad:  # a second derivative depends on the input through its moments
        mean, square = input.to(mean.dtype).mean(over, True), rstd.pow(-2)
        variance = (input - mean).square().mean(over, True)
        rstd = (variance + (square - variance).detach()).rsqrt()
    normal = (input - mean) * rstd
    through = grad if weight is None else grad * weight
    return (rstd * (through - through.mean(over, True) - normal * (through * normal).mean(over, True))
            if wanted[0] else None,
            (grad * normal).sum(rows) if wanted[1] and rows else grad * normal if wanted[1] else None,
            grad.sum(rows) if wanted[2] and rows else grad if wanted[2] else None)


def decomposed_group_norm_backward(grad: Tensor, input: Any, mean: Any, rstd: Any, weight: Any, samples: int, channels:
                                   int, places: int, groups: int, wanted: Any) -> Any:
    shape = (samples, groups, channels // groups * places)
    x, middle, scale = input.reshape(shape), mean.unsqueeze(-1), rstd.unsqueeze(-1)
    normal = (x - middle) * scale
    through = (grad if weight is None else grad * per_channel(weight, grad.ndim)).reshape(shape)
    by_place = (samples, channels, places)
    return ((scale * (through - through.mean([2], True) - normal * (through * normal).mean([2], True)))
            .reshape(input.shape) if wanted[0] else None,
            (grad.reshape(by_place) * normal.reshape(by_place)).sum([0, 2]) if wanted[1] else None,
            grad.reshape(by_place).sum([0, 2]) if wanted[2] else None)


def batch_norm_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Normalise all elements' channels as channels; RuntimeError for shared running averages."""
    input, weight, bias, mean, var, training, momentum, eps = args
    if training and mean is not None and is_batched(input, frame) and not is_batched(mean, frame):
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in "
            "place, were not batched.\nPlease see https://pytorch.org/functorch/stable/batch_norm.html for more "
            "details on how to use batch norm with vmap.")
    weight, bias, *running = [None if p is None else filled(p, frame) for p in (weight, bias, mean, var)]
    rows = [None if p is None else p.flatten() for p in (weight, bias, *running)]
    out, *moments = op.call(beside(input, frame), *rows, training, momentum, eps)
    for average, row in zip(running, rows[2:], strict=True):
        if training and average is not None and row is not None and row._base is None:  # a copy was written
            average.copy_(row.reshape(average.shape))
    return apart(out, frame), *[t.reshape((frame.size, t.numel() // frame.size)) for t in moments]


def batch_norm_backward_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    grad, input, *vectors, training, eps, wanted = args
    rows = [v if v is None or not v.numel() else filled(v, frame).flatten() for v in vectors]
    found = op.call(beside(grad, frame), beside(input, frame), *rows, training, eps, wanted)
    return (None if found[0] is None else apart(found[0], frame),
            *[None if t is None else t.reshape((frame.size, t.numel() // frame.size)) for t in found[1:]])


operator("rms_norm", composite=rms_norm, autocast="npu float32")
operator("native_layer_norm", meta_native_layer_norm, batching=layer_norm_batch_rule, autocast="npu float32",
         outputs=OUTPUT,
         jointly={
             "input, weight, bias": lambda grad, input, normalized_shape, result1, result2, weight, bias, output_mask:
             native_layer_norm_backward(grad, input, normalized_shape, result1, result2, weight, bias, output_mask)})
operator("native_group_norm", meta_native_group_norm, batching=group_norm_batch_rule,
         jointly={"input, weight, bias": group_norm_grads})
operator("native_batch_norm", meta_native_batch_norm, batching=batch_norm_batch_rule, outputs=OUTPUT,
         jointly={"input, weight, bias": batch_norm_grads})
operator("_native_batch_norm_legit", composite=native_batch_norm, outputs=OUTPUT,
         jointly={"input, weight, bias": batch_norm_grads})
operator("_native_batch_norm_legit.no_stats", composite=lambda input, weight, bias, training, momentum, eps:
             native_batch_norm(input, weight, bias, None, None, training, momentum, eps),
         node="NativeBatchNormLegitBackward1", outputs=OUTPUT, jointly={
    "input, weight, bias": lambda grad, input, weight, result1, result2, training, eps, output_mask:
        native_batch_norm_backward(grad, input, weight, None, None, result1, result2, training, eps, output_mask)})
operator("_batch_norm_with_update", with_update, outputs=OUTPUT, jointly={
    "input, weight, bias":
        lambda grad, input, weight, running_mean, running_var, result1, result2, eps, output_mask:
            native_batch_norm_backward(grad, input, weight, running_mean, running_var, result1, result2, True, eps,
                                       output_mask)})
operator("native_batch_norm_backward", meta_native_batch_norm_backward, batching=batch_norm_backward_batch_rule,
         jointly={"grad_out, input, weight": batch_norm_double_grads})
operator("native_layer_norm_backward", meta_native_layer_norm_backward,
         batching=composed(decomposed_layer_norm_backward), jointly={
    "grad_out, input, weight": lambda grads, grad_out, input, normalized_shape, mean, rstd, weight:
        double_grads(grads, grad_out, input, mean, rstd, weight, by_row(input.shape, len(normalized_shape)))})
operator("native_group_norm_backward", meta_native_group_norm_backward,
         batching=composed(decomposed_group_norm_backward), jointly={
    "grad_out, input, weight": lambda grads, grad_out, input, mean, rstd, weight, N, C, HxW, group:
        double_grads(grads, grad_out, input, mean, rstd, weight, by_group(N, C, HxW, group))})
