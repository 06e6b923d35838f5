"""Simulated kernels of comparison, logic, bits, limits, choice by a mask, and tests of floating point numbers."""
from __future__ import annotations

from typing import Any

import numpy as np

from .forms import Array, Kernel, common, compared, converted, inplace, named, pointwise, store


def where(condition: Array, self: Array, other: Array, out: Array) -> None:
    dtype = common((self.dtype, other.dtype))
    store(out, np.where(condition, converted(self, dtype), converted(other, dtype)))


def is_close(x: Any, y: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    close = np.equal(x, y) | np.isfinite(y) & (np.abs(np.subtract(x, y, dtype=np.float64)) <= atol + rtol * np.abs(y))
    return close | np.isnan(x) & np.isnan(y) if equal_nan else close


KERNELS: dict[str, Kernel] = {
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
}
