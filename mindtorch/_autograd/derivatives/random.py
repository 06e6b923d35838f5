"""Derivatives of random numbers: zero with respect to what they are drawn for or written over."""
from __future__ import annotations

from typing import Any

from ..._dispatch.aten import _standard_gamma_grad, zeros_like
from ..derivative import derivative, not_differentiable


def scale_of(p: float, train: bool | None) -> float:
    """What dropout multiplies the kept elements with."""
    if train is False:
        return 1.0
    return 0.0 if p == 1 else 1.0 / (1.0 - p)


def zero(grad: Any) -> Any:
    return zeros_like(grad)


derivative("uniform_ normal_ exponential_ geometric_ cauchy_ log_normal_ bernoulli poisson", self=zero)
for _operator, _node in (("random_.from", "RandomBackward0"), ("random_.to", "RandomBackward1"),
                         ("random_", "RandomBackward2"), ("bernoulli_.float", "BernoulliBackward2")):
    derivative(_operator, _node, self=zero)
derivative("bernoulli_.Tensor", "BernoulliBackward1", self=zero, p=lambda grad, p: zeros_like(p))
derivative("normal.Tensor_float", "NormalBackward1", mean=lambda grad, mean_shape: grad.new_zeros(mean_shape))
derivative("normal.float_Tensor", "NormalBackward2", std=lambda grad, std_shape: grad.new_zeros(std_shape))
derivative("normal.Tensor_Tensor", "NormalBackward3", mean=lambda grad, mean_shape: grad.new_zeros(mean_shape),
           std=lambda grad, std_shape: grad.new_zeros(std_shape))
derivative("_standard_gamma", self=lambda grad, self, result: grad * _standard_gamma_grad(self, result))
derivative("native_dropout", input=lambda grad, result1, p, train: grad * (result1 * scale_of(p, train)))
derivative("native_dropout_backward", grad_output=lambda grad, mask, scale: grad * (mask.to(grad.dtype) * scale))
not_differentiable("multinomial")
