"""Derivatives of activation functions, and of their derivatives."""
from __future__ import annotations

import math
from typing import Any

from ..._dispatch.aten import (
    _prelu_kernel_backward as prelu_backward, cat, elu_backward, gelu_backward, glu_backward, hardshrink_backward,
    hardsigmoid_backward, hardswish_backward, hardtanh_backward, leaky_relu_backward, log_sigmoid_backward,
    rrelu_with_noise_backward as rrelu_backward, sigmoid, sigmoid_backward, silu_backward, softplus, softplus_backward,
    softshrink_backward, threshold_backward, where_self as where, zeros_like,
)
from ..._dispatch.local import local
from ..derivative import derivative
from .pointwise import conj

TANH_SCALE, TANH_CUBIC = math.sqrt(2 / math.pi), 0.044715  # of gelu's approximation by tanh


def flat(grad: Any) -> Any:
    """The derivative of a function that is linear between its kinks."""
    return zeros_like(grad)


def elu_double_backward(grad: Any, grad_output: Any, alpha: Any, scale: Any, input_scale: Any,
                        is_result: bool, self_or_result: Any) -> Any:
    product = grad * grad_output * input_scale
    if not is_result:
        product = product * (self_or_result * input_scale).exp() * (alpha * scale * input_scale)
    return where(self_or_result < 0, product, 0)


def gelu_double_backward(grad: Any, grad_output: Any, self: Any, approximate: str) -> Any:
    square = self * self
    if approximate == "none":
        return grad * grad_output * (-0.5 * square).exp() * (2 - square) / math.sqrt(2 * math.pi)
    tanh = (TANH_SCALE * (self + TANH_CUBIC * square * self)).tanh()
    slope = TANH_SCALE * (1 + 3 * TANH_CUBIC * square)
    bend = 6 * TANH_CUBIC * TANH_SCALE * self
    return grad * grad_output * (1 - tanh * tanh) * (slope + 0.5 * self * (bend - 2 * tanh * slope * slope))


def silu_grad(grad: Any, self: Any) -> Any:
    if not local.grad_enabled:
        return silu_backward(grad, self)
    gate = sigmoid(self)
    return grad * conj(gate * (1 + self * (1 - gate)))


def mish_grad(grad: Any, self: Any) -> Any:
    tanh = softplus(self).tanh()
    return grad * (tanh + self * sigmoid(self) * (1 - tanh * tanh))


def log_sigmoid_double_backward(grad: Any, grad_output: Any, self: Any) -> Any:
    gate = sigmoid(self)
    return grad * grad_output * (gate - 1) * gate


def softplus_double_backward(grad: Any, grad_output: Any, self: Any, beta: Any, threshold: Any) -> Any:
    scaled = self * beta
    return sigmoid_backward(grad * grad_output, sigmoid(scaled)) * (scaled < threshold) * beta


def glu_double_backward(grad: Any, grad_output: Any, self: Any, dim: int) -> Any:
    first, second = self.chunk(2, dim)
    of_first, of_second = grad.chunk(2, dim)
    gate = sigmoid(second)
    slope = gate * (1 - gate) * grad_output
    return cat([of_second * slope, slope * (of_first + of_second * first * (1 - 2 * gate))], dim)


def glu_in_grad(grad: Any, self: Any, dim: int) -> Any:
    first, second = self.chunk(2, dim)
    of_first, of_second = grad.chunk(2, dim)
    gate = sigmoid(second)
    return of_first * gate + of_second * first * gate * (1 - gate)


def prelu_in_grad(grads: Any, self: Any, weight: Any) -> Any:
    of_self, of_weight = grads
    above, below = 0, 0
    if of_self is not None:
        above, below = of_self, of_self * weight
    if of_weight is not None:
        below = below + of_weight * self
    return where(self >= 0, above, below)


derivative("relu", self=lambda grad, result: threshold_backward(grad, result, 0))
derivative("threshold", self=lambda grad, self, threshold: threshold_backward(grad, self, threshold))
derivative("threshold_backward",
           grad_output=lambda grad, self, threshold: threshold_backward(grad, self, threshold), self=flat)
derivative("hardtanh", self=lambda grad, self, min_val, max_val: hardtanh_backward(grad, self, min_val, max_val))
derivative("hardtanh_backward",
           grad_output=lambda grad, self, min_val, max_val: hardtanh_backward(grad, self, min_val, max_val),
           self=flat)
derivative("elu", self=lambda grad, alpha, scale, input_scale, self: (
    elu_backward(grad, alpha, scale, input_scale, False, self)))
derivative("elu_", "EluBackward1", self=lambda grad, alpha, scale, input_scale, result: (
    elu_backward(grad, alpha, scale, input_scale, True, result)))
derivative("elu_backward",
           grad_output=lambda grad, alpha, scale, input_scale, is_result, self_or_result: (
               elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result)),
           self_or_result=elu_double_backward)
derivative("celu", self=lambda grad, alpha, self: elu_backward(grad, alpha, 1, 1 / alpha, False, self))
derivative("celu_", "CeluBackward1",
           self=lambda grad, alpha, result: elu_backward(grad, alpha, 1, 1 / alpha, True, result))
derivative("gelu", self=lambda grad, self, approximate: gelu_backward(grad, self, approximate))
derivative("gelu_backward",
           grad_output=lambda grad, self, approximate: gelu_backward(grad, self, approximate),
           self=gelu_double_backward)
derivative("silu", self=silu_grad)
derivative("mish", self=mish_grad)
derivative("hardsigmoid", self=lambda grad, self: hardsigmoid_backward(grad, self))
derivative("hardswish", self=lambda grad, self: hardswish_backward(grad, self))
derivative("hardswish_backward",
           grad_output=lambda grad, self: hardswish_backward(grad, self),
           self=lambda grad, grad_output, self: where((self > -3) & (self < 3), grad * grad_output / 3, 0))
derivative("leaky_relu", self=lambda grad, self, negative_slope: leaky_relu_backward(grad, self, negative_slope, False))
derivative("leaky_relu_", "LeakyReluBackward1", self=lambda grad, negative_slope, result: (
    leaky_relu_backward(grad, result, negative_slope, True)))
derivative("leaky_relu_backward",
           grad_output=lambda grad, self, negative_slope: leaky_relu_backward(grad, self, negative_slope, False),
           self=flat)
derivative("softplus", self=lambda grad, self, beta, threshold: softplus_backward(grad, self, beta, threshold))
derivative("softplus_backward",
           grad_output=lambda grad, self, beta, threshold: softplus_backward(grad, self, beta, threshold),
           self=softplus_double_backward)
derivative("softshrink", self=lambda grad, self, lambd: softshrink_backward(grad, self, lambd))
derivative("softshrink_backward",
           grad_output=lambda grad, self, lambd: softshrink_backward(grad, self, lambd), self=flat)
derivative("hardshrink", self=lambda grad, self, lambd: hardshrink_backward(grad, self, lambd))
derivative("hardshrink_backward", grad_out=lambda grad, self, lambd: hardshrink_backward(grad, self, lambd), self=flat)
derivative("log_sigmoid_forward", "LogSigmoidBackward0",
           self=lambda grad, self, buffer: log_sigmoid_backward(grad, self, buffer))
derivative("log_sigmoid_backward",
           grad_output=lambda grad, self, buffer: log_sigmoid_backward(grad, self, buffer),
           self=log_sigmoid_double_backward)
derivative("glu", self=lambda grad, self, dim: glu_backward(grad, self, dim))
derivative("glu_backward", grad_output=glu_in_grad, self=glu_double_backward)
derivative("_prelu_kernel", **{"self, weight": lambda grad, self, weight: prelu_backward(grad, self, weight)})
derivative("_prelu_kernel_backward",
           grad_output=prelu_in_grad,
           self=lambda grads, grad_output, self: (
               zeros_like(self) if grads[1] is None else where(self >= 0, 0, grad_output * grads[1])),
           weight=lambda grads, grad_output, self: (
               zeros_like(self) if grads[0] is None else where(self >= 0, 0, grad_output * grads[0])))
derivative("rrelu_with_noise",
           self=lambda grad, self, noise, lower, upper, training: (
               rrelu_backward(grad, self, noise, lower, upper, training, False)))
derivative("rrelu_with_noise_", "RreluWithNoiseBackward1",
           self=lambda grad, result, noise, lower, upper, training: (
               rrelu_backward(grad, result, noise, lower, upper, training, True)))
derivative("rrelu_with_noise_backward",
           grad_output=lambda grad, self, noise, lower, upper, training: (
               rrelu_backward(grad, self, noise, lower, upper, training, False)),
           self=flat)
