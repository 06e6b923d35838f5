"""Fast paths of filling by a mask."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...._dtype import bool_
from ..ops.comparison import MANY, chosen
from . import FAST_PATHS, LARGEST, PLAIN, fast_path, ndarray


@fast_path
def masked_fill(self: Any, mask: Any, value: Any) -> ndarray | None:
    """Run ``masked_fill`` on real floating point numbers with a number."""
    dtype = self._dtype
    if (dtype not in PLAIN or mask._dtype is not bool_ or value.__class__ not in (int, float)
            or (not -LARGEST < value < LARGEST and value - value == 0)):
        return None
    array, where = self._array, mask._array
    if array.size < MANY and where.shape == array.shape:
        out: ndarray = array.copy()
        np.putmask(out, where, value)
        return out
    return chosen(where, dtype.np.type(value), array)


@fast_path
def masked_fill_(self: Any, mask: Any, value: Any) -> Any:
    """Write a number into real floating point numbers where a mask of the same shape is set."""
    array, where, storage = self._array, mask._array, self._storage
    if (self._dtype not in PLAIN or mask._dtype is not bool_ or value.__class__ not in (int, float)
            or not -LARGEST < value < LARGEST or where.shape != array.shape
            or (storage is not None and storage is mask._storage)):
        return None
    np.copyto(array, value, where=where)
    return self


FAST_PATHS.update({"masked_fill.Scalar": masked_fill, "masked_fill_.Scalar": masked_fill_})
