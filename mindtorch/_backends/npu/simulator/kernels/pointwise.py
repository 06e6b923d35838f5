"""Simulated kernels by element, of tensors and of lists: arithmetic, functions, comparison, logic, complex numbers."""
from __future__ import annotations

from typing import Any

import numpy as np

from ....cpu.precision import to_opmath
from .forms import CPU, Array, Kernel, common, compared, converted, inplace, named, number, pointwise, store, whole

#: DivMod's modes.
ROUNDING = {0: None, 1: "trunc", 2: "floor"}


def div_mod(self: Any, other: Any, mode: int) -> Any:
    return CPU["div.Tensor_mode"](self, other, ROUNDING[mode])


def logit(x: Any, eps: float) -> Any:
    """Compute the logit. A negative ``eps`` means none."""
    return CPU["logit"](x, None if eps < 0 else eps)


def logit_grad(x: Any, dy: Any, eps: float) -> Any:
    outside, value = ((x < 0) | (x > 1), np.nan) if eps < 0 else ((x < eps) | (x > 1 - eps), 0)
    return np.where(outside, value, dy / (x * (1 - x)))


def complex_from(row: str) -> Kernel:
    """Make an operator that combines two real tensors into complex numbers."""
    return lambda first, second, out: store(out, CPU[row](first, second))


def power(self: Any, exponent: Any, out: Any) -> None:
    """Raise to a power that is a number: the CPU's row computes some powers exactly."""
    pointwise(lambda x: CPU["pow.Tensor_Scalar"](x, np.asarray(number(exponent)).astype(x.dtype)))(self, out)


def where(condition: Array, self: Array, other: Array, out: Array) -> None:
    dtype = common((self.dtype, other.dtype))
    store(out, np.where(condition, converted(self, dtype), converted(other, dtype)))


def is_close(x: Any, y: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    close = np.equal(x, y) | np.isfinite(y) & (np.abs(np.subtract(x, y, dtype=np.float64)) <= atol + rtol * np.abs(y))
    return close | np.isnan(x) & np.isnan(y) if equal_nan else close


def each(kernel: Kernel | str) -> Kernel:
    """Make an operator on lists. The outputs, a list, come last; an argument that is not a list is used for all."""
    one = pointwise(kernel) if isinstance(kernel, str) else kernel

    def run(*args: Any) -> None:
        for i in range(len(args[-1])):
            one(*[arg[i] if isinstance(arg, (list, tuple)) else arg for arg in args])

    return run


def norm(x: Any, order: Any, out: Any) -> None:
    store(out, np.linalg.norm(to_opmath(x).reshape(-1), number(order)))


KERNELS: dict[str, Kernel] = {
    **named(pointwise, """
        Add add.Tensor                        Adds add.Tensor                       Sub sub.Tensor
        Subs sub.Tensor                       Rsub rsub.Tensor                      Rsubs rsub.Scalar
        Mul mul.Tensor                        Muls mul.Tensor                       Div div.Tensor
        Divs div.Tensor                       FloorDivide floor_divide              FloorDivides floor_divide
        RemainderTensorTensor remainder.Tensor
        RemainderTensorScalar remainder.Tensor
        RemainderScalarTensor remainder.Tensor                                      FmodTensor fmod.Tensor
        FmodScalar fmod.Tensor                PowTensorTensor pow.Tensor_Tensor     PowScalarTensor pow.Tensor_Tensor
        Neg neg                               Abs abs                               Sign sgn
        Reciprocal reciprocal                 Sqrt sqrt                             Rsqrt rsqrt
        Exp exp                               Exp2 exp2                             Expm1 expm1
        Log log                               Log2 log2                             Log10 log10
        Log1p log1p                           Sin sin                               Cos cos
        Tan tan                               Asin asin                             Acos acos
        Atan atan                             Sinh sinh                             Cosh cosh
        Tanh tanh                             Asinh asinh                           Acosh acosh
        Atanh atanh                           Atan2 atan2                           Sinc sinc
        Sigmoid sigmoid                       SigmoidBackward sigmoid_backward      TanhBackward tanh_backward
        LogAddExp logaddexp                   LogAddExp2 logaddexp2                 Ceil ceil
        Floor floor                           Round round                           RoundDecimals round.decimals
        Trunc trunc                           Frac frac                             Gcd gcd
        Lerp lerp.Tensor                      Lerps lerp.Scalar                     Addcmul addcmul
        Addcdiv addcdiv                       Erf erf                               Erfc erfc
        Erfinv erfinv                         Lgamma lgamma                         Digamma digamma
        XLogYTensor xlogy.Tensor              XLogYScalarOther xlogy.Tensor         XLogYScalarSelf xlogy.Tensor
        NanToNum nan_to_num
    """),
    **dict.fromkeys(("aclnnDivMod", "aclnnDivMods"), pointwise(div_mod)),
    "aclnnPowTensorScalar": power,
    "aclnnSignbit": compared("signbit"),
    "aclnnLogit": pointwise(logit),
    "aclnnLogitGrad": pointwise(logit_grad),
    **named(complex_from, "Complex complex   Polar polar"),
    **named(compared, """
        LogicalAnd logical_and                LogicalOr logical_or                  LogicalXor logical_xor
        LogicalNot logical_not                IsFinite isfinite                     IsPosInf isposinf
        IsNegInf isneginf
    """),
    **named(pointwise, """
        BitwiseNot bitwise_not                Maximum maximum                       Minimum minimum
        Clamp clamp                           ClampTensor clamp                     ClampMin maximum
        ClampMinTensor maximum                ClampMax minimum                      ClampMaxTensor minimum
        BitwiseAndTensor bitwise_and.Tensor   BitwiseOrTensor bitwise_or.Tensor     BitwiseXorTensor bitwise_xor.Tensor
        BitwiseAndScalar bitwise_and.Tensor   BitwiseOrScalar bitwise_or.Tensor     BitwiseXorScalar bitwise_xor.Tensor
    """),
    **named(compared, """
        EqTensor eq.Tensor                    NeTensor ne.Tensor                    LtTensor lt.Tensor
        EqScalar eq.Tensor                    NeScalar ne.Tensor                    LtScalar lt.Tensor
        LeTensor le.Tensor                    GtTensor gt.Tensor                    GeTensor ge.Tensor
        LeScalar le.Tensor                    GtScalar gt.Tensor                    GeScalar ge.Tensor
    """),
    **named(inplace, "InplaceMaskedFillScalar masked_fill_.Scalar   InplaceMaskedFillTensor masked_fill_.Tensor"),
    "aclnnSWhere": where,
    "aclnnIsClose": compared(is_close),
    "aclnnEqual": compared(np.array_equal),
    **named(each, """
        ForeachAddListV2 add.Tensor           ForeachSubListV2 sub.Tensor
        ForeachMulList mul.Tensor             ForeachMulScalarV2 mul.Tensor         ForeachMulScalarList mul.Tensor
        ForeachDivList div.Tensor             ForeachDivScalarV2 div.Tensor         ForeachDivScalarList div.Tensor
        ForeachMaximumList maximum            ForeachMinimumList minimum            ForeachAddcmulScalarV2 addcmul
        ForeachAddcdivScalarV2 addcdiv        ForeachLerpList lerp.Tensor           ForeachLerpScalar lerp.Scalar
        ForeachAbs abs                        ForeachExp exp                        ForeachNeg neg
        ForeachReciprocal reciprocal          ForeachSigmoid sigmoid                ForeachSqrt sqrt
        ForeachTanh tanh
    """),
    **dict.fromkeys(("aclnnForeachAddScalarV2", "aclnnForeachAddScalarList"), each(pointwise(np.add))),
    **dict.fromkeys(("aclnnForeachSubScalarV2", "aclnnForeachSubScalarList"), each(pointwise(np.subtract))),
    "aclnnForeachNorm": each(norm),
    "aclnnForeachCopy": each(lambda x, out: store(out, x)),
}


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
    """Make softmax's rows; halves are computed in float32, and the dtype stays (ATen's last argument)."""
    return whole(lambda *args: CPU[row](*[to_opmath(a) for a in args if isinstance(a, Array)],
                                        *[a for a in args if not isinstance(a, Array)], False))


KERNELS |= {
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
