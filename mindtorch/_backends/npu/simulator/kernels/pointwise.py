"""Simulated kernels of arithmetic, elementary and special functions, rounding and complex numbers."""
from __future__ import annotations

from typing import Any

import numpy as np

from .forms import CPU, Kernel, compared, named, number, pointwise, store

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
}
