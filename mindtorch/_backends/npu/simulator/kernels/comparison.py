"""Simulated kernels of comparison, logic, bits, limits, choice by a mask, and tests of floating point numbers."""
from __future__ import annotations

from typing import Any

import numpy as np

from .forms import CPU, Array, Kernel, common, compared, converted, inplace, pointwise, store


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
    **both("Eq", "eq.Tensor", compared),
    **both("Ne", "ne.Tensor", compared),
    **both("Lt", "lt.Tensor", compared),
    **both("Le", "le.Tensor", compared),
    **both("Gt", "gt.Tensor", compared),
    **both("Ge", "ge.Tensor", compared),
    "aclnnLogicalAnd": compared("logical_and"),
    "aclnnLogicalOr": compared("logical_or"),
    "aclnnLogicalXor": compared("logical_xor"),
    "aclnnLogicalNot": compared("logical_not"),
    **both("BitwiseAnd", "bitwise_and.Tensor", pointwise),
    **both("BitwiseOr", "bitwise_or.Tensor", pointwise),
    **both("BitwiseXor", "bitwise_xor.Tensor", pointwise),
    "aclnnBitwiseNot": pointwise("bitwise_not"),
    "aclnnMaximum": pointwise("maximum"),
    "aclnnMinimum": pointwise("minimum"),
    "aclnnClamp": pointwise("clamp"),
    "aclnnClampTensor": pointwise("clamp"),
    "aclnnClampMin": pointwise("maximum"),
    "aclnnClampMinTensor": pointwise("maximum"),
    "aclnnClampMax": pointwise("minimum"),
    "aclnnClampMaxTensor": pointwise("minimum"),
    "aclnnSWhere": where,
    "aclnnInplaceMaskedFillScalar": inplace(CPU["masked_fill_.Scalar"]),
    "aclnnInplaceMaskedFillTensor": inplace(CPU["masked_fill_.Tensor"]),
    "aclnnIsFinite": compared("isfinite"),
    "aclnnIsInf": compared("isinf"),
    "aclnnIsPosInf": compared("isposinf"),
    "aclnnIsNegInf": compared("isneginf"),
    "aclnnIsClose": compared(is_close),
    "aclnnEqual": compared(np.array_equal),
}
