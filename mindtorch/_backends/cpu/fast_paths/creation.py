"""Fast paths of factories."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...._dtype import DType, get_default_dtype, int64
from ...._tensor import Tensor, from_array
from ...common.fast_paths import Row, fast_path
from ..ops import CPU_KERNELS
from ..unwatched import computing
from . import FAST_PATHS, LARGEST, PLAIN


def arange(start: Any, end: Any, dtype: Any = None, layout: Any = None, device: Any = None,
           pin_memory: Any = None) -> Tensor | None:
    """Integers, one after the other."""
    if start.__class__ is not int or end.__class__ is not int or start > end or (
            dtype is not None and dtype is not int64):
        return None
    return from_array(np.arange(start, end, dtype=np.int64), int64)


def eye(n: int, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None) -> Tensor | None:
    if n.__class__ is not int or n <= 0:
        return None
    dtype = dtype or get_default_dtype()
    out = np.zeros((n, n), dtype.np)
    out.reshape(-1)[::n + 1] = 1
    return from_array(out, dtype)


def linspace(general: Row) -> Row:
    """From one number to another in floating point."""
    row = CPU_KERNELS["linspace"]

    def compute(start: Any, end: Any, steps: int, dtype: DType | None = None, *options: Any) -> Any:
        dtype = dtype or get_default_dtype()
        if (dtype not in PLAIN or start.__class__ not in (int, float) or end.__class__ not in (int, float)
                or steps < 1 or not -LARGEST < start < LARGEST or not -LARGEST < end < LARGEST):
            return None
        return from_array(row(start, end, steps, dtype), dtype)

    return fast_path(compute)(general)


FAST_PATHS.update({
    "arange": computing(lambda end, *options: arange(0, end, *options)),
    "arange.start": computing(arange),
    "eye": computing(eye),
    "linspace": linspace,
})
