"""CPU kernels of products. NumPy passes matrices of any strides to BLAS."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import CPU_KERNELS
from .reduction import to_opmath
from .shape import of_one_dtype

ndarray = np.ndarray


#: From this many multiplications on, integers are multiplied by BLAS.
MANY = 1 << 14


def multiplied(left: ndarray, right: ndarray) -> Any:
    """Multiply matrices. Integers use BLAS in float64 if all sums are exact, since NumPy's integer product is slow."""
    if left.dtype.kind in "iu" and left.ndim > 1 and left.size * right.shape[-1] >= MANY and right.size:
        largest = [max(abs(int(x.max())), abs(int(x.min()))) for x in (left, right)]
        if largest[0] * largest[1] * left.shape[-1] <= 1 << 53:
            return np.matmul(left.astype(np.float64), right.astype(np.float64)).astype(np.int64).astype(left.dtype)
    return np.matmul(left, right)


def widened(product: Callable[[ndarray, ndarray], Any]) -> Callable[[ndarray, ndarray], Any]:
    """Wrap a product of two arrays to compute half precision in float32."""
    return lambda self, other: product(to_opmath(self), to_opmath(other))


def added(self: ndarray, product: ndarray, beta: Any, alpha: Any) -> ndarray:
    """Return ``beta * self + alpha * product``, overwriting the product."""
    if alpha != 1:
        product *= _scalar(alpha, product)
    if beta == 0:  # self is then ignored, even NaN
        return product
    product += self if beta == 1 else self * _scalar(beta, product)
    return product


def _scalar(value: Any, array: ndarray) -> Any:
    """Convert a number to an array's dtype as C does."""
    return np.asarray(value).astype(array.dtype)[()]


def addmm(self: ndarray, mat1: ndarray, mat2: ndarray, beta: Any = 1, alpha: Any = 1) -> ndarray:
    """Add ``self`` and a product of matrices, of batches of matrices, or of a matrix and a vector."""
    self, mat1, mat2 = map(to_opmath, (self, mat1, mat2))
    return added(self, multiplied(mat1, mat2), beta, alpha)


def addbmm(self: ndarray, batch1: ndarray, batch2: ndarray, beta: Any = 1, alpha: Any = 1) -> ndarray:
    """Add one product after the other, rounding each sum to the dtype, as ATen does."""
    for mat1, mat2 in zip(batch1, batch2, strict=True):
        self, beta = addmm(self, mat1, mat2, beta, alpha).astype(self.dtype), 1
    shape = batch1.shape[1], batch2.shape[2]
    return np.broadcast_to(self if len(batch1) else added(self, np.zeros(shape, self.dtype), beta, 1), shape)


def addr(self: ndarray, vec1: ndarray, vec2: ndarray, beta: Any = 1, alpha: Any = 1) -> ndarray:
    self, vec1, vec2 = of_one_dtype([self, vec1, vec2])
    product = np.multiply.outer(vec1 if alpha == 1 else vec1 * _scalar(alpha, vec1), vec2)
    return added(np.broadcast_to(self, product.shape), product, beta, 1)


def cross(a: ndarray, b: ndarray, dim: int = -1) -> ndarray:
    if a.shape != b.shape:
        a, b = np.broadcast_arrays(a, b)
    before: Any = (slice(None),) * (dim % a.ndim)
    (a0, a1, a2), (b0, b1, b2) = ([x[(*before, i)] for i in range(3)] for x in (a, b))
    out = np.empty(a.shape, np.result_type(a, b))
    for i, part in enumerate((a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0)):
        out[(*before, i)] = part
    return out


def trilinear(i1: ndarray, i2: ndarray, i3: ndarray, expand1: Any, expand2: Any, expand3: Any, sumdim: Any,
              unroll_dim: int = 1) -> ndarray:
    """Sum the product of three arrays over ``sumdim``; ``expand`` lists the broadcast dimensions of each."""
    dims = range(i1.ndim + len(expand1))
    first, second, third = ([d for d in dims if d not in expand] for expand in (expand1, expand2, expand3))
    both = [d for d in dims if (d in first or d in second) and not (d in sumdim and d in expand3)]
    product = np.einsum(to_opmath(i1), first, to_opmath(i2), second, both, optimize=True).astype(i1.dtype)
    rest = [d for d in dims if d not in sumdim]
    return np.einsum(to_opmath(product), both, to_opmath(i3), third, rest, optimize=True)


def weight_norm_interface(v: ndarray, g: ndarray, dim: int = 0) -> tuple[ndarray, ndarray]:
    norms = np.sqrt(np.square(v).sum(tuple(d for d in range(v.ndim) if d != dim), keepdims=True)).reshape(g.shape)
    return v * (g / norms), norms


CPU_KERNELS.add(addmm, addr, addbmm)
CPU_KERNELS.update({
    "mm": widened(multiplied),
    "bmm": widened(multiplied),
    "mv": widened(multiplied),
    "dot": widened(np.dot),
    "vdot": widened(np.vdot),
    "addmv": addmm,
    "baddbmm": addmm,
    "linalg_cross": cross,
    "_trilinear": trilinear,
    "_weight_norm_interface": weight_norm_interface,
})
