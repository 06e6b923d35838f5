"""Fast paths of pointwise operators that need their own; ``kernels`` derives all others."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..ops import pointwise
from . import FAST_PATHS, PLAIN, fast_path, ndarray


@fast_path
def lerp(self: Any, end: Any, weight: Any) -> ndarray | None:
    """Interpolate real tensors of one dtype by a number."""
    if self._dtype not in PLAIN or end._dtype is not self._dtype or weight.__class__ not in (float, int):
        return None
    array = np.asarray(pointwise.lerp(self._array, end._array, weight))
    return array if array.size else None


FAST_PATHS["lerp.Scalar"] = lerp
