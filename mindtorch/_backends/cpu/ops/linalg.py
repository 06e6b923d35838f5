"""CPU kernels of linear algebra. NumPy hands matrices of any strides to BLAS."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def widened(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Arrays as products of them are computed: half-precision ones in float32, as ATen accumulates."""
    if arrays[0].dtype.itemsize == 2 and arrays[0].dtype.kind not in "iu":
        return tuple(array.astype(np.float32) for array in arrays)
    return arrays


def matmul(self: np.ndarray, mat2: np.ndarray) -> np.ndarray:
    return np.matmul(*widened(self, mat2))


def addmm(self: np.ndarray, mat1: np.ndarray, mat2: np.ndarray, beta: Any = 1, alpha: Any = 1) -> np.ndarray:
    self, mat1, mat2 = widened(self, mat1, mat2)
    product = np.matmul(mat1, mat2)
    if alpha != 1:
        product *= _scalar(alpha, product)
    if beta == 0:  # what self holds does not matter then, not even NaN
        return product
    product += self if beta == 1 else self * _scalar(beta, product)
    return product


def _scalar(value: Any, array: np.ndarray) -> Any:
    """A number in an array's dtype, as C converts it."""
    return np.asarray(value).astype(array.dtype)[()]


ROWS: dict[str, Callable[..., Any]] = {"mm": matmul, "bmm": matmul, "addmm": addmm}
