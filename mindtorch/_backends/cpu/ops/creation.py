"""CPU kernels of factories."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...._dtype import COMPLEX, FLOATING, DType, get_default_dtype
from . import CPU_KERNELS


def arange(start: Any, end: Any, step: Any = 1, dtype: DType | None = None) -> np.ndarray:
    if dtype is not None and dtype.category < FLOATING:
        return np.arange(int(start), int(end), int(step), dtype=np.int64)
    if all(isinstance(v, int) for v in (start, end, step)):
        return np.arange(start, end, step, dtype=np.int64)
    return start + np.arange(math.ceil((end - start) / step), dtype=np.float64) * step


def linspace(start: Any, end: Any, steps: int, dtype: DType | None = None) -> np.ndarray:
    """Count from both ends towards the middle, as ATen does, so that the last element is exactly ``end``."""
    if dtype is not None and dtype.category < FLOATING:
        dtype, start, end = dtype, math.trunc(start), math.trunc(end)
        work: Any = np.float32 if dtype.itemsize < 8 else np.float64
    elif (dtype is not None and dtype.category == COMPLEX) or isinstance(start, complex) or isinstance(end, complex):
        work = np.complex128
    else:
        work = np.float64 if (dtype or get_default_dtype()).itemsize > 4 else np.float32
    if steps == 1:
        return np.array([start], work)
    step = work(work(end) - work(start)) / work(steps - 1)
    index = np.arange(steps)
    low = work(start) + step * index.astype(work)
    high = work(end) - step * (steps - 1 - index).astype(work)
    return np.where(index < steps // 2, low, high)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, dtype: DType | None = None) -> np.ndarray:
    if dtype is not None and dtype.category < FLOATING:
        dtype, start, end = None, math.trunc(start), math.trunc(end)
    exponents = linspace(start, end, steps, dtype)
    return np.power(np.asarray(base, exponents.dtype), exponents)


def eye(n: int, m: int, dtype: DType | None = None) -> np.ndarray:
    return np.eye(n, m, dtype=(dtype or get_default_dtype()).np)


CPU_KERNELS.add(linspace, logspace)
CPU_KERNELS.update({"arange.start_step": arange, "eye.m": eye})
