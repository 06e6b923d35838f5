"""Meta kernels of factories."""
from __future__ import annotations

import math
from typing import Any

from ...._base.errors import C_NAMES, NAMES, check, check_number, check_takes
from ...._base.layout import Spec
from ...._dtype import BOOL, FLOATING, INTEGER, DType, dtype_of_number, get_default_dtype, int64
from . import META_KERNELS


def arange(start: Any, end: Any, step: Any = 1, dtype: DType | None = None, *options: Any) -> Spec:
    """int64 if all three numbers are integers."""
    if dtype is None:
        dtype = get_default_dtype() if any(isinstance(v, float) for v in (start, end, step)) else int64
    check_takes(dtype.category in (INTEGER, FLOATING), "arange_cpu", dtype)
    if dtype is int64 and not isinstance(step, int):
        check(int(step) != 0, "step must be nonzero", ValueError, kind="range")
    check(step != 0, "step must be nonzero", kind="range")
    check(math.isfinite(start) and math.isfinite(end), lambda: f"unsupported range: {start} -> {end}")
    check((end - start) * step >= 0, "upper bound and lower bound inconsistent with step sign", kind="range")
    count = length(start, end, step, dtype)
    check(count < 2**63, "invalid size, possible overflow?")
    return Spec((count,), dtype)


def length(start: Any, end: Any, step: Any, dtype: DType) -> int:
    """``ceil((end - start) / step)``; of int64 it is the whole parts that count."""
    if dtype is int64:
        start, end, step = int(start), int(end), int(step)
    if all(isinstance(v, int) for v in (start, end, step)):
        return -((start - end) // step)
    return math.ceil((end - start) / step)


def linspace(start: Any, end: Any, steps: int, dtype: DType | None = None, *options: Any) -> Spec:
    check(steps >= 0, "number of steps must be non-negative")
    inferred = dtype_of_number(0.0 + start + end)
    dtype = dtype or inferred
    check(dtype.is_complex or not inferred.is_complex,
          lambda: f"torch.linspace(): inferred dtype {C_NAMES[inferred.name]} can't be safely cast to passed dtype "
                  f"{NAMES[dtype.name]}")
    if steps > 1:  # else there is nothing to space
        check_takes(dtype.category != BOOL, "linspace_cpu", dtype)
        check_number(dtype, start)
        check_number(dtype, end)
    return Spec((steps,), dtype)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, dtype: DType | None = None, *options: Any) -> Spec:
    return linspace(start, end, steps, dtype)


def eye(n: int, m: int, dtype: DType | None = None, *options: Any) -> Spec:
    check(n >= 0, lambda: f"n must be greater or equal to 0, got {n}")
    check(m >= 0, lambda: f"m must be greater or equal to 0, got {m}")
    return Spec((n, m), dtype or get_default_dtype())


META_KERNELS.add(linspace, logspace)
META_KERNELS.update({"arange.start_step": arange, "eye.m": eye})
