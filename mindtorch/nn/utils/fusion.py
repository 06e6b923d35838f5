"""Batch normalisation folded into the layer before it; mirrors ``torch.nn.utils.fusion``."""
from __future__ import annotations

import copy
from typing import Any

from ..._tensor import Tensor
from ..module import Module
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]
__dir__ = __all__.copy

Weights = tuple[Parameter, Parameter]


def _fused(weight: Tensor, bias: Tensor | None, mean: Tensor, var: Tensor, eps: float, gain: Tensor | None,
           shift: Tensor | None, outputs: int) -> Weights:
    """Fold a normalisation into the weights of the layer before it, whose dimension ``outputs`` counts outputs."""
    scale = (var + eps).rsqrt() * (1 if gain is None else gain)
    shape = [1] * weight.dim()
    shape[outputs] = -1
    fused = ((mean.new_zeros(mean.shape) if bias is None else bias) - mean) * scale + (0 if shift is None else shift)
    return (Parameter((weight * scale.reshape(shape)).to(weight.dtype), weight.requires_grad),
            Parameter(fused.to((weight if bias is None else bias).dtype), bias is not None and bias.requires_grad))


def fuse_conv_bn_weights(conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
                         bn_w: Tensor | None, bn_b: Tensor | None, transpose: bool = False) -> Weights:
    """Weight and bias of a convolution that normalises its outputs (``torch.nn.utils.fuse_conv_bn_weights``)."""
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_weights(linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
                           bn_w: Tensor | None, bn_b: Tensor | None) -> Weights:
    """Weight and bias of a linear layer that normalises its outputs (``torch.nn.utils.fuse_linear_bn_weights``)."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _fuse(layer: Any, bn: Any, transpose: bool) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused = copy.deepcopy(layer)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose)
    return fused


def fuse_conv_bn_eval(conv: Module, bn: Module, transpose: bool = False) -> Module:
    """Fuse ``conv`` and the ``bn`` after it, in evaluation, into one convolution (``torch.nn.utils``)."""
    return _fuse(conv, bn, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Module:
    """Fuse ``linear`` and the ``bn`` after it, in evaluation, into one linear layer (``torch.nn.utils``)."""
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
                             f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}")
    return _fuse(linear, bn, False)
