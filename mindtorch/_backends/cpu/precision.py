"""The dtype of the computation: half precision is computed in float32, as in PyTorch, and rounded once at the end."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._base import loops
from ..common.half import FEW, NATIVE, converted as as_dtype

Settled = Callable[[np.ndarray], Any]


def is_half(x: np.ndarray) -> bool:
    return x.dtype.itemsize == 2 and x.dtype.kind not in "iu"


def bits(x: np.ndarray) -> np.ndarray:
    """Return an array as loops take it: the bits of half precision."""
    return x.view(np.uint16) if is_half(x) else x


def to_opmath(x: Any) -> Any:
    """Return an array (or None) in the dtype of the computation (ATen's ``opmath_t``): float32 for half precision,
    complex64 for complex numbers of it.
    """
    if x is None or (x.dtype.itemsize != 2 and x.dtype.kind in NATIVE):
        return x
    return as_dtype(x, loops.SINGLE) if is_half(x) else x.astype(np.complex64) if x.dtype.name == "complex32" else x


def opmath(dtype: np.dtype) -> np.dtype:
    """Return the dtype of the computation, as ``to_opmath`` does."""
    wide: np.dtype = to_opmath(np.empty(0, dtype)).dtype
    return wide


def rounding(dtype: np.dtype, few: bool) -> Settled:
    """Return the function that rounds float32 results to half precision."""
    def rounded(found: Any) -> Any:
        if found.__class__ is np.float32:  # which NumPy converts in thrice the time of Python's number
            return np.array(float(found), dtype)
        if found.dtype is not loops.SINGLE:
            return found
        return found.astype(dtype) if few else as_dtype(found, dtype)

    return rounded


def narrowed(run: Settled, x: np.ndarray, widens: bool = False) -> Settled:
    """Return the function of half precision, in arrays like ``x``, that computes in float32, unless ``run`` ``widens``,
    and rounds results.
    """
    few = x.size < FEW
    rounded = rounding(x.dtype, few)

    def narrow(x: np.ndarray) -> Any:
        found = run(x if widens else x.astype(loops.SINGLE) if few else as_dtype(x, loops.SINGLE))
        return tuple(map(rounded, found)) if found.__class__ is tuple else rounded(found)

    return narrow


def narrowed_both(run: Callable[..., Any], x: np.ndarray, y: np.ndarray) -> Callable[..., Any]:
    """Return the function of two arrays of half precision that computes in float32, and rounds the result."""
    single = loops.SINGLE
    if x.size < FEW > y.size:
        rounded = rounding(x.dtype, True)
        return lambda x, y: rounded(run(x.astype(single), y.astype(single)))
    dtype = x.dtype
    return lambda x, y: as_dtype(np.asarray(run(as_dtype(x, single), as_dtype(y, single))), dtype)
