"""Fast paths of running maxima and minima. The general kernels handle NaN, whose indices take more steps."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...._dispatch.return_types import named_tuple
from ...._dtype import int64
from ...._tensor import from_array
from ..plans import MOST
from . import FAST_PATHS, PLAIN, Row, fast_path, ndarray

add: Any = np.add.reduce


def cumulative(name: str, accumulate: Callable[..., ndarray]) -> Callable[[Row], Row]:
    """Build the fast path of ``cummax`` or ``cummin``, which finds the last of equal elements."""
    outputs = named_tuple(name, ("values", "indices"))

    def run(self: Any, dim: int) -> Any:
        array, dtype = self._array, self._dtype
        if dtype not in PLAIN or not 0 < array.size <= MOST or not array.ndim or dim not in (-1, array.ndim - 1):
            return None
        if (total := add(array, None)) != total:
            return None
        values = accumulate(array, -1)
        places = np.where(array == values, np.arange(array.shape[-1]), 0)
        np.maximum.accumulate(places, -1, None, places)
        return outputs(from_array(values, dtype), from_array(places, int64))

    return fast_path(run)


def running(accumulate: Callable[..., ndarray]) -> Callable[[Row], Row]:
    """Build the fast path of ``cumsum`` or ``cumprod``, in double precision."""

    def run(self: Any, dim: int, dtype: Any = None) -> ndarray | None:
        array = self._array
        if dtype not in (None, self._dtype) or self._dtype not in PLAIN or not 0 < array.size <= MOST:
            return None
        return accumulate(array, dim, np.float64).astype(array.dtype, copy=False)

    return fast_path(run)


FAST_PATHS.update({"cumsum": running(np.add.accumulate), "cumprod": running(np.multiply.accumulate),
                   "cummax": cumulative("cummax", np.maximum.accumulate),
                   "cummin": cumulative("cummin", np.minimum.accumulate)})
