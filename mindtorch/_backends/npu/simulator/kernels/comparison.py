"""Simulated kernels of comparison, logic, bits, limits, choice by a mask, and tests of floating point numbers."""
from __future__ import annotations

from typing import Any

import numpy as np

from .forms import CPU, Array, Kernel, common, compared, converted, inplace, named, pointwise, store


def both(name: str, row: Any, form: Any) -> dict[str, Kernel]:
    """The form with a tensor and the one with a number."""
    return {f"aclnn{name}Tensor": form(row), f"aclnn{name}Scalar": form(row)}


def where(condition: Array, self: Array, other: Array, out: Array) -> None:
    dtype = common((self.dtype, other.dtype))
    store(out, np.where(condition, converted(self, dtype), converted(other, dtype)))


def is_close(x: Any, y: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    close = np.equal(x, y) | np.isfinite(y) & (np.abs(np.subtract(x, y, dtype=np.float64)) <= atol + rtol * np.abs(y))
    return close | np.isnan(x) & np.isnan(y) if equal_nan else close


KERNELS: dict[str, Kernel] = {
    **named(compared, """
        LogicalAnd logical_and                LogicalOr logical_or                  LogicalXor logical_xor
        LogicalNot logical_not                IsFinite isfinite                     IsInf isinf
        IsPosInf isposinf                     IsNegInf isneginf
    """),
    **named(pointwise, """
        BitwiseNot bitwise_not                Maximum maximum                       Minimum minimum
        Clamp clamp                           ClampTensor clamp                     ClampMin maximum
        ClampMinTensor maximum                ClampMax minimum                      ClampMaxTensor minimum
    """),
    **both("Eq", "eq.Tensor", compared),
    **both("Ne", "ne.Tensor", compared),
    **both("Lt", "lt.Tensor", compared),
    **both("Le", "le.Tensor", compared),
    **both("Gt", "gt.Tensor", compared),
    **both("Ge", "ge.Tensor", compared),
    **both("BitwiseAnd", "bitwise_and.Tensor", pointwise),
    **both("BitwiseOr", "bitwise_or.Tensor", pointwise),
    **both("BitwiseXor", "bitwise_xor.Tensor", pointwise),
    "aclnnSWhere": where,
    "aclnnInplaceMaskedFillScalar": inplace(CPU["masked_fill_.Scalar"]),
    "aclnnInplaceMaskedFillTensor": inplace(CPU["masked_fill_.Tensor"]),
    "aclnnIsClose": compared(is_close),
    "aclnnEqual": compared(np.array_equal),
}
