"""Meta kernels of activation functions."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._base.errors import check, check_number, check_real, check_takes
from ...._base.layout import Spec, iterator_strides, wrap_dim
from ...._dtype import COMPLEX, FLOATING, DType, bool_, finfo, uint8
from ...common.pointwise import Pointwise
from . import META_KERNELS
from .core import like_input
from .pointwise import opmath


def activation(name: str, takes: str = "reduced|floating", **options: Any) -> Pointwise:
    """The meta kernel of an activation of one operand."""
    return Pointwise("default", 1, takes, f"{name}_cpu", **options)


def backward(name: str, takes: str = "reduced|floating", **options: Any) -> Pointwise:
    """The meta kernel of a derivative, of a gradient and an input or output."""
    return Pointwise("default", 2, takes, f"{name}_backward_cpu", **options)


def check_clamped(words: str) -> Callable[..., None]:
    """What ``relu`` and ``hardtanh``, which are clamps, refuse."""

    def refuse(promoted: DType, *args: Any) -> None:
        check(promoted is not bool_, words)
        check(promoted.category != COMPLEX, "clamp is not supported for complex types", NotImplementedError)

    return refuse


def check_hardtanh(promoted: DType, self: Any, min_val: Any = -1, max_val: Any = 1) -> None:
    check_clamped("Bool inputs not supported for hardtanh")(promoted)
    check_number(promoted, min_val)
    check_number(promoted, max_val)
    check(promoted is not uint8 or (min_val >= 0 and max_val >= 0),
          "cannot do hardtanh on an unsigned type with negative limits")


def check_hardshrink(promoted: DType, self: Any, lambd: Any = 0.5) -> None:
    if promoted.category == FLOATING:
        check_number(promoted, lambd)


def check_threshold(promoted: DType, self: Any, threshold: Any, value: Any) -> None:
    check_number(opmath(promoted), threshold)
    check_number(promoted, value)


def check_celu(promoted: DType, self: Any, alpha: Any = 1.0) -> None:
    check(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU")


def check_gelu(promoted: DType, self: Any, approximate: str = "none") -> None:
    check(approximate in ("none", "tanh"), "approximate argument must be either none or tanh.")


def check_softshrink(promoted: DType, self: Any, lambd: Any = 0.5) -> None:
    check_takes(promoted.category == FLOATING, "softshrink_check", promoted)
    largest = finfo(promoted).max
    check(0 <= lambd <= largest,
          lambda: f"lambda must be in range [0, {largest:g}] for input dtype {promoted}, but found {lambd}")


def check_leaky_relu_backward(promoted: DType, grad_output: Any, self: Any, negative_slope: Any,
                              self_is_result: bool) -> None:
    check(not self_is_result or negative_slope >= 0,
          "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This is "
          "caused by calling in-place forward function with a negative slope, please call out-of-place version "
          "instead. File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu "
          "backward calculation with negative slope")


def check_rrelu_backward(promoted: DType, grad_output: Any, self: Any, noise: Any, lower: Any, upper: Any,
                         training: bool, self_is_result: bool) -> None:
    if not training:
        check_leaky_relu_backward(promoted, grad_output, self, (lower + upper) / 2, self_is_result)


def check_elu_backward(promoted: DType, grad_output: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool,
                       self_or_result: Any) -> None:
    check(not is_result or alpha >= 0,
          "In-place elu backward calculation is triggered with a negative slope which is not supported. This is caused "
          "by calling in-place forward function with a negative slope, please call out-of-place version instead.")


def glu(self: Any, dim: int = -1) -> Spec:
    check(self.ndim > 0, "glu does not support scalars because halving size must be even")
    dim = wrap_dim(dim, self.ndim)
    size = self.shape[dim]
    check(size % 2 == 0, lambda: f"Halving dimension must be even, but dimension {dim} is size {size}")
    check_real("glu_cpu", self)
    shape = (*self.shape[:dim], size // 2, *self.shape[dim + 1:])
    return Spec(shape, self._dtype, iterator_strides(shape, ((shape, self._strides()),)))


def log_sigmoid(self: Any) -> tuple[Spec, Spec]:
    described = LOG_SIGMOID(self)
    out = Spec(described.shape, described.dtype)
    return out, out  # contiguous, whatever the input is


def prelu_backward(grad_output: Any, self: Any, weight: Any) -> tuple[Spec, Spec]:
    out = PRELU_BACKWARD(grad_output, self, weight)
    return out, out


def rrelu_with_noise(self: Any, noise: Any, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False,
                     generator: Any = None) -> Spec:
    check(lower <= upper, "Lower bound should be less than or equal to the upper bound")
    return RRELU(self)


LOG_SIGMOID = activation("log_sigmoid")
PRELU_BACKWARD = Pointwise("default", 3, "reduced|floating", "prelu_backward_cpu")
RRELU = activation("leaky_relu")

META_KERNELS.add(glu, rrelu_with_noise)
META_KERNELS.update({
    "relu": activation("relu", "real", check=check_clamped("Boolean inputs not supported for relu")),
    "hardtanh": activation("hardtanh", "real", check=check_hardtanh, fast_half=False),
    "hardtanh_backward": backward("hardtanh"),
    "elu": activation("elu"),
    "elu_backward": Pointwise("default", 6, "reduced|floating", "elu_backward_cpu", unpromoted=(1, 2, 3, 4),
                              check=check_elu_backward, fast=False),
    "celu": activation("elu", check=check_celu, fast=False),
    "gelu": Pointwise("default", 1, "reduced|floating", "GeluKernelImpl", check=check_gelu, fast=False),
    "gelu_backward": Pointwise("default", 2, "reduced|floating", "GeluBackwardKernelImpl"),
    "silu": activation("silu", "reduced|floating|complex"),
    "silu_backward": backward("silu", "reduced|floating|complex"),
    "mish": activation("mish"),
    "mish_backward": backward("mish"),
    "hardsigmoid": activation("hardsigmoid"),
    "hardsigmoid_backward": Pointwise("default", 2, "reduced|floating", "hardsigmoid_backward"),
    "hardswish": activation("hardswish"),
    "hardswish_backward": backward("hardswish"),
    "leaky_relu": activation("leaky_relu"),
    "leaky_relu_backward": Pointwise("default", 2, "reduced|floating", "leaky_relu_backward_cpu",
                                     check=check_leaky_relu_backward, fast=False),
    "softplus": activation("softplus"),
    "softplus_backward": backward("softplus"),
    "softshrink": activation("softshrink", check=check_softshrink, fast=False),
    "softshrink_backward": backward("softshrink", opmath=False),
    "hardshrink": activation("hardshrink", check=check_hardshrink, fast=False, opmath=False),
    "hardshrink_backward": backward("hardshrink", opmath=False),
    "threshold": activation("threshold", "real", check=check_threshold, fast=False),
    "threshold_backward": Pointwise("default", 2, "real", "threshold_cpu"),
    "log_sigmoid_forward": log_sigmoid,
    "log_sigmoid_backward": Pointwise("default", 3, "reduced|floating", "log_sigmoid_backward_cpu"),
    "glu_backward": like_input,
    "_prelu_kernel": Pointwise("default", 2, "reduced|floating", "prelu_cpu"),
    "_prelu_kernel_backward": prelu_backward,
    "rrelu_with_noise_backward": Pointwise("default", 3, "reduced|floating", "rrelu_with_noise_backward_cpu",
                                           check=check_rrelu_backward, fast=False),
})
