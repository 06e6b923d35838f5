"""Fast paths of matrix products."""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..at_once import computing
from . import ANY_STRIDES, FAST_PATHS, PLAIN, Row, fast_path, ndarray

matmul: Any = np.matmul


@fast_path
def mm(self: Any, mat2: Any) -> ndarray | None:
    """Multiply matrices of any strides, which NumPy passes to BLAS uncopied."""
    left, right, dtype = self._array, mat2._array, self._dtype
    if dtype not in PLAIN or mat2._dtype is not dtype or left.ndim != 2 or right.ndim != 2:
        return None
    return left.dot(right)  # for few elements, in a third of the time of ``matmul``


@fast_path
def bmm(self: Any, mat2: Any) -> ndarray | None:
    """Multiply batches of matrices of any strides; NumPy compares their sizes."""
    left, right, dtype = self._array, mat2._array, self._dtype
    if (dtype not in PLAIN or mat2._dtype is not dtype or left.ndim != 3 or right.ndim != 3
            or len(left) != len(right)):
        return None
    return matmul(left, right)


@fast_path
def baddbmm(self: Any, batch1: Any, batch2: Any, *factors: Any) -> ndarray | None:
    """Multiply batches of matrices and add a tensor of the result's shape."""
    left, right, added, dtype = batch1._array, batch2._array, self._array, self._dtype
    if (factors or dtype not in PLAIN or batch1._dtype is not dtype or batch2._dtype is not dtype or left.ndim != 3
            or right.ndim != 3 or len(left) != len(right) or added.shape != (*left.shape[:2], right.shape[2])):
        return None
    array = matmul(left, right)
    array += added
    return array


def affine(left: ndarray, right: ndarray, bias: ndarray) -> ndarray:
    """Multiply matrices of any strides and add a bias to each column.

    For a few rows times a larger transposed matrix, as in ``linear``, OpenBLAS is up to 1.5 times as fast in float32 on
    the transposed product, with the matrix as it lies in memory. Adding the bias then restores the order.
    """
    rows, depth = left.shape
    if 16 <= rows <= 32 and depth >= 64 <= right.shape[1] and right.strides[0] == 4:  # of float32
        return np.add(right.T.dot(left.T.copy()).T, bias, order="C")
    array: ndarray = left.dot(right)
    return np.add(array, bias, array)


@fast_path
def addmm(self: Any, mat1: Any, mat2: Any, *factors: Any) -> ndarray | None:
    """Multiply matrices, as in ``mm``, and add a bias to each column."""
    left, right, dtype = mat1._array, mat2._array, self._dtype
    if (factors or dtype not in PLAIN or mat1._dtype is not dtype or mat2._dtype is not dtype
            or left.ndim != 2 or right.ndim != 2 or self._array.ndim != 1):
        return None
    return affine(left, right, self._array)


def linear(input: Any, weight: Any, bias: Any = None) -> ndarray | None:
    """Multiply by a transposed weight and add a bias, as in ``addmm``."""
    left, right, dtype = input._array, weight._array, input._dtype
    if (dtype not in PLAIN or weight._dtype is not dtype or left.ndim != 2 or right.ndim != 2
            or left.shape[1] != right.shape[1]):
        return None
    if bias is None:
        return left.dot(right.T)
    return affine(left, right.T, bias._array) if bias._dtype is dtype and bias._array.ndim == 1 else None


def with_vector(span: int) -> Callable[[Row], Row]:
    """Build the fast path of a product of a vector (``span`` 1) or matrix (2) with a vector."""

    def run(self: Any, other: Any) -> ndarray | None:
        left, right, dtype = self._array, other._array, self._dtype
        if dtype not in PLAIN or other._dtype is not dtype or left.ndim != span or right.ndim != 1 or not right.size:
            return None
        return np.asarray(left.dot(right))

    return fast_path(run)


def product(self: Any, other: Any) -> ndarray | None:
    """Run ``matmul`` if it is one product with a matrix or vector, or a batched product without broadcasting."""
    left, right, dtype = self._array, other._array, self._dtype
    span = right.ndim
    if dtype not in PLAIN or other._dtype is not dtype or not left.ndim or not right.size or not left.size:
        return None
    if span == 1 or span == 2:
        return np.asarray(left.dot(right) if left.ndim <= 2 else
                          left.reshape(-1, left.shape[-1]).dot(right).reshape(left.shape[:-1] + right.shape[1:]))
    return matmul(left, right) if span == left.ndim == 3 and len(left) == len(right) else None


def inner(self: Any, other: Any) -> ndarray | None:
    """Multiply over the last dimensions."""
    left, right, dtype = self._array, other._array, self._dtype
    if (dtype not in PLAIN or other._dtype is not dtype or not left.ndim or not right.ndim or not left.size
            or left.shape[-1] != right.shape[-1]):
        return None
    count = right.shape[-1]
    lines = left.reshape(-1, count).dot(right.reshape(-1, count).T)
    return lines.reshape(left.shape[:-1] + right.shape[:-1])


def tensordot(self: Any, other: Any, dims_self: Any, dims_other: Any) -> ndarray | None:
    """Multiply over the last dimensions of one and the first of the other, in order."""
    left, right, dtype, count = self._array, other._array, self._dtype, len(dims_self)
    kept = left.ndim - count
    if (dtype not in PLAIN or other._dtype is not dtype or dims_self != tuple(range(kept, left.ndim))
            or dims_other != tuple(range(count)) or left.shape[kept:] != right.shape[:count] or not left.size):
        return None
    size = prod(right.shape[:count])
    return left.reshape(-1, size).dot(right.reshape(size, -1)).reshape(left.shape[:kept] + right.shape[count:])


def kron(self: Any, other: Any) -> ndarray | None:
    left, right = self._array, other._array
    if self._dtype not in PLAIN or other._dtype is not self._dtype or left.ndim != 2 or right.ndim != 2:
        return None
    (a, b), (c, d) = left.shape, right.shape
    product = left.reshape(a, 1, b, 1) * right.reshape(1, c, 1, d)
    return product.reshape(a * c, b * d) if product.size else None


ANY_STRIDES.update({"mm": mm, "bmm": bmm, "baddbmm": baddbmm, "addmm": addmm})
FAST_PATHS.update({
    "dot": with_vector(1), "mv": with_vector(2), "kron": computing(kron), "matmul": computing(product),
    "inner": computing(inner), "tensordot": computing(tensordot), "linear": computing(linear),
})
