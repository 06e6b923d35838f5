"""Activation functions and what their derivatives are written in.

Most of them have no public function in PyTorch's namespace: ``nn.functional`` gives them one."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._backends.common.pointwise import Pointwise
from .._base.errors import NAMES, check, check_number, check_real, check_takes
from .._base.layout import Ints, Spec, iterator_strides, wrap_dim
from .._dispatch.aten import (
    _prelu_kernel as prelu_kernel, cat, elu, elu_, elu_backward, hardtanh, leaky_relu_backward, log_sigmoid_forward,
    mish_backward, rrelu_with_noise, rrelu_with_noise_, rrelu_with_noise_backward as rrelu_backward, sigmoid,
    sigmoid_backward, silu_backward, softplus, threshold_backward, where_self as where, zeros_like,
)
from .._dispatch.schemas import registry
from .._dtype import COMPLEX, FLOATING, DType, bool_, finfo, float16, float64, uint8
from .._tensor import Tensor
from .._transforms.batching.rules import along_dimensions, as_it_is
from . import composites, differentiates, operator, schemas
from .core import like_input
from .pointwise import conj, opmath


def activation(name: str, takes: str = "reduced|floating", **options: Any) -> Pointwise:
    """Return the meta kernel of an activation of one operand."""
    return Pointwise("default", 1, takes, f"{name}_cpu", **options)


def backward(name: str, takes: str = "reduced|floating", **options: Any) -> Pointwise:
    """Return the meta kernel of a derivative, which takes a gradient and an input or output."""
    return Pointwise("default", 2, takes, f"{name}_backward_cpu", **options)


class SelfFirst(Pointwise):
    """A derivative whose result lies like `self`: ATen's iterator takes `self` before `grad_output`."""

    def layout(self, operands: tuple[Any, ...], dtype: DType | None = None) -> tuple[Ints, Ints | None]:
        return super().layout((*operands[1:], operands[0]), dtype)


class GradientFirst(Pointwise):
    """A derivative whose result lies like ``grad_output`` alone, like which ATen allocates it."""

    def layout(self, operands: tuple[Any, ...], dtype: DType | None = None) -> tuple[Ints, Ints | None]:
        return super().layout(operands[:1], dtype)


def flat(grad: Tensor) -> Any:
    """Return the derivative of a function that is linear between its kinks."""
    return zeros_like(grad)


schemas("""
function, method, in-place:
    relu(Tensor self) -> Tensor  # Each element of `self`, or zero where it is negative.
operator only:
    hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor
    relu6(Tensor self) -> Tensor  # Each element of `self`, limited to the range from 0 to 6.
    elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor
in-place, out, exact dtype, no overlap:
    hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor  # Each element of `self`, limited to the range from `min_val` to `max_val`.
    elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor  # Each element x of `self` where it is positive, otherwise `alpha` (exp x - 1).
""")  # noqa: E501


def check_clamped(words: str) -> Callable[..., None]:
    """Refuse the dtypes that ``relu`` and ``hardtanh``, which are clamps, do not take."""

    def refuse(promoted: DType, *args: Any) -> None:
        check(promoted is not bool_, words)
        check(promoted.category != COMPLEX, "clamp is not supported for complex types", NotImplementedError)

    return refuse


def check_hardtanh(promoted: DType, self: Tensor, min_val: Any = -1, max_val: Any = 1) -> None:
    check_clamped("Bool inputs not supported for hardtanh")(promoted)
    if promoted is uint8:  # whose limits PyTorch truncates first
        min_val, max_val = (int(number) if number - number == 0 else number for number in (min_val, max_val))
        check(not (min_val < 0 or max_val < 0), "cannot do hardtanh on an unsigned type with negative limits")
    check_number(promoted, min_val)
    check_number(promoted, max_val)


def check_numbers(promoted: DType, self: Tensor, *numbers: Any) -> None:
    """Refuse numbers that the dtype in which an activation is computed cannot hold."""
    if promoted.category == FLOATING:
        for number in numbers:
            check_number(opmath(promoted), number)


def check_elu_backward(promoted: DType, grad_output: Tensor, alpha: Any, scale: Any, input_scale: Any, is_result: bool,
                       self_or_result: Tensor) -> None:
    check(not is_result or alpha >= 0,
          "In-place elu backward calculation is triggered with a negative slope which is not supported. This is caused "
          "by calling in-place forward function with a negative slope, please call out-of-place version instead.")


def elu_double_backward(grad: Tensor, grad_output: Tensor, alpha: Any, scale: Any, input_scale: Any,
                        is_result: bool, self_or_result: Any) -> Any:
    product = grad * grad_output * input_scale
    if not is_result:
        product = elu_backward(product, alpha, scale, input_scale, is_result, self_or_result)
    return product * (self_or_result < 0)


operator("relu", activation("relu", "real", check=check_clamped("Boolean inputs not supported for relu")),
         self=lambda grad, result: threshold_backward(grad, result, 0))
operator("hardtanh_backward", backward("hardtanh", opmath=False), grad_output=registry["hardtanh_backward"], self=flat)
operator("hardtanh", activation("hardtanh", "real", check=check_hardtanh, fast_half=False),
         self=registry["hardtanh_backward"])
operator("relu6", composite=lambda self: hardtanh(self, 0, 6))
operator("elu_backward",
         Pointwise("default", 6, "reduced|floating", "elu_backward_cpu", unpromoted=(1, 2, 3, 4),
                   check=check_elu_backward, fast=False, opmath=False), grad_output=registry["elu_backward"],
         self_or_result=elu_double_backward)
operator("elu", activation("elu", check=check_numbers),
         self=lambda grad, alpha, scale, input_scale, self: (
             elu_backward(grad, alpha, scale, input_scale, False, self)))
operator("elu_", node="EluBackward1",
         self=lambda grad, alpha, scale, input_scale, result: (
             elu_backward(grad, alpha, scale, input_scale, True, result)))

schemas("""
operator only:
    gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor
    silu_backward(Tensor grad_output, Tensor self) -> Tensor
    mish_backward(Tensor grad_output, Tensor self) -> Tensor
    hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor
    hardswish_backward(Tensor grad_output, Tensor self) -> Tensor
in-place, out, exact dtype, no overlap:
    gelu(Tensor self, *, str approximate='none') -> Tensor  # Each element of `self` times the probability that a standard normal variable is below it, exactly or with `approximate` 'tanh'.
    silu(Tensor self) -> Tensor  # Each element of `self` times its sigmoid.
    mish(Tensor self) -> Tensor  # Each element of `self` times the hyperbolic tangent of its softplus.
    hardsigmoid(Tensor self) -> Tensor  # Each element x of `self` as x / 6 + 1 / 2, limited to the range from 0 to 1.
    hardswish(Tensor self) -> Tensor  # Each element of `self` times its hardsigmoid.
""")  # noqa: E501


def check_gelu(promoted: DType, self: Tensor, approximate: str = "none") -> None:
    check(approximate in ("none", "tanh"), "approximate argument must be either none or tanh.")


TANH_SCALE, TANH_CUBIC = math.sqrt(2 / math.pi), 0.044715  # of gelu's approximation by tanh


def gelu_double_backward(grad: Tensor, grad_output: Tensor, self: Tensor, approximate: str) -> Tensor:
    square = self * self
    if approximate == "none":
        return grad * grad_output * (-0.5 * square).exp() * (2 - square) / math.sqrt(2 * math.pi)
    tanh = (TANH_SCALE * (self + TANH_CUBIC * square * self)).tanh()
    slope = TANH_SCALE * (1 + 3 * TANH_CUBIC * square)
    bend = 6 * TANH_CUBIC * TANH_SCALE * self
    return grad * grad_output * (1 - tanh * tanh) * (slope + 0.5 * self * (bend - 2 * tanh * slope * slope))


def silu_grad(grad: Tensor, self: Tensor) -> Any:
    if not differentiates(grad, self):
        return silu_backward(grad, self)
    gate = sigmoid(self)
    return grad * conj(gate * (1 + self * (1 - gate)))


def mish_grad(grad: Tensor, self: Tensor) -> Tensor:
    if not differentiates(grad, self):
        return mish_backward(grad, self)
    tanh = softplus(self).tanh()
    return grad * (tanh + self * sigmoid(self) * (1 - tanh * tanh))


operator("gelu_backward", Pointwise("default", 2, "reduced|floating", "GeluBackwardKernelImpl"),
         grad_output=registry["gelu_backward"], self=gelu_double_backward)
operator("gelu", Pointwise("default", 1, "reduced|floating", "GeluKernelImpl", check=check_gelu, fast=False),
         self=registry["gelu_backward"])
operator("silu_backward", backward("silu", "reduced|floating|complex"))
operator("silu", activation("silu", "reduced|floating|complex"), self=silu_grad)
operator("mish_backward", backward("mish"))
operator("mish", activation("mish"), self=mish_grad)
operator("hardsigmoid_backward", Pointwise("default", 2, "reduced|floating", "hardsigmoid_backward"))
operator("hardsigmoid", activation("hardsigmoid"), self=registry["hardsigmoid_backward"])
operator("hardswish_backward", backward("hardswish", opmath=False), grad_output=registry["hardswish_backward"],
         self=lambda grad, grad_output, self: where((self > -3) & (self < 3), grad * grad_output / 3, 0))
operator("hardswish", activation("hardswish"), self=registry["hardswish_backward"])

schemas("""
operator only:
    leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor
    rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, bool self_is_result) -> Tensor
    softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor
in-place, out, exact dtype, no overlap:
    leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor  # Each element of `self`, multiplied by `negative_slope` where it is negative.
    softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor  # The smooth form log(1 + exp(`beta` x)) / `beta` of relu for each element x of `self`, which is x itself where `beta` x exceeds `threshold`.
in-place:
    rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor  # Each element of `self`, multiplied where it is negative by a slope drawn between `lower` and `upper`, which is written into `noise`.
""")  # noqa: E501


def check_leaky_relu_backward(promoted: DType, grad_output: Tensor, self: Tensor, negative_slope: Any,
                              self_is_result: bool) -> None:
    check(not self_is_result or negative_slope >= 0,
          "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This is "
          "caused by calling in-place forward function with a negative slope, please call out-of-place version "
          "instead. File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu "
          "backward calculation with negative slope")


def check_rrelu_backward(promoted: DType, grad_output: Tensor, self: Tensor, noise: Any, lower: Any, upper: Any,
                         training: bool, self_is_result: bool) -> None:
    if not training:
        check_leaky_relu_backward(promoted, grad_output, self, (lower + upper) / 2, self_is_result)


def meta_rrelu_with_noise(self: Tensor, noise: Tensor, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False,
                          generator: Any = None) -> Spec:
    check(lower <= upper, "Lower bound should be less than or equal to the upper bound")
    if not training:
        return LEAKY(self)._replace(stride=None)
    dtype = self._dtype
    check_takes(dtype.category == FLOATING and dtype is not float16, "rrelu_with_noise_out_cpu", dtype)
    return Spec(tuple(self.shape), dtype)


LEAKY = activation("leaky_relu")


def softplus_double_backward(grad: Tensor, grad_output: Tensor, self: Tensor, beta: Any, threshold: Any) -> Any:
    scaled = self * beta
    return sigmoid_backward(grad * grad_output, sigmoid(scaled)) * (scaled < threshold) * beta


operator("leaky_relu_backward",
         SelfFirst("default", 2, "reduced|floating", "leaky_relu_backward_cpu",
                   check=check_leaky_relu_backward, fast=False),
         grad_output=lambda grad, self, negative_slope: leaky_relu_backward(grad, self, negative_slope, False),
         self=flat)
operator("rrelu_with_noise_backward",
         Pointwise("default", 3, "reduced|floating", "rrelu_with_noise_backward_cpu",
                   check=check_rrelu_backward, fast=False),
         grad_output=lambda grad, self, noise, lower, upper, training: (
             rrelu_backward(grad, self, noise, lower, upper, training, False)), self=flat)
operator("leaky_relu", activation("leaky_relu", check=check_numbers),
         self=lambda grad, self, negative_slope: leaky_relu_backward(grad, self, negative_slope, False))
operator("leaky_relu_", node="LeakyReluBackward1",
         self=lambda grad, negative_slope, result: (
             leaky_relu_backward(grad, result, negative_slope, True)))
operator("rrelu_with_noise", meta_rrelu_with_noise,
         self=lambda grad, self, noise, lower, upper, training: (
             rrelu_backward(grad, self, noise, lower, upper, training, False)))
operator("rrelu_with_noise_", node="RreluWithNoiseBackward1",
         self=lambda grad, result, noise, lower, upper, training: (
             rrelu_backward(grad, result, noise, lower, upper, training, True)))
operator("softplus_backward", backward("softplus"), grad_output=registry["softplus_backward"],
         self=softplus_double_backward)
operator("softplus", activation("softplus", check=check_numbers), autocast="npu float32",
         self=registry["softplus_backward"])

schemas("""
operator only:
    softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor
    hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor
    threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor
    log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)  # The logarithm of the sigmoid of each element of `self`, and a buffer for its derivative.
    log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor
out, exact dtype, no overlap:
    softshrink(Tensor self, Scalar lambd=0.5) -> Tensor  # Each element of `self` moved towards zero by `lambd`, and zero where it is nearer than that.
    log_sigmoid(Tensor self) -> Tensor  # The logarithm of the sigmoid of each element of `self`.
function, method, out, exact dtype, no overlap:
    hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor  # Each element of `self`, or zero where its absolute value is not above `lambd`.
function, in-place, out:
    threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor  # Each element of `self` that is above `threshold`, otherwise `value`.
""")  # noqa: E501


def check_hardshrink(promoted: DType, self: Tensor, lambd: Any = 0.5) -> None:
    if promoted.category == FLOATING:
        check_number(promoted, lambd)


def check_threshold(promoted: DType, self: Tensor, threshold: Any, value: Any) -> None:
    check_number(opmath(promoted), threshold)
    check_number(promoted, value)


def check_softshrink(promoted: DType, self: Tensor, lambd: Any = 0.5) -> None:
    check_number(float64, lambd)
    check_takes(promoted.category == FLOATING, "softshrink_check", promoted)
    largest = finfo(promoted).max
    check(0 <= lambd <= largest,
          lambda: f"lambda must be in range [0, {largest:g}] for input dtype {NAMES[promoted.name]}, but found {lambd}")


def meta_log_sigmoid(self: Tensor) -> tuple[Spec, Spec]:
    described = LOG_SIGMOID(self)
    out = Spec(described.shape, described.dtype)
    return out, out  # contiguous, whatever the input is


LOG_SIGMOID = activation("log_sigmoid")


def log_sigmoid_double_backward(grad: Tensor, grad_output: Tensor, self: Tensor) -> Tensor:
    gate = sigmoid(self)
    return grad * grad_output * (gate - 1) * gate


operator("softshrink_backward", backward("softshrink", opmath=False), grad_output=registry["softshrink_backward"],
         self=flat)
operator("softshrink", activation("softshrink", check=check_softshrink, fast=False),
         self=registry["softshrink_backward"])
operator("hardshrink_backward", backward("hardshrink", opmath=False), grad_out=registry["hardshrink_backward"],
         self=flat)
operator("hardshrink", activation("hardshrink", check=check_hardshrink, fast=False, opmath=False),
         self=registry["hardshrink_backward"])
operator("threshold_backward", SelfFirst("default", 2, "real", "threshold_cpu"),
         grad_output=registry["threshold_backward"], self=flat)
operator("threshold", activation("threshold", "real", check=check_threshold, fast=False),
         self=registry["threshold_backward"])
operator("log_sigmoid_forward", meta_log_sigmoid, batching=as_it_is, node="LogSigmoidBackward0", outputs=(0,),
         self=registry["log_sigmoid_backward"])
operator("log_sigmoid_backward", GradientFirst("default", 3, "reduced|floating", "log_sigmoid_backward_cpu"),
         grad_output=registry["log_sigmoid_backward"], self=log_sigmoid_double_backward)
operator("log_sigmoid", composite=lambda self: log_sigmoid_forward(self)[0])

schemas("""
operator only:
    glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor
    _prelu_kernel(Tensor self, Tensor weight) -> Tensor  # Each element of `self`, multiplied by the element of `weight` broadcast there where it is negative.
    _prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)
out:
    glu(Tensor self, int dim=-1) -> Tensor  # The first half of `self` along `dim` times the sigmoid of the second.
""")  # noqa: E501


def meta_glu(self: Tensor, dim: int = -1) -> Spec:
    check(self.ndim > 0, "glu does not support scalars because halving size must be even")
    dim = wrap_dim(dim, self.ndim)
    size = self.shape[dim]
    check(size % 2 == 0, lambda: f"Halving dimension must be even, but dimension {dim} is size {size}")
    check_real("glu_cpu", self)
    shape = (*self.shape[:dim], size // 2, *self.shape[dim + 1:])
    return Spec(shape, self._dtype, iterator_strides(shape, ((shape, self._strides()),)))


def prelu_backward(grad_output: Tensor, self: Tensor, weight: Any) -> tuple[Spec, Spec]:
    out = PRELU_BACKWARD(grad_output, self, weight)
    return out, out


PRELU_BACKWARD = SelfFirst("default", 3, "reduced|floating", "prelu_backward_cpu")


def glu_double_backward(grad: Tensor, grad_output: Tensor, self: Tensor, dim: int) -> Tensor:
    first, second = self.chunk(2, dim)
    of_first, of_second = grad.chunk(2, dim)
    gate = sigmoid(second)
    slope = gate * (1 - gate) * grad_output
    return cat([of_second * slope, slope * (of_first + of_second * first * (1 - 2 * gate))], dim)


def glu_in_grad(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    first, second = self.chunk(2, dim)
    of_first, of_second = grad.chunk(2, dim)
    gate = sigmoid(second)
    return of_first * gate + of_second * first * gate * (1 - gate)


def prelu_in_grad(grads: Any, self: Tensor, weight: Any) -> Tensor:
    of_self, of_weight = grads
    above, below = 0, 0
    if of_self is not None:
        above, below = of_self, of_self * weight
    if of_weight is not None:
        below = below + of_weight * self
    return where(self >= 0, above, below)


operator("glu_backward", like_input, grad_output=glu_in_grad, self=glu_double_backward)
operator("glu", meta_glu, batching=along_dimensions, self=registry["glu_backward"])
operator("_prelu_kernel", Pointwise("default", 2, "reduced|floating", "prelu_cpu"),
         jointly={"self, weight": registry["_prelu_kernel_backward"]})
operator("_prelu_kernel_backward", prelu_backward, grad_output=prelu_in_grad,
         self=lambda grads, grad_output, self: (
             zeros_like(self) if grads[1] is None else where(self >= 0, 0, grad_output * grads[1])),
         weight=lambda grads, grad_output, self: (
             zeros_like(self) if grads[0] is None else where(self >= 0, 0, grad_output * grads[0])))

schemas("""
function, in-place:
    selu(Tensor self) -> Tensor  # Each element x of `self` where it is positive, otherwise 1.6733 (exp x - 1), times 1.0507, which keeps mean 0 and variance 1 from layer to layer.
    celu(Tensor self, Scalar alpha=1.0) -> Tensor  # Each element x of `self` where it is positive, otherwise `alpha` (exp(x / `alpha`) - 1).
function, method:
    prelu(Tensor self, Tensor weight) -> Tensor  # Each element of `self`, multiplied by the `weight` of its channel where it is negative.
function:
    rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor  # Each element of `self`, multiplied where it is negative by a slope drawn between `lower` and `upper`, or by their mean unless `training`.
    rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor(a!)  # Multiplies the negative elements of `self` by slopes drawn between `lower` and `upper`, or by their mean unless `training`.
""")  # noqa: E501


def check_celu(promoted: DType, self: Tensor, alpha: Any = 1.0) -> None:
    check(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU")
    check_number(float64, alpha)
    check_numbers(promoted, self, alpha)


SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def prelu(self: Tensor, weight: Tensor) -> Tensor:
    """``torch.prelu``: scale negative elements by channel (dimension 1); RuntimeError if weights do not fit."""
    check(self._dtype is weight._dtype,
          lambda: f"prelu: Type promoting not supported. Got {NAMES[self._dtype.name]} and {NAMES[weight._dtype.name]}")
    if weight.numel() != 1:
        check(self.ndim > 0, "Not allow zero-dim input tensor.")
        channels = self.shape[1] if self.ndim >= 2 else 1
        check(channels == weight.numel(), lambda: "Mismatch of parameter numbers and input channel size. Found "
              f"parameter numbers = {weight.numel()} and channel size = {channels}.")
    check(weight.ndim <= 1,
          lambda: f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if self.ndim != weight.ndim:
        weight = weight.reshape([weight.numel() if d == 1 else 1 for d in range(self.ndim)])
    return prelu_kernel(self, weight)


def rrelu(self: Any, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False, generator: Any = None) -> Any:
    """``torch.rrelu``: leaky, with random slopes in training."""
    return rrelu_with_noise(self, zeros_like(self), lower, upper, training, generator)


def rrelu_(self: Any, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False, generator: Any = None) -> Any:
    """``torch.rrelu_``."""
    return rrelu_with_noise_(self, zeros_like(self), lower, upper, training, generator)


composites(rrelu, rrelu_)
operator("selu", composite=lambda self: elu(self, SELU_ALPHA, SELU_SCALE))
operator("selu_", composite=lambda self: elu_(self, SELU_ALPHA, SELU_SCALE))
operator("celu", activation("elu", check=check_celu, fast=False),
         self=lambda grad, alpha, self: elu_backward(grad, alpha, 1, 1 / alpha, False, self))
operator("celu_", node="CeluBackward1",
         self=lambda grad, alpha, result: elu_backward(grad, alpha, 1, 1 / alpha, True, result))
operator("prelu", composite=prelu, autocast="lower")
