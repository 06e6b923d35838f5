"""Fast paths of pointwise operators that need their own; ``kernels`` derives all others."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...._tensor import Tensor, from_array
from ..ops import CPU_KERNELS, pointwise
from . import FAST_PATHS, PLAIN, Row, fast_path, ndarray


@fast_path
def lerp(self: Any, end: Any, weight: Any) -> ndarray | None:
    """Interpolate real tensors of one dtype by a number."""
    if self._dtype not in PLAIN or end._dtype is not self._dtype or weight.__class__ not in (float, int):
        return None
    array = np.asarray(pointwise.lerp(self._array, end._array, weight))
    return array if array.size else None


def of_parts(name: str) -> Callable[[Row], Row]:
    """Build the fast path that makes complex numbers from two tensors of one shape."""

    def make(general: Row) -> Row:
        row = CPU_KERNELS[name]

        def compute(first: Any, second: Any) -> Tensor | None:
            dtype = first._dtype
            if dtype not in PLAIN or second._dtype is not dtype or first._array.shape != second._array.shape:
                return None
            return from_array(row(first._array, second._array), dtype.to_complex())

        return fast_path(compute)(general)

    return make


FAST_PATHS.update({"lerp.Scalar": lerp, "polar": of_parts("polar"), "complex": of_parts("complex")})
