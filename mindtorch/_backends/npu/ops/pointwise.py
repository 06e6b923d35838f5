"""NPU rows of arithmetic, elementary functions, comparisons, logic, activations and softmax."""
from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

from ...._base.layout import Spec
from ...._dtype import DType, finfo, float32, float64
from ...._tensor import Tensor
from . import ACLNN_CALLS
from .row import Aclnn, Call, Each

#: ACLNN's codes of rounding modes (``aclnnDivMod``).
ROUNDING = {None: 0, "trunc": 1, "floor": 2}


def is_tensor(*values: Any) -> bool:
    """Return whether all of these are tensors: ACLNN has other operators, or none, for numbers in their places."""
    return all(hasattr(value, "_keys") for value in values)


def on(out: Tensor, value: Any) -> Any:
    """Return an operand as a tensor: a number becomes a 0-d tensor of the output's dtype."""
    return value if is_tensor(value) else out.new_full((), value)


def named(text: str) -> dict[str, Aclnn]:
    """Make rows of equal arguments in equal order: pairs of names."""
    names = text.split()
    return {ours: Aclnn("aclnn" + theirs) for ours, theirs in zip(names[::2], names[1::2], strict=True)}


def paired(text: str) -> dict[str, Aclnn]:
    """Make rows of two operands, the second a tensor or a number: three names each, ACLNN's for either."""
    names = text.split()
    return {ours: Aclnn("aclnn" + tensor, scalar="aclnn" + scalar, when=lambda self, *rest: is_tensor(self))
            for ours, tensor, scalar in zip(names[::3], names[1::3], names[2::3], strict=True)}


def largest(dtype: DType, posinf: float | None, neginf: float | None) -> tuple[float, float]:
    """Return the numbers that infinities become: the dtype's largest by default."""
    bounds = finfo(dtype if dtype.is_floating_point else float32)
    return bounds.max if posinf is None else posinf, bounds.min if neginf is None else neginf


def isinf(self: Tensor, out: Tensor) -> Iterator[Call]:
    """Compare absolute values, as torch_npu does: a 910B's IsInf takes halves and float32 only."""
    if not self._dtype.is_floating_point and not self._dtype.is_complex:
        yield "aclnnInplaceZero", (out,)
        return
    size = self.new_empty(self.shape, dtype=self._dtype.to_real())
    yield "aclnnAbs", (self, size)
    yield "aclnnEqScalar", (size, inf, out)


UNARY = named("""
    neg Neg                  abs Abs                  sign Sign                signbit Signbit
    reciprocal Reciprocal    sqrt Sqrt                rsqrt Rsqrt              exp Exp
    exp2 Exp2                expm1 Expm1              log Log                  log2 Log2
    log10 Log10              log1p Log1p              sin Sin                  cos Cos
    tan Tan                  asin Asin                acos Acos                atan Atan
    sinh Sinh                cosh Cosh                tanh Tanh                asinh Asinh
    acosh Acosh              atanh Atanh              sinc Sinc                sigmoid Sigmoid
    ceil Ceil                floor Floor              trunc Trunc              frac Frac
    round Round              round.decimals RoundDecimals                      erf Erf
    erfc Erfc                erfinv Erfinv            lgamma Lgamma            digamma Digamma
    logical_not LogicalNot   bitwise_not BitwiseNot   isfinite IsFinite
    isposinf IsPosInf        isneginf IsNegInf
""")
BINARY = paired("""
    add.Tensor Add Adds                    sub.Tensor Sub Subs                   mul.Tensor Mul Muls
    div.Tensor Div Divs                    floor_divide FloorDivide FloorDivides
    eq.Tensor EqTensor EqScalar            ne.Tensor NeTensor NeScalar           lt.Tensor LtTensor LtScalar
    le.Tensor LeTensor LeScalar            gt.Tensor GtTensor GtScalar           ge.Tensor GeTensor GeScalar
    bitwise_and.Tensor BitwiseAndTensor BitwiseAndScalar
    bitwise_or.Tensor BitwiseOrTensor BitwiseOrScalar
    bitwise_xor.Tensor BitwiseXorTensor BitwiseXorScalar
""")
OF_TENSORS = {name: Aclnn(row.name, when=is_tensor) for name, row in named("""
    atan2 Atan2                logaddexp LogAddExp        logaddexp2 LogAddExp2      gcd Gcd
    logical_and LogicalAnd     logical_or LogicalOr       logical_xor LogicalXor     maximum Maximum
    minimum Minimum            remainder.Tensor RemainderTensorTensor                fmod.Tensor FmodTensor
    pow.Tensor_Tensor PowTensorTensor                     lerp.Tensor Lerp           complex Complex
    polar Polar                sigmoid_backward SigmoidBackward                      tanh_backward TanhBackward
""").items()}

WITH_NUMBERS = named("""
    rsub.Scalar Rsubs          remainder.Scalar RemainderTensorScalar      remainder.Scalar_Tensor RemainderScalarTensor
    fmod.Scalar FmodScalar     pow.Tensor_Scalar PowTensorScalar           pow.Scalar PowScalarTensor
    clamp Clamp                clamp_min ClampMin                          clamp_max ClampMax
    clamp.Tensor ClampTensor   clamp_min.Tensor ClampMinTensor             clamp_max.Tensor ClampMaxTensor
""")

ACLNN_CALLS.update({
    **UNARY, **BINARY, **OF_TENSORS, **WITH_NUMBERS,
    "rsub.Tensor": Aclnn("aclnnRsub", when=lambda self, other, alpha: is_tensor(self, other)),
    "div.Tensor_mode": Aclnn(
        "aclnnDivMod", lambda self, other, mode, out: (self, other, ROUNDING[mode], out), scalar="aclnnDivMods",
        # which truncates float64 in float32
        when=lambda self, other, mode: is_tensor(self) and (mode != "trunc" or float64 not in (
            self._dtype, getattr(other, "_dtype", None)))),
    "isinf": Each("", isinf),
    "lerp.Scalar": Aclnn("aclnnLerps", when=lambda self, end, weight: not isinstance(weight, complex)),
    "addcmul": Aclnn("aclnnAddcmul", when=lambda self, first, second, value: is_tensor(first, second)),
    "addcdiv": Aclnn("aclnnAddcdiv", when=lambda self, first, second, value: is_tensor(first, second)),
    "where.self": Aclnn("aclnnSWhere", lambda condition, self, other, out: (
        condition, on(out, self), on(out, other), out)),
    "logit": Aclnn("aclnnLogit", lambda self, eps, out: (self, -1.0 if eps is None else eps, out)),
    "logit_backward": Aclnn("aclnnLogitGrad", lambda grad, self, eps, out: (
        self, grad, -1.0 if eps is None else eps, out)),
    "xlogy.Tensor": Aclnn("aclnnXLogYTensor", when=lambda self, other: is_tensor(self, other)),
    "xlogy.Scalar_Other": Aclnn("aclnnXLogYScalarOther"),
    "xlogy.Scalar_Self": Aclnn("aclnnXLogYScalarSelf"),
    "nan_to_num": Aclnn("aclnnNanToNum", lambda self, nan, posinf, neginf, out: (
        self, nan or 0.0, *largest(self._dtype, posinf, neginf), out)),
    "isclose": Aclnn("aclnnIsClose", when=lambda self, other, rtol, atol, equal_nan: self._dtype is other._dtype),
    "isnan": Aclnn("aclnnNeTensor", lambda self, out: (self, self, out)),
})


def gelu(self: Tensor, approximate: str, out: Tensor) -> Iterator[Call]:
    yield ("aclnnGelu", (self, out)) if approximate == "none" else ("aclnnGeluV2", (self, 1, out))


def gelu_backward(grad: Tensor, self: Tensor, approximate: str, out: Tensor) -> Iterator[Call]:
    yield (("aclnnGeluBackward", (grad, self, out)) if approximate == "none"
           else ("aclnnGeluBackwardV2", (grad, self, approximate, out)))


ACLNN_CALLS.update({
    **named("""
        relu Relu                        selu Selu                         celu Celu
        silu Silu                        silu_backward SiluBackward
        mish Mish                        mish_backward MishBackward
        hardsigmoid Hardsigmoid          hardsigmoid_backward HardsigmoidBackward
        hardswish Hardswish              hardswish_backward HardswishBackward
        hardtanh Hardtanh                hardtanh_backward HardtanhBackward
        elu Elu                          elu_backward EluBackward
        leaky_relu LeakyRelu             leaky_relu_backward LeakyReluBackward
        softplus Softplus                softplus_backward SoftplusBackward
        softshrink Softshrink            softshrink_backward SoftshrinkBackward
        hardshrink Hardshrink            hardshrink_backward HardshrinkBackward
        threshold Threshold              threshold_backward ThresholdBackward
        glu Glu                          glu_backward GluBackward
        log_sigmoid_forward LogSigmoidForward                              log_sigmoid_backward LogSigmoidBackward
    """),
    "gelu": Each("", gelu),
    "gelu_backward": Each("", gelu_backward),
    "_prelu_kernel": Aclnn("aclnnPrelu", lambda self, weight, out: (self, weight.reshape(-1), out)),
    "_prelu_kernel_backward": Aclnn(  # ACLNN sums the gradient of the weight
        "aclnnPreluBackward", lambda grad, self, weight, out, out_weight: (
            grad, self, weight.reshape(-1), out, out_weight.view(-1)),
        spec=lambda grad, self, weight: (Spec(tuple(self.shape), self._dtype),
                                         Spec(tuple(weight.shape), weight._dtype))),
    "_softmax": Aclnn("aclnnSoftmax", lambda self, dim, half_to_float, out: (self, dim, out)),
    "_log_softmax": Aclnn("aclnnLogSoftmax", lambda self, dim, half_to_float, out: (self, dim, out)),
    "_softmax_backward_data": Aclnn(
        "aclnnSoftmaxBackward", lambda grad, output, dim, dtype, out: (grad, output, dim, out)),
    "_log_softmax_backward_data": Aclnn(
        "aclnnLogSoftmaxBackward", lambda grad, output, dim, dtype, out: (grad, output, dim, out)),
})
