"""CPU kernels of norms, and of the logarithm of a sum of exponentials."""
from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from ...._base.layout import Ints, wrap_dims
from ..precision import Settled, is_half, narrowed
from ..rows import Prepared
from . import CPU_KERNELS
from .reduction import FEW, add, count, maximum, minimum, reduced, sqrt
from .sums import ONES, of_lines, squares_by_blas, total


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
    if p == 0:
        return total(x != 0, axis, keepdims)
    if count(x, axis) == 1:
        return maximum(np.abs(x), axis, keepdims=keepdims)
    if p == 2 and x.dtype.kind == "f" and x.size > FEW and len(axis) == x.ndim and x.flags.forc:
        return np.sqrt(of_lines(x.ravel("K"), squares_by_blas)).reshape((1,) * x.ndim if keepdims else ())
    if p == 2 and x.dtype.kind == "f" and x.size > FEW and axis == (x.ndim - 1,) and x.flags.c_contiguous:
        return np.sqrt(of_lines(x, squares_by_blas)).reshape((*x.shape[:-1], 1)[:x.ndim - 1 + keepdims])
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


def linalg_vector_norm(x: np.ndarray, ord: Any = 2, dim: Any = None, keepdim: bool = False,
                       dtype: Any = None) -> Settled:
    """Prepare a norm; the Euclidean one of few elements is written out."""
    axis = wrap_dims(dim, x.ndim)
    if (ord == 2 and dtype is None and (x.dtype.char in ONES or is_half(x)) and 0 < x.size <= FEW
            and x.flags.c_contiguous and count(x, axis) > 1):
        def euclidean(x: np.ndarray) -> Any:
            return sqrt(add(x * x, axis, None, None, keepdim))

        return narrowed(euclidean, x) if is_half(x) else euclidean
    row = reduced(lambda part, axis, keepdims: vector_norm(part, ord, axis, keepdims))
    settled: Any = row.prepare(x, dim, keepdim, dtype)
    return settled


CPU_KERNELS.update({"logsumexp": reduced(logsumexp), "linalg_vector_norm": Prepared(linalg_vector_norm)})
