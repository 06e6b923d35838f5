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


def narrowed(run: Settled, x: np.ndarray, widens: bool = False) -> Settled:
    """Return the function of half precision, in arrays like ``x``, that computes in float32, unless ``run`` ``widens``,
    and rounds results.
    """
    dtype, few = x.dtype, x.size < FEW

    def rounded(found: Any) -> Any:
        if found.__class__ is np.float32:  # which NumPy converts in thrice the time of Python's number
            return np.array(float(found), dtype)
        if found.dtype is not loops.SINGLE:
            return found
        return found.astype(dtype) if few else as_dtype(found, dtype)

    def narrow(x: np.ndarray) -> Any:
        found = run(x if widens else x.astype(loops.SINGLE) if few else as_dtype(x, loops.SINGLE))
        return tuple(map(rounded, found)) if found.__class__ is tuple else rounded(found)

    return narrow
