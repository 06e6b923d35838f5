"""Normalisations and dropout, as functions of tensors."""
from __future__ import annotations

from math import prod
from typing import Any

from .._dtype import bool_ as boolean
from .rows import aten, opmath, row


def along_channels(value: Any, ndim: int) -> Any:
    """Return a vector over channels with the dimensions of the input."""
    return value.view([1, -1, *[1] * (ndim - 2)])


def _batch_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
                momentum: float, eps: float) -> tuple[Any, Any, Any, Any, Any]:
    """Return a batch normalisation: the output, the saved moments, and the moved running ones."""
    wider = opmath(input.dtype)
    x, ndim = input.to(wider), input.dim()
    reduced = [0, *range(2, ndim)]
    moved_mean, moved_var = running_mean, running_var
    if training:
        var, mean = aten.var_mean.correction(x, reduced, correction=0, keepdim=True)
        rstd = (var + eps).rsqrt()
        save_mean, save_rstd = mean.squeeze(reduced), rstd.squeeze(reduced)
        if running_mean is not None:
            moved_mean = momentum * save_mean + (1 - momentum) * running_mean
        if running_var is not None:
            count = input.numel() / input.shape[1]
            unbiased = var.squeeze(reduced) * (count / (count - 1) if count > 1 else float("nan"))
            moved_var = momentum * unbiased + (1 - momentum) * running_var
    else:
        mean, rstd = running_mean.to(wider), (running_var.to(wider) + eps).rsqrt()
        save_mean, save_rstd = input.new_empty((0,)), input.new_empty((0,))
        mean, rstd = along_channels(mean, ndim), along_channels(rstd, ndim)
    out = (x - mean) * rstd
    if weight is not None:
        out = out * along_channels(weight.flatten(), ndim)
    if bias is not None:
        out = out + along_channels(bias.flatten(), ndim)
    return out.to(input.dtype), save_mean, save_rstd, moved_mean, moved_var


@row(aten.native_batch_norm.default)
def native_batch_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
                      momentum: float, eps: float) -> tuple[Any, Any, Any]:
    out, mean, rstd, moved_mean, moved_var = _batch_norm(input, weight, bias, running_mean, running_var, training,
                                                         momentum, eps)
    if training:
        for running, moved in ((running_mean, moved_mean), (running_var, moved_var)):
            if running is not None:
                running.copy_(moved)
    return out, mean, rstd


@row(aten._native_batch_norm_legit.no_stats)
def _native_batch_norm_legit_no_stats(input: Any, weight: Any, bias: Any, training: bool, momentum: float,
                                      eps: float) -> tuple[Any, Any, Any]:
    return _batch_norm(input, weight, bias, None, None, training, momentum, eps)[:3]


@row(aten._native_batch_norm_legit_functional.default)
def _native_batch_norm_legit_functional(*args: Any) -> tuple[Any, ...]:
    return _batch_norm(*args)


@row(aten._native_batch_norm_legit_no_training.default)
def _native_batch_norm_legit_no_training(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any,
                                         momentum: float, eps: float) -> tuple[Any, Any, Any]:
    return _batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)[:3]


@row(aten.native_batch_norm_backward.default)
def native_batch_norm_backward(grad_out: Any, input: Any, weight: Any, running_mean: Any, running_var: Any,
                               save_mean: Any, save_invstd: Any, train: bool, eps: float,
                               output_mask: Any) -> tuple[Any, Any, Any]:
    wider, ndim = opmath(input.dtype), input.dim()
    grad, x = grad_out.to(wider), input.to(wider)
    reduced = [0, *range(2, ndim)]
    if train:
        mean, rstd = save_mean.to(wider), save_invstd.to(wider)
    else:
        mean, rstd = running_mean.to(wider), (running_var.to(wider) + eps).rsqrt()
    centred = x - along_channels(mean, ndim)
    grad_sum, dot = grad.sum(reduced), (grad * centred).sum(reduced)
    scale = rstd if weight is None else rstd * weight.to(wider)
    if train:
        share = 1.0 / (input.numel() / input.shape[1])
        grad_input = (grad - centred * along_channels(dot * share * rstd * rstd, ndim)
                      - along_channels(grad_sum * share, ndim)) * along_channels(scale, ndim)
    else:
        grad_input = grad * along_channels(scale, ndim)
    of_parameters = input.dtype if weight is None else weight.dtype
    return (grad_input.to(input.dtype), (dot * rstd).to(of_parameters) if output_mask[1] else None,
            grad_sum.to(of_parameters) if output_mask[2] else None)


@row(aten.native_layer_norm.default)
def native_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any,
                      eps: float) -> tuple[Any, Any, Any]:
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    x = input.to(opmath(input.dtype))
    var, mean = aten.var_mean.correction(x, dims, correction=0, keepdim=True)
    rstd = (var + eps).rsqrt()
    out = (x - mean) * rstd
    out = out if weight is None else out * weight
    out = out if bias is None else out + bias
    return out.to(input.dtype), mean.to(input.dtype), rstd.to(input.dtype)


@row(aten.native_layer_norm_backward.default)
def native_layer_norm_backward(grad_out: Any, input: Any, normalized_shape: Any, mean: Any, rstd: Any, weight: Any,
                               bias: Any, output_mask: Any) -> tuple[Any, Any, Any]:
    wider = opmath(input.dtype)
    grad, x = grad_out.to(wider), input.to(wider)
    first = input.dim() - len(normalized_shape)
    inner, outer = list(range(first, input.dim())), list(range(first))
    count = prod(input.shape[first:])
    while mean.dim() < input.dim():
        mean, rstd = mean.unsqueeze(-1), rstd.unsqueeze(-1)
    normal = (x - mean) * rstd
    weighted = grad if weight is None else grad * weight
    grad_input = (rstd / count) * (weighted * count - weighted.sum(inner, True)
                                   - normal * (weighted * normal).sum(inner, True))
    grad_weight, grad_bias = grad * normal, grad
    if outer:
        grad_weight, grad_bias = grad_weight.sum(outer), grad_bias.sum(outer)
    return (grad_input.to(input.dtype) if output_mask[0] else None,
            grad_weight.to(input.dtype) if output_mask[1] and weight is not None else None,
            grad_bias.to(input.dtype) if output_mask[2] and bias is not None else None)


@row(aten.native_group_norm.default)
def native_group_norm(input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int,
                      eps: float) -> tuple[Any, Any, Any]:
    x = input.to(opmath(input.dtype)).reshape(N, group, C // group * HxW)
    var, mean = aten.var_mean.correction(x, [2], correction=0, keepdim=True)
    rstd = (var + eps).rsqrt()
    out = ((x - mean) * rstd).view(input.shape)
    out = out if weight is None else out * along_channels(weight, input.dim())
    out = out if bias is None else out + along_channels(bias, input.dim())
    return out.to(input.dtype), mean.squeeze(2).to(input.dtype), rstd.squeeze(2).to(input.dtype)


@row(aten.native_group_norm_backward.default)
def native_group_norm_backward(grad_out: Any, input: Any, mean: Any, rstd: Any, gamma: Any, N: int, C: int, HxW: int,
                               group: int, output_mask: Any) -> tuple[Any, Any, Any]:
    grad, x = grad_out.reshape(N, C, HxW), input.reshape(N, C, HxW)
    size = C // group
    dot, total = (grad * x).sum(2), grad.sum(2)
    grad_input = grad_gamma = None
    if output_mask[0]:
        share = 1.0 / (HxW * size)
        if gamma is not None:
            weighted_dot = (dot * gamma).reshape(N, group, size).sum(2)
            weighted = (total * gamma).reshape(N, group, size).sum(2)
            first = rstd.unsqueeze(-1) * gamma.reshape(1, group, size)
        else:
            weighted_dot, weighted = dot.reshape(N, group, size).sum(2), total.reshape(N, group, size).sum(2)
            first = rstd.unsqueeze(-1) * aten.ones.default((1, group, size), dtype=rstd.dtype, device=rstd.device)
        second = (weighted * mean - weighted_dot) * rstd * rstd * rstd * share
        third = -second * mean - weighted * rstd * share
        grad_input = (grad.reshape(N, group, size, HxW) * first.unsqueeze(-1)
                      + x.reshape(N, group, size, HxW) * second.view(N, group, 1, 1)
                      + third.view(N, group, 1, 1)).reshape(input.shape).to(input.dtype)
    if output_mask[1]:
        grad_gamma = ((dot.view(N, group, size) - total.view(N, group, size) * mean.unsqueeze(-1))
                      * rstd.unsqueeze(-1)).sum(0).reshape(C)
    return grad_input, grad_gamma, total.sum(0) if output_mask[2] else None


@row(aten.dropout.default)
def dropout(input: Any, p: float, train: bool | None) -> Any:
    if train and p != 0:
        return aten.native_dropout(input, p, train)[0]
    return input.clone()


@row(aten.native_dropout.default)
def native_dropout(input: Any, p: float, train: bool | None) -> tuple[Any, Any]:
    if not train or p == 0:
        return input, aten.ones_like.default(input, dtype=boolean)
    if p == 1:
        return aten.zeros_like.default(input), aten.zeros_like.default(input, dtype=boolean)
    kept = aten.rand_like.default(input) > p
    return kept * input * (1.0 / (1.0 - p)), kept


@row(aten.native_dropout_backward.default)
def native_dropout_backward(grad_output: Any, mask: Any, scale: float) -> Any:
    return grad_output * (mask.to(grad_output.dtype) * scale)


@row(aten._weight_norm_interface.default)
def _weight_norm_interface(v: Any, g: Any, dim: int = 0) -> tuple[Any, Any]:
    norm = v.norm(2, [d for d in range(v.dim()) if d != dim], True)
    return v * (g / norm.to(g.dtype)), norm
