"""Cases of operators by element: arithmetic, comparison, activations."""
from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from .draw import aten, case, two, unary, with_row

# -- pointwise ---------------------------------------------------------------------------------------------------------

case("Add", lambda x: (x(3, 4), x(3, 1), 2), lambda a, b, alpha: torch.add(a, b, alpha=alpha), "48hfc")
case("Adds", lambda x: (x(3, 4), 3, 2), lambda a, b, alpha: torch.add(a, b, alpha=alpha), "4hfc")
case("Sub", lambda x: (x(3, 4), x(4), 3), lambda a, b, alpha: torch.sub(a, b, alpha=alpha), "48hf")
case("Subs", lambda x: (x(3, 4), 5, 1), lambda a, b, alpha: torch.sub(a, b, alpha=alpha), "4hf")
case("Rsub", lambda x: (x(3, 4), x(4), 2), lambda a, b, alpha: torch.rsub(a, b, alpha=alpha), "4hf")
case("Rsubs", lambda x: (x(3, 4), 5, 2), lambda a, b, alpha: torch.rsub(a, b, alpha=alpha), "4hf")
case("Mul", with_row, torch.mul)
case("Muls", lambda x: (x(3, 4), 3), torch.mul, "4hfc")
case("Div", lambda x: (x(3, 4), x.positive(4)), torch.div, "4hf")
case("Divs", lambda x: (x(3, 4), 4), torch.div, "4hfc")
for mode, rounding in ((0, None), (1, "trunc"), (2, "floor")):
    case(
        "DivMod",
        lambda x, mode=mode: (x(3, 4), x.positive(4), mode),
        lambda a, b, _, rounding=rounding: torch.div(a, b, rounding_mode=rounding),
        "4f",
    )
    case(
        "DivMods",
        lambda x, mode=mode: (x(3, 4), 3, mode),
        lambda a, b, _, rounding=rounding: torch.div(a, b, rounding_mode=rounding),
        "4f",
    )
case("FloorDivide", lambda x: (x(3, 4), x.positive(4)), torch.floor_divide, "48f")
case("FloorDivides", lambda x: (x(3, 4), 3), torch.floor_divide, "48f")
case("RemainderTensorTensor", lambda x: (x(3, 4), x.positive(4)), torch.remainder, "4f")
case("RemainderTensorScalar", lambda x: (x(3, 4), -3), torch.remainder, "4f")
case("RemainderScalarTensor", lambda x: (-7, x.positive(3, 4)), torch.remainder, "4f")
case("FmodTensor", lambda x: (x(3, 4), x.positive(4)), torch.fmod, "4f")
case("FmodScalar", lambda x: (x(3, 4), -3), torch.fmod, "4f")
case("PowTensorTensor", lambda x: (x.positive(3, 4), x.positive(4)), torch.pow, "4f")
for exponent in (0.5, 2, 3, -1.0, 1.7):
    case("PowTensorScalar", lambda x, e=exponent: (x.positive(3, 4), e), torch.pow, "fh")
case("PowTensorScalar", lambda x: (x(3, 4), 3), torch.pow, "48")
case("PowScalarTensor", lambda x: (2, x.positive(3, 4)), torch.pow, "4f")
unary("Neg Abs Sign Ceil Floor Round Trunc", only="4hf")
unary("Frac", only="hf")
case("Abs", lambda x: (x(3, 4),), torch.abs, "C")
case("Signbit", lambda x: (x(3, 4),), torch.signbit)
unary("Reciprocal Sqrt Rsqrt Log Log2 Log10 Log1p", lambda x: (x.positive(3, 4),), "4hf")
unary("Exp Exp2 Expm1 Sin Cos Tan Atan Sinh Cosh Tanh Asinh Sinc Sigmoid Erf Erfc", only="8hf")
unary("Asin Acos Atanh Erfinv", lambda x: (x.unit(3, 4),), "hf")
unary("Exp Log Sqrt Sin Cosh Tan", only="c")
case("Acosh", lambda x: (x.positive(3, 4) + 1,), torch.acosh, "hf")
case("Atan2", with_row, torch.atan2, "4hf")
case("SigmoidBackward", two, aten.sigmoid_backward)
case("TanhBackward", two, aten.tanh_backward)
case("LogAddExp", with_row, torch.logaddexp, "hf")
case("LogAddExp2", with_row, torch.logaddexp2, "hf")
case("RoundDecimals", lambda x: (x(3, 4) * 100, 1), lambda a, n: torch.round(a, decimals=n), "f")
case("Gcd", with_row, torch.gcd, "48")
case("Lerp", lambda x: (x(3, 4), x(3, 4), x.unit(4)), torch.lerp, "f")
case("Lerps", lambda x: (x(3, 4), x(3, 4), 0.25), torch.lerp)
case("Addcmul", lambda x: (x(3, 4), x(3, 1), x(4), 3), lambda a, b, c, v: torch.addcmul(a, b, c, value=v), "48hf")
case(
    "Addcdiv", lambda x: (x(3, 4), x(3, 1), x.positive(4), 3), lambda a, b, c, v: torch.addcdiv(a, b, c, value=v), "hf"
)
case("Lgamma", lambda x: (x.positive(3, 4),), torch.lgamma, "Hf")
case("Digamma", lambda x: (x.positive(3, 4),), torch.digamma, "Hf")
case("Logit", lambda x: (x.unit(3, 4), -1.0), lambda a, eps: torch.logit(a), "f")
case("Logit", lambda x: (x.unit(3, 4), 0.2), torch.logit, "f")
case("LogitGrad", lambda x: (x.unit(3, 4), x(3, 4), -1.0), lambda a, g, eps: aten.logit_backward(g, a), "f")
case("LogitGrad", lambda x: (x.unit(3, 4), x(3, 4), 0.2), lambda a, g, eps: aten.logit_backward(g, a, eps), "f")
case("XLogYTensor", lambda x: (x(3, 4), x.positive(4)), torch.xlogy, "hf")
case("XLogYScalarOther", lambda x: (x(3, 4), 2.5), torch.xlogy, "hf")
case("XLogYScalarSelf", lambda x: (0.0, x.positive(3, 4)), torch.xlogy, "hf")
case("NanToNum", lambda x: (x.special(5, 8), 1.5, 7.0, -7.0), torch.nan_to_num, "4hf")
case("Complex", two, torch.complex, "f")
case("Polar", two, torch.polar, "f")
case("Real", lambda x: (x(3, 4),), torch.real, "C")

# -- comparison --------------------------------------------------------------------------------------------------------

for name in ["Eq", "Ne", "Lt", "Le", "Gt", "Ge"]:
    case(f"{name}Tensor", with_row, getattr(torch, name.lower()), "b48hf")
    case(f"{name}Scalar", lambda x: (x(3, 4), 1), getattr(torch, name.lower()), "b4hf")
    case(f"{name}Scalar", lambda x: (x(3, 4), 0.5), getattr(torch, name.lower()), "4f")
case("LogicalAnd", with_row, torch.logical_and)
case("LogicalOr", with_row, torch.logical_or)
case("LogicalXor", with_row, torch.logical_xor)
case("LogicalNot", lambda x: (x(3, 4),), torch.logical_not)
for name in ["And", "Or", "Xor"]:
    case(f"Bitwise{name}Tensor", with_row, getattr(torch, f"bitwise_{name.lower()}"), "b48")
    case(f"Bitwise{name}Scalar", lambda x: (x(3, 4), 6), getattr(torch, f"bitwise_{name.lower()}"), "48")
case("BitwiseNot", lambda x: (x(3, 4),), torch.bitwise_not)
case("Maximum", with_row, torch.maximum)
case("Minimum", with_row, torch.minimum)
case("Clamp", lambda x: (x(3, 4), -1, 2), torch.clamp, "4hf")
case("Clamp", lambda x: (x(3, 4), None, 2), torch.clamp, "f")
case("ClampTensor", lambda x: (x(3, 4), x(4), x.positive(4)), torch.clamp, "4hf")
case("ClampTensor", lambda x: (x(3, 4), None, x(4)), torch.clamp, "f")
case("ClampMin", lambda x: (x(3, 4), 1), torch.clamp_min, "4hf")
case("ClampMinTensor", with_row, torch.clamp_min, "4hf")
case("ClampMax", lambda x: (x(3, 4), 1), torch.clamp_max, "4hf")
case("ClampMaxTensor", with_row, torch.clamp_max, "4hf")
case("SWhere", lambda x: (x.mask(3, 1), x(3, 4), x(4)), torch.where, "b48hfC")
case("InplaceMaskedFillScalar", lambda x: (x(3, 4), x.mask(4), 3), torch.Tensor.masked_fill_, "48hf")
case("InplaceMaskedFillTensor", lambda x: (x(3, 4), x.mask(3, 4), x()), torch.Tensor.masked_fill_, "48hf")
unary("IsFinite IsInf IsPosInf IsNegInf", lambda x: (x.special(5, 8),), "hf")
case("IsClose", lambda x: (x.special(5, 8), x.special(5, 8), 0.5, 0.5, True), torch.isclose, "f")
case("IsClose", lambda x: (x.special(5, 8), x.special(5, 8), 0.5, 0.5, False), torch.isclose, "f")
case("Equal", lambda x: (x(3, 4), x(3, 4)), lambda a, b: torch.tensor([torch.equal(a, b)]))
case("Equal", lambda x: (torch.ones(3, dtype=x.dtype), torch.ones(3, dtype=x.dtype)), lambda a, b: torch.tensor([True]))

# -- activation --------------------------------------------------------------------------------------------------------

unary("Relu Selu", only="hf")
case("Relu", lambda x: (x(3, 4),), torch.relu, "48")
case("Elu", lambda x: (x(3, 4), 1.5, 2.0, 0.5), aten.elu)
for is_result in (True, False):
    case("EluBackward", lambda x, r=is_result: (x(3, 4), 1.5, 2.0, 0.5, r, x(3, 4)), aten.elu_backward, "f")
case(
    "SeluBackward",
    lambda x: (x(3, 4), F.selu(x(3, 4))),
    lambda g, r: aten.elu_backward(g, 1.6732632423543772, 1.0507009873554805, 1, True, r),
    "f",
)
case("Celu", lambda x: (x(3, 4), 1.5), torch.celu)
unary("Gelu Silu Mish Hardsigmoid Hardswish", only="hf")
for approximate, how in ((0, "none"), (1, "tanh")):
    case("GeluV2", lambda x, a=approximate: (x(3, 4), a), lambda a, _, how=how: F.gelu(a, approximate=how), "hf")
    case(
        "GeluBackwardV2",
        lambda x, how=how: (x(3, 4), x(3, 4), how),
        lambda g, a, how: aten.gelu_backward(g, a, approximate=how),
        "hf",
    )
case("GeluBackward", two, aten.gelu_backward)
case("SiluBackward", two, aten.silu_backward)
case("MishBackward", two, aten.mish_backward)
case("HardsigmoidBackward", two, aten.hardsigmoid_backward)
case("HardswishBackward", two, aten.hardswish_backward)
case("Hardtanh", lambda x: (x(3, 4), -1, 1), F.hardtanh, "4hf")
case("HardtanhBackward", lambda x: (x(3, 4), x(3, 4), -0.5, 1.0), aten.hardtanh_backward)
case("LeakyRelu", lambda x: (x(3, 4), 0.2), aten.leaky_relu)
case("LeakyReluBackward", lambda x: (x(3, 4), x(3, 4), 0.2, False), aten.leaky_relu_backward)
case("Softplus", lambda x: (x(3, 4), 2.0, 1.0), aten.softplus)
case("SoftplusBackward", lambda x: (x(3, 4), x(3, 4), 2.0, 1.0), aten.softplus_backward)
case("Softshrink", lambda x: (x(3, 4), 0.5), aten.softshrink)
case("SoftshrinkBackward", lambda x: (x(3, 4), x(3, 4), 0.5), aten.softshrink_backward)
case("Hardshrink", lambda x: (x(3, 4), 0.5), aten.hardshrink)
case("HardshrinkBackward", lambda x: (x(3, 4), x(3, 4), 0.5), aten.hardshrink_backward)
case("Threshold", lambda x: (x(3, 4), 1, 7), aten.threshold, "4hf")
case("ThresholdBackward", lambda x: (x(3, 4), x(3, 4), 0), aten.threshold_backward, "4hf")
case("LogSigmoidForward", lambda x: (x(3, 4),), lambda a: (F.logsigmoid(a), torch.exp(-a.abs())))
case("LogSigmoidBackward", lambda x: (x(3, 4), x(3, 4), x(0)),
     lambda g, a, _: aten.log_sigmoid_backward(g, a, torch.exp(-a.abs())), "f")  # fmt: skip
case("Glu", lambda x: (x(3, 4), 1), F.glu)
case("GluBackward", lambda x: (x(3, 2), x(3, 4), -1), aten.glu_backward)
case("Prelu", lambda x: (x(2, 3, 4), x(3)), F.prelu, "hf")
case("Prelu", lambda x: (x(2, 3, 4), x(1)), F.prelu, "f")


def prelu_backward(grad: torch.Tensor, a: torch.Tensor, weight: torch.Tensor) -> Any:
    a, weight = a.detach().float().requires_grad_(), weight.detach().float().requires_grad_()
    return torch.autograd.grad(F.prelu(a, weight), (a, weight), grad.float())


case("PreluBackward", lambda x: (x(2, 3, 4), x(2, 3, 4), x(3)), prelu_backward, "f")
case("PreluBackward", lambda x: (x(2, 3, 4), x(2, 3, 4), x(1)), prelu_backward, "f")
case("Softmax", lambda x: (x(3, 4, 5), 1), torch.softmax)
case("LogSoftmax", lambda x: (x(3, 4, 5), -1), torch.log_softmax)
case(
    "SoftmaxBackward",
    lambda x: (x(3, 4), x.unit(3, 4), 1),
    lambda g, y, dim: aten._softmax_backward_data(g, y, dim, y.dtype),
)
case(
    "LogSoftmaxBackward",
    lambda x: (x(3, 4), x(3, 4), 0),
    lambda g, y, dim: aten._log_softmax_backward_data(g, y, dim, y.dtype),
)
