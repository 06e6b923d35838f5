"""Simulated kernels of activations, softmax and their backward."""
from __future__ import annotations

from typing import Any

import numpy as np

from ....cpu.ops.reduction import to_opmath
from .forms import CPU, Array, Kernel, named, pointwise, store, whole

#: selu is elu with these.
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
#: GeluV2's approximations.
APPROXIMATE = {0: "none", 1: "tanh"}


def selu(x: Any) -> Any:
    return CPU["elu"](x, SELU_ALPHA, SELU_SCALE, 1)


def selu_backward(grad: Any, result: Any) -> Any:
    return CPU["elu_backward"](grad, SELU_ALPHA, SELU_SCALE, 1, True, result)


def log_sigmoid_forward(self: Array, out: Array, buffer: Array) -> None:
    """Compute log-sigmoid; write the buffer only if it has elements."""
    wide = to_opmath(self)
    result, values = CPU["log_sigmoid_forward"](wide)
    store(out, result)
    if buffer.size:
        store(buffer, values)


def log_sigmoid_backward(grad: Array, self: Array, buffer: Array, out: Array) -> None:
    """Compute the gradient without the forward pass's buffer, which may be empty."""
    grad, wide = map(to_opmath, (grad, self))
    store(out, CPU["log_sigmoid_backward"](grad, wide, np.exp(-np.abs(wide))))


def channels(weight: Array, self: Array) -> Array:
    """Reshape prelu's weights to match the channels, dimension 1; or return the only weight."""
    return weight.reshape(() if weight.size == 1 else (-1, *(1,) * max(self.ndim - 2, 0)))


def prelu_backward(grad: Array, self: Array, weight: Array, out: Array, weight_out: Array) -> None:
    """Sum the weight's gradient over all that the weight was applied to."""
    grad, wide, slope = map(to_opmath, (grad, self, channels(weight, self)))
    grads, of_slope = CPU["_prelu_kernel_backward"](grad, wide, slope)
    store(out, grads)
    axes = tuple(range(self.ndim)) if weight.size == 1 else tuple(a for a in range(self.ndim) if a != 1)
    store(weight_out, np.sum(of_slope, axes))


def of_halves(row: str) -> Kernel:
    """Make softmax's rows; halves are computed in float32."""
    return whole(lambda *args: CPU[row](*[to_opmath(a) for a in args if isinstance(a, Array)],
                                        *[a for a in args if not isinstance(a, Array)]))


KERNELS: dict[str, Kernel] = {
    **named(pointwise, """
        Relu relu                             Elu elu                               EluBackward elu_backward
        Celu celu                             Gelu gelu                             GeluBackward gelu_backward
        GeluBackwardV2 gelu_backward          Silu silu                             SiluBackward silu_backward
        Mish mish                             MishBackward mish_backward            Hardtanh hardtanh
        HardtanhBackward hardtanh_backward    Hardsigmoid hardsigmoid
        HardsigmoidBackward hardsigmoid_backward
        Hardswish hardswish                   HardswishBackward hardswish_backward  LeakyRelu leaky_relu
        LeakyReluBackward leaky_relu_backward                                       Softplus softplus
        SoftplusBackward softplus_backward    Softshrink softshrink
        SoftshrinkBackward softshrink_backward                                      Hardshrink hardshrink
        HardshrinkBackward hardshrink_backward                                      Threshold threshold
        ThresholdBackward threshold_backward
    """),
    "aclnnSelu": pointwise(selu),
    "aclnnSeluBackward": pointwise(selu_backward),
    "aclnnGeluV2": pointwise(lambda x, approximate: CPU["gelu"](x, APPROXIMATE[approximate])),
    "aclnnLogSigmoidForward": log_sigmoid_forward,
    "aclnnLogSigmoidBackward": log_sigmoid_backward,
    "aclnnPrelu": pointwise(lambda x, weight: CPU["_prelu_kernel"](x, channels(weight, x))),
    "aclnnPreluBackward": prelu_backward,
    **named(whole, "Glu glu   GluBackward glu_backward"),
    **named(of_halves, """
        Softmax _softmax                      SoftmaxBackward _softmax_backward_data
        LogSoftmax _log_softmax               LogSoftmaxBackward _log_softmax_backward_data
    """),
}
