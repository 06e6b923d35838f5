"""Activations and their derivatives, as functions of tensors."""
from __future__ import annotations

import math
from typing import Any

from .._dtype import float32
from .rows import aten, in_opmath, row


@row(aten.sigmoid_backward.default)
@in_opmath
def sigmoid_backward(grad_output: Any, output: Any) -> Any:
    return grad_output * (output * (1 - output)).conj_physical()


@row(aten.tanh_backward.default)
@in_opmath
def tanh_backward(grad_output: Any, output: Any) -> Any:
    return grad_output * (1 - output * output).conj_physical()


@row(aten.softplus.default)
@in_opmath
def softplus(self: Any, beta: float = 1, threshold: float = 20) -> Any:
    scaled = self * beta
    return aten.where.self(scaled > threshold, self, scaled.exp().log1p() / beta)


@row(aten.softplus_backward.default)
@in_opmath
def softplus_backward(grad_output: Any, self: Any, beta: float, threshold: float) -> Any:
    power = (self * beta).exp()
    return aten.where.self(self * beta > threshold, grad_output, grad_output * power / (power + 1.0))


@row(aten.elu.default)
@in_opmath
def elu(self: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    return aten.where.self(self > 0, self * scale, (self * input_scale).expm1() * (alpha * scale))


@row(aten.elu_backward.default)
@in_opmath
def elu_backward(grad_output: Any, alpha: float, scale: float, input_scale: float, is_result: bool,
                 self_or_result: Any) -> Any:
    negative, positive = alpha * scale, scale
    if is_result:
        return aten.where.self(self_or_result <= 0, grad_output * input_scale * (self_or_result + negative),
                               grad_output * positive)
    return aten.where.self(self_or_result <= 0,
                           grad_output * input_scale * negative * (self_or_result * input_scale).exp(),
                           grad_output * positive)


@row(aten.celu.default)
@in_opmath
def celu(self: Any, alpha: float = 1.0) -> Any:
    return elu(self, alpha, 1.0, 1.0 / alpha)


@row(aten.hardsigmoid.default)
@in_opmath
def hardsigmoid(self: Any) -> Any:
    return (self + 3).clamp(0, 6) / 6


@row(aten.hardsigmoid_backward.default)
@in_opmath
def hardsigmoid_backward(grad_output: Any, self: Any) -> Any:
    return aten.where.self((self > -3.0) & (self < 3.0), grad_output * (1.0 / 6.0),
                           aten.zeros_like.default(grad_output))


@row(aten.hardtanh_backward.default)
@in_opmath
def hardtanh_backward(grad_output: Any, self: Any, min_val: float, max_val: float) -> Any:
    return aten.where.self((self <= min_val) | (self >= max_val), aten.zeros_like.default(grad_output), grad_output)


@row(aten.hardswish.default)
@in_opmath
def hardswish(self: Any) -> Any:
    return self * (self + 3).clamp(0, 6) / 6


@row(aten.hardswish_backward.default)
@in_opmath
def hardswish_backward(grad_output: Any, self: Any) -> Any:
    inside = aten.where.self(self < 3, grad_output * (self / 3 + 0.5), grad_output)
    return aten.where.self(self <= -3, aten.zeros_like.default(grad_output), inside)


@row(aten.threshold.default)
def threshold(self: Any, threshold: float, value: float) -> Any:
    return aten.where.self(self <= threshold, aten.full_like.default(self, value), self)


@row(aten.threshold_backward.default)
@in_opmath
def threshold_backward(grad_output: Any, self: Any, threshold: float) -> Any:
    return aten.where.self(self <= threshold, aten.zeros_like.default(grad_output), grad_output)


@row(aten.leaky_relu.default)
@in_opmath
def leaky_relu(self: Any, negative_slope: float = 0.01) -> Any:
    return aten.where.self(self > 0, self, self * negative_slope)


@row(aten.leaky_relu_backward.default)
@in_opmath
def leaky_relu_backward(grad_output: Any, self: Any, negative_slope: float, self_is_result: bool) -> Any:
    return aten.where.self(self > 0, grad_output, grad_output * negative_slope)


@row(aten._prelu_kernel.default)
def _prelu_kernel(self: Any, weight: Any) -> Any:
    return aten.where.self(self > 0, self, weight * self)


@row(aten._prelu_kernel_backward.default)
def _prelu_kernel_backward(grad_output: Any, self: Any, weight: Any) -> tuple[Any, Any]:
    positive = self > 0
    return (aten.where.self(positive, grad_output, weight * grad_output),
            aten.where.self(positive, aten.zeros_like.default(grad_output), self * grad_output))


@row(aten.gelu_backward.default)
@in_opmath
def gelu_backward(grad: Any, self: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        scale, cubic = math.sqrt(2) * 2 / math.sqrt(math.pi) * 0.5, 0.044715
        inner = scale * (self + cubic * self * self * self)
        tanh = inner.tanh()
        left, right = 0.5 * self, 1 + tanh
        slope = (1 - tanh * tanh) * (scale * (1 + 3 * cubic * self * self))
        return grad * (0.5 * right + left * slope)
    cdf = 0.5 * (1 + (self * math.sqrt(0.5)).erf())
    density = (self * self * -0.5).exp() * (2 / math.sqrt(math.pi) * math.sqrt(0.5) * 0.5)
    return grad * (cdf + self * density)


@row(aten.mish.default)
@in_opmath
def mish(self: Any) -> Any:
    return self * softplus(self).tanh()


@row(aten.mish_backward.default)
@in_opmath
def mish_backward(grad_output: Any, self: Any) -> Any:
    tanh = softplus(self).tanh()
    return grad_output * (tanh + self * self.sigmoid() * (1 - tanh * tanh))


@row(aten.silu.default)
@in_opmath
def silu(self: Any) -> Any:
    return self * self.sigmoid()


@row(aten.silu_backward.default)
@in_opmath
def silu_backward(grad_output: Any, self: Any) -> Any:
    sigmoid = 1 / (1 + (-self).exp())
    return grad_output * sigmoid * (1 + self * (1 - sigmoid))


@row(aten.softshrink.default)
def softshrink(self: Any, lambd: float = 0.5) -> Any:
    return aten.where.self(self.abs() > lambd, self - self.sign() * lambd, self * 0)


@row(aten.hardshrink.default)
def hardshrink(self: Any, lambd: float = 0.5) -> Any:
    return aten.where.self(self.abs() <= lambd, aten.zeros_like.default(self), self)


@row(aten.glu.default)
@in_opmath
def glu(self: Any, dim: int = -1) -> Any:
    size = self.shape[dim] // 2
    return self.narrow(dim, 0, size) * self.narrow(dim, size, size).sigmoid()


@row(aten.glu_backward.default)
@in_opmath
def glu_backward(grad_output: Any, self: Any, dim: int) -> Any:
    size = self.shape[dim] // 2
    first, second = self.narrow(dim, 0, size), self.narrow(dim, size, size)
    gate = second.sigmoid()
    return aten.cat.default([grad_output * gate, grad_output * first * gate * (1 - gate)], dim)


@row(aten.log_sigmoid_forward.default)
@in_opmath
def log_sigmoid_forward(self: Any) -> tuple[Any, Any]:
    smaller = self.clamp_max(0)
    power = (-self.abs()).exp()
    return smaller - power.log1p(), power.new_zeros((0,)) if self.is_cuda else power


@row(aten.log_sigmoid_backward.default)
@in_opmath
def log_sigmoid_backward(grad_output: Any, self: Any, buffer: Any) -> Any:
    power = (-self.abs()).exp()
    slope = aten.where.self(self < 0, aten.ones_like.default(self), aten.zeros_like.default(self))
    sign = aten.where.self(self < 0, aten.ones_like.default(self), -aten.ones_like.default(self))
    return grad_output * (slope - sign * (power / (1 + power)))


@row(aten.logit.default)
@in_opmath
def logit(self: Any, eps: float | None = None) -> Any:
    value = self if eps is None else self.clamp(eps, 1 - eps)
    return (value / (1 - value)).log()


@row(aten.rrelu_with_noise_backward.default)
@in_opmath
def rrelu_with_noise_backward(grad_output: Any, self: Any, noise: Any, lower: float, upper: float, training: bool,
                              self_is_result: bool) -> Any:
    if training and upper - lower > 1e-6:
        return grad_output * noise
    return leaky_relu_backward(grad_output, self, (lower + upper) / 2, self_is_result)


@row(aten._softmax.default)
def _softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    return _in_wider(self, half_to_float, lambda x: _normalised((x - x.amax(dim, keepdim=True)).exp(), dim)
                     if x.numel() else x.exp() / x.exp().sum(dim, keepdim=True))


@row(aten._log_softmax.default)
def _log_softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    def logarithm(x: Any) -> Any:
        shifted = x - x.amax(dim, keepdim=True) if x.numel() else x
        return shifted - shifted.exp().sum(dim, keepdim=True).log()

    return _in_wider(self, half_to_float, logarithm)


def _normalised(power: Any, dim: int) -> Any:
    return power / power.sum(dim, keepdim=True)


def _in_wider(self: Any, stays_wider: bool, function: Any) -> Any:
    """Compute on a contiguous tensor; on half precision in float32, which the result keeps if it ``stays_wider``."""
    compute = in_opmath(function)
    if stays_wider:
        return function(self.contiguous().to(float32))
    return compute(self.contiguous())


@row(aten._softmax_backward_data.default)
def _softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    weighted = grad_output * output
    return (weighted - output * weighted.sum(dim, keepdim=True)).to(input_dtype).contiguous()


@row(aten._log_softmax_backward_data.default)
def _log_softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    return (grad_output - output.exp() * grad_output.sum(dim, keepdim=True)).to(input_dtype)
