"""Cases of operators by element: arithmetic, comparison, activations."""
from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from .draw import aten, case, two, unary, with_row

# -- pointwise ---------------------------------------------------------------------------------------------------------

case("Add", lambda x: (x(3, 4), x(3, 1), 2), lambda a, b, alpha: torch.add(a, b, alpha=alpha),
     "int32|int64|reduced|float32|complex")
case("Adds", lambda x: (x(3, 4), 3, 2), lambda a, b, alpha: torch.add(a, b, alpha=alpha),
     "int32|reduced|float32|complex")
case("Sub", lambda x: (x(3, 4), x(4), 3), lambda a, b, alpha: torch.sub(a, b, alpha=alpha),
     "int32|int64|reduced|float32")
case("Subs", lambda x: (x(3, 4), 5, 1), lambda a, b, alpha: torch.sub(a, b, alpha=alpha), "int32|reduced|float32")
case("Rsub", lambda x: (x(3, 4), x(4), 2), lambda a, b, alpha: torch.rsub(a, b, alpha=alpha), "int32|reduced|float32")
case("Rsubs", lambda x: (x(3, 4), 5, 2), lambda a, b, alpha: torch.rsub(a, b, alpha=alpha), "int32|reduced|float32")
case("Mul", with_row, torch.mul)
case("Muls", lambda x: (x(3, 4), 3), torch.mul, "int32|reduced|float32|complex")
case("Div", lambda x: (x(3, 4), x.positive(4)), torch.div, "int32|reduced|float32")
case("Divs", lambda x: (x(3, 4), 4), torch.div, "int32|reduced|float32|complex")
for mode, rounding in ((0, None), (1, "trunc"), (2, "floor")):
    case(
        "DivMod",
        lambda x, mode=mode: (x(3, 4), x.positive(4), mode),
        lambda a, b, _, rounding=rounding: torch.div(a, b, rounding_mode=rounding),
        "int32|float32",
    )
    case(
        "DivMods",
        lambda x, mode=mode: (x(3, 4), 3, mode),
        lambda a, b, _, rounding=rounding: torch.div(a, b, rounding_mode=rounding),
        "int32|float32",
    )
case("FloorDivide", lambda x: (x(3, 4), x.positive(4)), torch.floor_divide, "int32|int64|float32")
case("FloorDivides", lambda x: (x(3, 4), 3), torch.floor_divide, "int32|int64|float32")
case("RemainderTensorTensor", lambda x: (x(3, 4), x.positive(4)), torch.remainder, "int32|float32")
case("RemainderTensorScalar", lambda x: (x(3, 4), -3), torch.remainder, "int32|float32")
case("RemainderScalarTensor", lambda x: (-7, x.positive(3, 4)), torch.remainder, "int32|float32")
case("FmodTensor", lambda x: (x(3, 4), x.positive(4)), torch.fmod, "int32|float32")
case("FmodScalar", lambda x: (x(3, 4), -3), torch.fmod, "int32|float32")
case("PowTensorTensor", lambda x: (x.positive(3, 4), x.positive(4)), torch.pow, "int32|float32")
for exponent in (0.5, 2, 3, -1.0, 1.7):
    case("PowTensorScalar", lambda x, e=exponent: (x.positive(3, 4), e), torch.pow, "reduced|float32")
case("PowTensorScalar", lambda x: (x(3, 4), 3), torch.pow, "int32|int64")
case("PowScalarTensor", lambda x: (2, x.positive(3, 4)), torch.pow, "int32|float32")
unary("Neg Abs Sign Ceil Floor Round Trunc", only="int32|reduced|float32")
unary("Frac", only="reduced|float32")
case("Abs", lambda x: (x(3, 4),), torch.abs, "complex64")
case("Signbit", lambda x: (x(3, 4),), torch.signbit)
unary("Reciprocal Sqrt Rsqrt Log Log2 Log10 Log1p", lambda x: (x.positive(3, 4),), "int32|reduced|float32")
unary("Exp Exp2 Expm1 Sin Cos Tan Atan Sinh Cosh Tanh Asinh Sinc Sigmoid Erf Erfc", only="int64|reduced|float32")
unary("Asin Acos Atanh Erfinv", lambda x: (x.unit(3, 4),), "reduced|float32")
unary("Exp Log Sqrt Sin Cosh Tan", only="complex")
case("Acosh", lambda x: (x.positive(3, 4) + 1,), torch.acosh, "reduced|float32")
case("Atan2", with_row, torch.atan2, "int32|reduced|float32")
case("SigmoidBackward", two, aten.sigmoid_backward)
case("TanhBackward", two, aten.tanh_backward)
case("LogAddExp", with_row, torch.logaddexp, "reduced|float32")
case("LogAddExp2", with_row, torch.logaddexp2, "reduced|float32")
case("RoundDecimals", lambda x: (x(3, 4) * 100, 1), lambda a, n: torch.round(a, decimals=n), "float32")
case("Gcd", with_row, torch.gcd, "int32|int64")
case("Lerp", lambda x: (x(3, 4), x(3, 4), x.unit(4)), torch.lerp, "float32")
case("Lerps", lambda x: (x(3, 4), x(3, 4), 0.25), torch.lerp)
case("Addcmul", lambda x: (x(3, 4), x(3, 1), x(4), 3), lambda a, b, c, v: torch.addcmul(a, b, c, value=v),
     "int32|int64|reduced|float32")
case(
    "Addcdiv", lambda x: (x(3, 4), x(3, 1), x.positive(4), 3), lambda a, b, c, v: torch.addcdiv(a, b, c, value=v),
    "reduced|float32"
)
case("Lgamma", lambda x: (x.positive(3, 4),), torch.lgamma, "float16|float32")
case("Digamma", lambda x: (x.positive(3, 4),), torch.digamma, "float16|float32")
case("Logit", lambda x: (x.unit(3, 4), -1.0), lambda a, eps: torch.logit(a), "float32")
case("Logit", lambda x: (x.unit(3, 4), 0.2), torch.logit, "float32")
case("LogitGrad", lambda x: (x.unit(3, 4), x(3, 4), -1.0), lambda a, g, eps: aten.logit_backward(g, a), "float32")
case("LogitGrad", lambda x: (x.unit(3, 4), x(3, 4), 0.2), lambda a, g, eps: aten.logit_backward(g, a, eps), "float32")
case("XLogYTensor", lambda x: (x(3, 4), x.positive(4)), torch.xlogy, "reduced|float32")
case("XLogYScalarOther", lambda x: (x(3, 4), 2.5), torch.xlogy, "reduced|float32")
case("XLogYScalarSelf", lambda x: (0.0, x.positive(3, 4)), torch.xlogy, "reduced|float32")
case("NanToNum", lambda x: (x.special(5, 8), 1.5, 7.0, -7.0), torch.nan_to_num, "int32|reduced|float32")
case("Complex", two, torch.complex, "float32")
case("Polar", two, torch.polar, "float32")

# -- comparison --------------------------------------------------------------------------------------------------------

for name in ["Eq", "Ne", "Lt", "Le", "Gt", "Ge"]:
    case(f"{name}Tensor", with_row, getattr(torch, name.lower()), "bool|int32|int64|reduced|float32")
    case(f"{name}Scalar", lambda x: (x(3, 4), 1), getattr(torch, name.lower()), "bool|int32|reduced|float32")
    case(f"{name}Scalar", lambda x: (x(3, 4), 0.5), getattr(torch, name.lower()), "int32|float32")
case("LogicalAnd", with_row, torch.logical_and)
case("LogicalOr", with_row, torch.logical_or)
case("LogicalXor", with_row, torch.logical_xor)
case("LogicalNot", lambda x: (x(3, 4),), torch.logical_not)
for name in ["And", "Or", "Xor"]:
    case(f"Bitwise{name}Tensor", with_row, getattr(torch, f"bitwise_{name.lower()}"), "bool|int32|int64")
    case(f"Bitwise{name}Scalar", lambda x: (x(3, 4), 6), getattr(torch, f"bitwise_{name.lower()}"), "int32|int64")
case("BitwiseNot", lambda x: (x(3, 4),), torch.bitwise_not)
case("Maximum", with_row, torch.maximum)
case("Minimum", with_row, torch.minimum)
case("Clamp", lambda x: (x(3, 4), -1, 2), torch.clamp, "int32|reduced|float32")
case("Clamp", lambda x: (x(3, 4), None, 2), torch.clamp, "float32")
case("ClampTensor", lambda x: (x(3, 4), x(4), x.positive(4)), torch.clamp, "int32|reduced|float32")
case("ClampTensor", lambda x: (x(3, 4), None, x(4)), torch.clamp, "float32")
case("ClampMin", lambda x: (x(3, 4), 1), torch.clamp_min, "int32|reduced|float32")
case("ClampMinTensor", with_row, torch.clamp_min, "int32|reduced|float32")
case("ClampMax", lambda x: (x(3, 4), 1), torch.clamp_max, "int32|reduced|float32")
case("ClampMaxTensor", with_row, torch.clamp_max, "int32|reduced|float32")
case("SWhere", lambda x: (x.mask(3, 1), x(3, 4), x(4)), torch.where, "bool|int32|int64|reduced|float32|complex64")
case("InplaceMaskedFillScalar", lambda x: (x(3, 4), x.mask(4), 3), torch.Tensor.masked_fill_,
     "int32|int64|reduced|float32")
case("InplaceMaskedFillTensor", lambda x: (x(3, 4), x.mask(3, 4), x()), torch.Tensor.masked_fill_,
     "int32|int64|reduced|float32")
unary("IsFinite IsPosInf IsNegInf", lambda x: (x.special(5, 8),), "reduced|float32")
case("IsClose", lambda x: (x.special(5, 8), x.special(5, 8), 0.5, 0.5, True), torch.isclose, "float32")
case("IsClose", lambda x: (x.special(5, 8), x.special(5, 8), 0.5, 0.5, False), torch.isclose, "float32")
case("Equal", lambda x: (x(3, 4), x(3, 4)), lambda a, b: torch.tensor([torch.equal(a, b)]))
case("Equal", lambda x: (torch.ones(3, dtype=x.dtype), torch.ones(3, dtype=x.dtype)), lambda a, b: torch.tensor([True]))

# -- activation --------------------------------------------------------------------------------------------------------

unary("Relu Selu", only="reduced|float32")
case("Relu", lambda x: (x(3, 4),), torch.relu, "int32|int64")
case("Elu", lambda x: (x(3, 4), 1.5, 2.0, 0.5), aten.elu)
for is_result in (True, False):
    case("EluBackward", lambda x, r=is_result: (x(3, 4), 1.5, 2.0, 0.5, r, x(3, 4)), aten.elu_backward, "float32")
case(
    "SeluBackward",
    lambda x: (x(3, 4), F.selu(x(3, 4))),
    lambda g, r: aten.elu_backward(g, 1.6732632423543772, 1.0507009873554805, 1, True, r),
    "float32",
)
case("Celu", lambda x: (x(3, 4), 1.5), torch.celu)
unary("Gelu Silu Mish Hardsigmoid Hardswish", only="reduced|float32")
for approximate, how in ((0, "none"), (1, "tanh")):
    case("GeluV2", lambda x, a=approximate: (x(3, 4), a), lambda a, _, how=how: F.gelu(a, approximate=how),
         "reduced|float32")
    case(
        "GeluBackwardV2",
        lambda x, how=how: (x(3, 4), x(3, 4), how),
        lambda g, a, how: aten.gelu_backward(g, a, approximate=how),
        "reduced|float32",
    )
case("GeluBackward", two, aten.gelu_backward)
case("SiluBackward", two, aten.silu_backward)
case("MishBackward", two, aten.mish_backward)
case("HardsigmoidBackward", two, aten.hardsigmoid_backward)
case("HardswishBackward", two, aten.hardswish_backward)
case("Hardtanh", lambda x: (x(3, 4), -1, 1), F.hardtanh, "int32|reduced|float32")
case("HardtanhBackward", lambda x: (x(3, 4), x(3, 4), -0.5, 1.0), aten.hardtanh_backward)
case("LeakyRelu", lambda x: (x(3, 4), 0.2), aten.leaky_relu)
case("LeakyReluBackward", lambda x: (x(3, 4), x(3, 4), 0.2, False), aten.leaky_relu_backward)
case("Softplus", lambda x: (x(3, 4), 2.0, 1.0), aten.softplus)
case("SoftplusBackward", lambda x: (x(3, 4), x(3, 4), 2.0, 1.0), aten.softplus_backward)
case("Softshrink", lambda x: (x(3, 4), 0.5), aten.softshrink)
case("SoftshrinkBackward", lambda x: (x(3, 4), x(3, 4), 0.5), aten.softshrink_backward)
case("Hardshrink", lambda x: (x(3, 4), 0.5), aten.hardshrink)
case("HardshrinkBackward", lambda x: (x(3, 4), x(3, 4), 0.5), aten.hardshrink_backward)
case("Threshold", lambda x: (x(3, 4), 1, 7), aten.threshold, "int32|reduced|float32")
case("ThresholdBackward", lambda x: (x(3, 4), x(3, 4), 0), aten.threshold_backward, "int32|reduced|float32")
case("LogSigmoidForward", lambda x: (x(3, 4),), lambda a: (F.logsigmoid(a), torch.exp(-a.abs())))
case("LogSigmoidBackward", lambda x: (x(3, 4), x(3, 4), x(0)),
     lambda g, a, _: aten.log_sigmoid_backward(g, a, torch.exp(-a.abs())), "float32")
case("Glu", lambda x: (x(3, 4), 1), F.glu)
case("GluBackward", lambda x: (x(3, 2), x(3, 4), -1), aten.glu_backward)
case("Prelu", lambda x: (x(2, 3, 4), x(3)), F.prelu, "reduced|float32")
case("Prelu", lambda x: (x(2, 3, 4), x(1)), F.prelu, "float32")


def prelu_backward(grad: torch.Tensor, a: torch.Tensor, weight: torch.Tensor) -> Any:
    a, weight = a.detach().float().requires_grad_(), weight.detach().float().requires_grad_()
    return torch.autograd.grad(F.prelu(a, weight), (a, weight), grad.float())


case("PreluBackward", lambda x: (x(2, 3, 4), x(2, 3, 4), x(3)), prelu_backward, "float32")
case("PreluBackward", lambda x: (x(2, 3, 4), x(2, 3, 4), x(1)), prelu_backward, "float32")
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
