"""CPU kernels of norms, and of the logarithm of a sum of exponentials."""
from __future__ import annotations

from math import inf, isinf
from typing import Any

import numpy as np

from ...._base.layout import Ints
from ...common.blocks import LARGE
from ..precision import Settled
from ..rows import Prepared
from . import AT_ONCE, CPU_KERNELS
from .reduction import FEW, PIECE, by_kept, count, first_kept, maximum, minimum, reduced, sqrt
from .sums import ALONE, ONES, few_summed, of_lines, squares_by_blas, total


def logsumexp(x: np.ndarray, axis: Ints, keepdims: bool) -> Any:
    """Compute the sum after a shift by the largest element, so that nothing overflows."""
    if x.dtype.kind in "biu":
        x = x.astype(np.float64)
    top = maximum(x.real, axis, keepdims=True, initial=-inf)
    top = np.where(np.isfinite(top), top, 0)
    shifted = np.asarray(x - top)
    result = np.asarray(np.log(total(np.exp(shifted, out=shifted), axis, keepdims)))
    return result + top.reshape(result.shape)


def vector_norm(x: np.ndarray, p: float, axis: Ints, keepdims: bool = False) -> Any:
    """Compute the p-norm: for 0 the number of nonzero elements, for infinities the extrema."""
    kept = first_kept(x, axis) if x.size >= LARGE else None
    if kept and x.shape[kept] > 1:
        return by_kept(lambda part: np.asarray(vector_norm(part, p, axis, keepdims)), x, axis, keepdims)
    if p == 0:
        return total(x != 0, axis, keepdims)
    if count(x, axis) == 1:
        return maximum(np.abs(x), axis, keepdims=keepdims)
    if p == 2 and x.dtype.kind == "f" and x.size > FEW and len(axis) == x.ndim and x.flags.forc:
        return np.sqrt(of_lines(x.ravel("K"), squares_by_blas, ALONE >> 1)).reshape((1,) * x.ndim if keepdims else ())
    if p == 2 and x.dtype.kind == "f" and x.size > FEW and axis[0] == x.ndim - len(axis) and x.flags.c_contiguous:
        before = x.shape[:axis[0]]
        return np.sqrt(of_lines(x.reshape(*before, -1), squares_by_blas)).reshape(*before, *[1] * len(axis) * keepdims)
    if p == 2 and x.dtype.kind == "f":
        return np.sqrt(total(np.square(x), axis, keepdims))
    if p == 2:
        found = np.sqrt(total(x.real**2 + x.imag**2, axis, keepdims))
        if not np.isnan(found).any():
            return found
    x = np.abs(x)  # of complex numbers with an infinite part it is infinite
    if p == inf or p == -inf:
        return (maximum if p > 0 else minimum)(x, axis, keepdims=keepdims)
    if p == 1:
        return total(x, axis, keepdims)
    p = x.dtype.type(p)  # which may be infinite, but is no maximum then
    return np.asarray(np.float_power(total(x**p, axis, keepdims), 1 / p)).astype(x.dtype)


#: Powers of few numbers that take a call or two, where ``np.power`` takes a call of C an element.
POWERS: dict[float, Settled] = {0.5: np.sqrt, 3: lambda x: x * x * x, 4: lambda x: np.square(np.square(x))}


def of_complex(x: np.ndarray, axis: Ints) -> Settled:
    """Return the function that computes the Euclidean norm of few complex numbers, infinite if a part is."""
    real = x.real.dtype

    def run(x: np.ndarray) -> Any:
        parts = x.ravel().view(real)
        squares = parts.dot(parts)
        return sqrt(squares) if squares == squares else vector_norm(x, 2, axis)

    return run


def few_norm(x: np.ndarray, p: float, axis: Ints, keepdims: bool) -> Settled | None:
    """Return the function that computes the p-norm of few float32 or float64 numbers, or the Euclidean one of complex
    numbers; None for others.
    """
    if x.dtype.kind == "c":
        return of_complex(x, axis) if p == 2 and len(axis) == x.ndim and not keepdims and 1 < x.size <= PIECE else None
    if x.dtype.char in ONES and count(x, axis) == 1 and p:
        shape = x.shape if keepdims else tuple([n for d, n in enumerate(x.shape) if d not in axis])
        return lambda x: np.abs(x).reshape(shape)
    summed = few_summed(x, axis, keepdims) if x.dtype.char in ONES and count(x, axis) else None
    whole, kind = len(axis) == x.ndim and not keepdims, x.dtype.type
    if summed is None or x.size > (ALONE if whole and p == 2 else PIECE):
        return None
    if p == 2 and whole:
        return lambda x: sqrt((x := x.ravel()).dot(x))
    if p == 2:
        return lambda x: sqrt(summed(x * x))
    if p == 1:
        return lambda x: summed(np.abs(x))
    if p == 0:
        return (lambda x: kind(np.count_nonzero(x))) if whole else lambda x: summed(np.not_equal(x, 0).astype(kind))
    if isinf(p):
        extreme: Any = maximum if p > 0 else minimum
        return lambda x: extreme(np.abs(x), axis, None, None, keepdims)
    order = kind(p)  # which may be 0 or infinite, but counts nothing and is no extremum then
    power, root = POWERS.get(p) or (lambda x: np.power(x, order)), 1 / order
    if whole:
        return lambda x: kind(np.float64(summed(power(np.abs(x)))) ** root)
    return lambda x: np.float_power(summed(power(np.abs(x))), root).astype(kind)


@Prepared
def linalg_vector_norm(x: np.ndarray, ord: Any = 2, dim: Any = None, keepdim: bool = False,
                       dtype: Any = None) -> Settled:
    """Prepare a norm."""
    row = reduced(lambda part, axis, keepdims: vector_norm(part, ord, axis, keepdims), None,
                  lambda x, axis, keepdims: few_norm(x, ord, axis, keepdims))
    settled: Any = row.prepare(x, dim, keepdim, dtype)
    return settled


def matrix_norm(x: np.ndarray, ord: Any = "fro", dim: Ints = (-2, -1), keepdim: bool = False,
                dtype: Any = None) -> Settled | None:
    """Prepare the Frobenius norm, or the one of the largest or smallest sum of float32 or float64 numbers."""
    if ord == "fro":
        return linalg_vector_norm.prepare(x, 2, tuple([d % x.ndim for d in dim]), keepdim, dtype)
    if isinstance(ord, str) or abs(ord) == 2 or x.dtype.char not in ONES or dtype is not None or not x.size:
        return None
    rows, columns = (d % x.ndim for d in dim)
    first, second = (columns, rows) if isinf(ord) else (rows, columns)
    sums: Any = linalg_vector_norm.prepare(x, 1, (first,), True)
    extreme = maximum if ord > 0 else minimum
    both = rows, columns
    shape = tuple([1 if d in both else n for d, n in enumerate(x.shape) if keepdim or d not in both])
    return lambda x: np.reshape(extreme(sums(x), second), shape)


AT_ONCE.update(dict.fromkeys(("linalg_matrix_norm", "linalg_matrix_norm.str_ord"), matrix_norm))
CPU_KERNELS.add(linalg_vector_norm)
CPU_KERNELS["logsumexp"] = reduced(logsumexp)
