"""Fast paths of searches in small tensors."""
from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np

from ...._dispatch.keys import CPU, NONCONTIGUOUS
from ...._dtype import int64
from ...._storage import storage_of_array
from ...._tensor import Tensor, from_array, new
from ..rows import MOST
from . import FAST_PATHS, FEW, PLAIN, fast_path, ndarray


def found(sequence: Any, values: Any, out_int32: bool = False, right: bool = False, side: str | None = None,
          sorter: Any = None) -> Tensor | None:
    """Run ``searchsorted`` in one sorted line. Python's bisection takes ATen's steps, even in an unsorted one."""
    line, wanted = sequence._array, values._array
    if (out_int32 or side is not None or sorter is not None or sequence._dtype not in PLAIN
            or values._dtype is not sequence._dtype or line.ndim != 1 or not 0 < wanted.size <= FEW
            or line.size > 8 * FEW):
        return None
    numbers, given = line.tolist(), wanted.ravel().tolist()
    if (total := sum(numbers) + sum(given)) != total:
        return None
    bisect = bisect_right if right else bisect_left
    places = np.array([bisect(numbers, number) for number in given], np.int64)
    return from_array(places if wanted.ndim == 1 else places.reshape(wanted.shape), int64)


@fast_path
def bucketize(self: Any, boundaries: Any, out_int32: bool = False, right: bool = False) -> Tensor | None:
    return found(boundaries, self, out_int32, right)


@fast_path
def nonzero(self: Any) -> Tensor | None:
    """Return the indices of nonzero elements, one row each, in column-major order."""
    array = self._array
    if not 0 < array.size <= MOST or not array.ndim or array.dtype.kind == "V":
        return None
    places = array.nonzero()
    count = places[0].size
    if not count:
        return None
    if array.ndim == 1 and count == 1:
        return from_array(places[0].reshape(1, 1), int64)
    columns: ndarray = places[0].reshape(1, count) if array.ndim == 1 else np.array(places)
    out, storage = new(Tensor), storage_of_array(columns)
    out._array, out._dtype, out._keys = columns.T, int64, CPU | NONCONTIGUOUS
    out._stride, out._storage = (1, count), storage
    storage.add_alias(out)
    return out


FAST_PATHS.update({
    "searchsorted.Tensor": fast_path(found),
    "bucketize.Tensor": bucketize,
    "nonzero": nonzero,
})
