"""Meta kernels of factories."""
from __future__ import annotations

import math
from typing import Any

from ...._dtype import FLOATING, DType, dtype_of_number, get_default_dtype, int64
from ...._errors import check
from ...._layout import Spec
from . import META_KERNELS


def arange(start: Any, end: Any, step: Any = 1, dtype: DType | None = None) -> Spec:
    """``ceil((end - start) / step)`` elements; int64 if all three are integers."""
    if dtype is None:
        dtype = get_default_dtype() if any(isinstance(v, float) for v in (start, end, step)) else int64
    check(dtype.name != "bool", '"arange_cpu" not implemented for \'Bool\'', NotImplementedError)
    if dtype.category < FLOATING and not isinstance(step, int):
        check(int(step) != 0, "step must be nonzero", ValueError, kind="range")
    check(step != 0, "step must be nonzero", kind="range")
    check(math.isfinite(start) and math.isfinite(end), lambda: f"unsupported range: {start} -> {end}")
    check((end - start) * step >= 0, "upper bound and lower bound inconsistent with step sign", kind="range")
    if dtype.category < FLOATING:
        start, end, step = int(start), int(end), int(step)
    if all(isinstance(v, int) for v in (start, end, step)):
        return Spec((-((start - end) // step),), dtype)
    return Spec((math.ceil((end - start) / step),), dtype)


def linspace(start: Any, end: Any, steps: int, dtype: DType | None = None) -> Spec:
    check(steps >= 0, lambda: f"number of steps must be non-negative, but got {steps}")
    if dtype is None:
        is_complex = any(dtype_of_number(v).is_complex for v in (start, end))
        dtype = get_default_dtype().to_complex() if is_complex else get_default_dtype()
    return Spec((steps,), dtype)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, dtype: DType | None = None) -> Spec:
    return linspace(start, end, steps, dtype)


def eye(n: int, m: int, dtype: DType | None = None) -> Spec:
    check(n >= 0, lambda: f"n must be greater or equal to 0, got {n}")
    check(m >= 0, lambda: f"m must be greater or equal to 0, got {m}")
    return Spec((n, m), dtype or get_default_dtype())


META_KERNELS.add(linspace, logspace)
META_KERNELS.update({"arange.start_step": arange, "eye.m": eye})
