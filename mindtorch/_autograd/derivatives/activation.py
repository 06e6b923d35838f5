"""Derivatives of activation functions, and of their derivatives."""
from __future__ import annotations

import math
from typing import Any

from ..._dispatch.aten import (
    cat, elu_backward, leaky_relu_backward, mish_backward, rrelu_with_noise_backward as rrelu_backward, sigmoid,
    sigmoid_backward, silu_backward, softplus, threshold_backward, where_self as where, zeros_like,
)
from ..._dispatch.local import local
from ..._dispatch.schemas import registry
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
    if not local.grad_enabled:
        return mish_backward(grad, self)
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
derivative("threshold", self=registry["threshold_backward"])
derivative("threshold_backward", grad_output=registry["threshold_backward"], self=flat)
derivative("hardtanh", self=registry["hardtanh_backward"])
derivative("hardtanh_backward", grad_output=registry["hardtanh_backward"], self=flat)
derivative("elu", self=lambda grad, alpha, scale, input_scale, self: (
    elu_backward(grad, alpha, scale, input_scale, False, self)))
derivative("elu_", "EluBackward1", self=lambda grad, alpha, scale, input_scale, result: (
    elu_backward(grad, alpha, scale, input_scale, True, result)))
derivative("elu_backward", grad_output=registry["elu_backward"], self_or_result=elu_double_backward)
derivative("celu", self=lambda grad, alpha, self: elu_backward(grad, alpha, 1, 1 / alpha, False, self))
derivative("celu_", "CeluBackward1",
           self=lambda grad, alpha, result: elu_backward(grad, alpha, 1, 1 / alpha, True, result))
derivative("gelu", self=registry["gelu_backward"])
derivative("gelu_backward", grad_output=registry["gelu_backward"], self=gelu_double_backward)
derivative("silu", self=silu_grad)
derivative("mish", self=mish_grad)
derivative("hardsigmoid", self=registry["hardsigmoid_backward"])
derivative("hardswish", self=registry["hardswish_backward"])
derivative("hardswish_backward", grad_output=registry["hardswish_backward"],
           self=lambda grad, grad_output, self: where((self > -3) & (self < 3), grad * grad_output / 3, 0))
derivative("leaky_relu", self=lambda grad, self, negative_slope: leaky_relu_backward(grad, self, negative_slope, False))
derivative("leaky_relu_", "LeakyReluBackward1", self=lambda grad, negative_slope, result: (
    leaky_relu_backward(grad, result, negative_slope, True)))
derivative("leaky_relu_backward",
           grad_output=lambda grad, self, negative_slope: leaky_relu_backward(grad, self, negative_slope, False),
           self=flat)
derivative("softplus", self=registry["softplus_backward"])
derivative("softplus_backward", grad_output=registry["softplus_backward"], self=softplus_double_backward)
derivative("softshrink", self=registry["softshrink_backward"])
derivative("softshrink_backward", grad_output=registry["softshrink_backward"], self=flat)
derivative("hardshrink", self=registry["hardshrink_backward"])
derivative("hardshrink_backward", grad_out=registry["hardshrink_backward"], self=flat)
derivative("log_sigmoid_forward", "LogSigmoidBackward0", (0,), self=registry["log_sigmoid_backward"])
derivative("log_sigmoid_backward", grad_output=registry["log_sigmoid_backward"], self=log_sigmoid_double_backward)
derivative("glu", self=registry["glu_backward"])
derivative("glu_backward", grad_output=glu_in_grad, self=glu_double_backward)
derivative("_prelu_kernel", **{"self, weight": registry["_prelu_kernel_backward"]})
derivative("_prelu_kernel_backward", grad_output=prelu_in_grad,
           self=lambda grads, grad_output, self: (
               zeros_like(self) if grads[1] is None else where(self >= 0, 0, grad_output * grads[1])),
           weight=lambda grads, grad_output, self: (
               zeros_like(self) if grads[0] is None else where(self >= 0, 0, grad_output * grads[0])))
derivative("rrelu_with_noise", self=lambda grad, self, noise, lower, upper, training: (
               rrelu_backward(grad, self, noise, lower, upper, training, False)))
derivative("rrelu_with_noise_", "RreluWithNoiseBackward1", self=lambda grad, result, noise, lower, upper, training: (
               rrelu_backward(grad, result, noise, lower, upper, training, True)))
derivative("rrelu_with_noise_backward", grad_output=lambda grad, self, noise, lower, upper, training: (
               rrelu_backward(grad, self, noise, lower, upper, training, False)),
           self=flat)
