"""Simulated kernels of arithmetic, elementary and special functions, rounding and complex numbers."""
from __future__ import annotations

from typing import Any

import numpy as np

from .forms import CPU, Kernel, compared, number, pointwise, store

#: DivMod's modes.
ROUNDING = {0: None, 1: "trunc", 2: "floor"}


def div_mod(self: Any, other: Any, mode: int) -> Any:
    return CPU["div.Tensor_mode"](self, other, ROUNDING[mode])


def logit(x: Any, eps: float) -> Any:
    """A negative ``eps`` is none."""
    return CPU["logit"](x, None if eps < 0 else eps)


def logit_grad(x: Any, dy: Any, eps: float) -> Any:
    outside, value = ((x < 0) | (x > 1), np.nan) if eps < 0 else ((x < eps) | (x > 1 - eps), 0)
    return np.where(outside, value, dy / (x * (1 - x)))


def complex_from(row: Any) -> Kernel:
    """An operator that makes complex numbers of two real tensors."""
    return lambda first, second, out: store(out, row(first, second))


def power(self: Any, exponent: Any, out: Any) -> None:
    """The exponent is a number, of which the CPU's row knows the exact powers."""
    pointwise(lambda x: CPU["pow.Tensor_Scalar"](x, np.asarray(number(exponent)).astype(x.dtype)))(self, out)


KERNELS: dict[str, Kernel] = {
    "aclnnAdd": pointwise("add.Tensor"),
    "aclnnAdds": pointwise("add.Tensor"),
    "aclnnSub": pointwise("sub.Tensor"),
    "aclnnSubs": pointwise("sub.Tensor"),
    "aclnnRsub": pointwise("rsub.Tensor"),
    "aclnnRsubs": pointwise("rsub.Scalar"),
    "aclnnMul": pointwise("mul.Tensor"),
    "aclnnMuls": pointwise("mul.Tensor"),
    "aclnnDiv": pointwise("div.Tensor"),
    "aclnnDivs": pointwise("div.Tensor"),
    "aclnnDivMod": pointwise(div_mod),
    "aclnnDivMods": pointwise(div_mod),
    "aclnnFloorDivide": pointwise("floor_divide"),
    "aclnnFloorDivides": pointwise("floor_divide"),
    "aclnnRemainderTensorTensor": pointwise("remainder.Tensor"),
    "aclnnRemainderTensorScalar": pointwise("remainder.Tensor"),
    "aclnnRemainderScalarTensor": pointwise("remainder.Tensor"),
    "aclnnFmodTensor": pointwise("fmod.Tensor"),
    "aclnnFmodScalar": pointwise("fmod.Tensor"),
    "aclnnPowTensorTensor": pointwise("pow.Tensor_Tensor"),
    "aclnnPowTensorScalar": power,
    "aclnnPowScalarTensor": pointwise("pow.Tensor_Tensor"),
    "aclnnNeg": pointwise("neg"),
    "aclnnAbs": pointwise("abs"),
    "aclnnSign": pointwise("sgn"),
    "aclnnSignbit": compared("signbit"),
    "aclnnReciprocal": pointwise("reciprocal"),
    "aclnnSqrt": pointwise("sqrt"),
    "aclnnRsqrt": pointwise("rsqrt"),
    "aclnnExp": pointwise("exp"),
    "aclnnExp2": pointwise("exp2"),
    "aclnnExpm1": pointwise("expm1"),
    "aclnnLog": pointwise("log"),
    "aclnnLog2": pointwise("log2"),
    "aclnnLog10": pointwise("log10"),
    "aclnnLog1p": pointwise("log1p"),
    "aclnnSin": pointwise("sin"),
    "aclnnCos": pointwise("cos"),
    "aclnnTan": pointwise("tan"),
    "aclnnAsin": pointwise("asin"),
    "aclnnAcos": pointwise("acos"),
    "aclnnAtan": pointwise("atan"),
    "aclnnSinh": pointwise("sinh"),
    "aclnnCosh": pointwise("cosh"),
    "aclnnTanh": pointwise("tanh"),
    "aclnnAsinh": pointwise("asinh"),
    "aclnnAcosh": pointwise("acosh"),
    "aclnnAtanh": pointwise("atanh"),
    "aclnnAtan2": pointwise("atan2"),
    "aclnnSinc": pointwise("sinc"),
    "aclnnSigmoid": pointwise("sigmoid"),
    "aclnnSigmoidBackward": pointwise("sigmoid_backward"),
    "aclnnTanhBackward": pointwise("tanh_backward"),
    "aclnnLogAddExp": pointwise("logaddexp"),
    "aclnnLogAddExp2": pointwise("logaddexp2"),
    "aclnnCeil": pointwise("ceil"),
    "aclnnFloor": pointwise("floor"),
    "aclnnRound": pointwise("round"),
    "aclnnRoundDecimals": pointwise("round.decimals"),
    "aclnnTrunc": pointwise("trunc"),
    "aclnnFrac": pointwise("frac"),
    "aclnnGcd": pointwise("gcd"),
    "aclnnLerp": pointwise("lerp.Tensor"),
    "aclnnLerps": pointwise("lerp.Scalar"),
    "aclnnAddcmul": pointwise("addcmul"),
    "aclnnAddcdiv": pointwise("addcdiv"),
    "aclnnErf": pointwise("erf"),
    "aclnnErfc": pointwise("erfc"),
    "aclnnErfinv": pointwise("erfinv"),
    "aclnnLgamma": pointwise("lgamma"),
    "aclnnDigamma": pointwise("digamma"),
    "aclnnLogit": pointwise(logit),
    "aclnnLogitGrad": pointwise(logit_grad),
    "aclnnXLogYTensor": pointwise("xlogy.Tensor"),
    "aclnnXLogYScalarOther": pointwise("xlogy.Tensor"),
    "aclnnXLogYScalarSelf": pointwise("xlogy.Tensor"),
    "aclnnNanToNum": pointwise("nan_to_num"),
    "aclnnComplex": complex_from(CPU["complex"]),
    "aclnnPolar": complex_from(CPU["polar"]),
    "aclnnReal": pointwise(np.real),
}
