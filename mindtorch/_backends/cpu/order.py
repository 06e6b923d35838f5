"""Fast paths of sorting, finding and counting in small tensors.

NaN, whose place takes more steps to say, is left to the general kernels, and so is everything that is out of range.
"""
from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._dispatch.keys import CPU, NONCONTIGUOUS
from ..._dispatch.return_types import named_tuple
from ..._dtype import float32, float64, int64
from ..._storage import storage_of_array
from ..._tensor import Tensor, new
from ..common.fast_paths import Row, fast_path, fresh, ndarray

add: Any = np.add.reduce
FEW = 1 << 6  #: up to so many elements, Python's numbers are quicker than several calls of NumPy's
MOST = 1 << 11  #: elements of a small tensor
PLAIN = {float32, float64}


def found(sequence: Any, values: Any, out_int32: bool = False, right: bool = False, side: str | None = None,
          sorter: Any = None) -> Tensor | None:
    """``searchsorted`` in one line: Python's bisection takes ATen's steps, also in what is not sorted."""
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
    return fresh(places if wanted.ndim == 1 else places.reshape(wanted.shape), int64)


@fast_path
def bucketize(self: Any, boundaries: Any, out_int32: bool = False, right: bool = False) -> Tensor | None:
    return found(boundaries, self, out_int32, right)


topk_outputs = named_tuple("topk", ("values", "indices"))


@fast_path
def topk(self: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """Along the last dimension, whose first ``k`` in order are found by sorting all; of equals, the first ones."""
    array, dtype = self._array, self._dtype
    if dtype not in PLAIN or not 0 < array.size <= MOST or not array.ndim or dim not in (-1, array.ndim - 1):
        return None
    length = array.shape[-1]
    if not 0 < k <= length or (total := add(array, None)) != total:
        return None
    index = (-array if largest else array).argsort(-1, "stable")[..., :k]
    if array.ndim == 1:
        index = index.copy()
        return topk_outputs(fresh(array.take(index), dtype), fresh(index, int64))
    index = np.ascontiguousarray(index)
    starts = np.arange(0, array.size, length).reshape(*array.shape[:-1], 1)
    return topk_outputs(fresh(array.take(index + starts), dtype), fresh(index, int64))


mode_outputs = named_tuple("mode", ("values", "indices"))


@fast_path
def mode(self: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """Of one line: the last of the smallest of the most frequent numbers."""
    array, dtype = self._array, self._dtype
    if dtype not in PLAIN or array.ndim != 1 or not 0 < array.size <= FEW or dim not in (-1, 0) or keepdim:
        return None
    numbers = array.tolist()
    counts: dict[float, int] = {}
    for number in numbers:
        counts[number] = counts.get(number, 0) + 1
    if (total := sum(counts)) != total:
        return None
    most = max(counts.values())
    number = min([number for number, count in counts.items() if count == most])
    numbers.reverse()
    at = array.size - 1 - numbers.index(number)
    return mode_outputs(fresh(array[at, ...].copy(), dtype), fresh(np.array(at), int64))


def cumulative(name: str, accumulate: Callable[..., ndarray]) -> Callable[[Row], Row]:
    """``cummax`` and ``cummin``: the last of equal elements is found."""
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
        return outputs(fresh(values, dtype), fresh(places, int64))

    return fast_path(run)


@fast_path
def nonzero(self: Any) -> Tensor | None:
    """One row per element, laid out column by column."""
    array = self._array
    if not 0 < array.size <= MOST or not array.ndim or array.dtype.kind == "V":
        return None
    places = array.nonzero()
    count = places[0].size
    if not count:
        return None
    if array.ndim == 1 and count == 1:
        return fresh(places[0].reshape(1, 1), int64)
    columns: ndarray = places[0].reshape(1, count) if array.ndim == 1 else np.array(places)
    out, storage = new(Tensor), storage_of_array(columns)
    out._array, out._dtype, out._keys = columns.T, int64, CPU | NONCONTIGUOUS
    out._stride, out._storage = (1, count), storage
    storage.add_alias(out)
    return out


FAST_PATHS: dict[str, Callable[[Row], Row]] = {
    "searchsorted.Tensor": fast_path(found),
    "bucketize.Tensor": bucketize,
    "topk": topk,
    "mode": mode,
    "cummax": cumulative("cummax", np.maximum.accumulate),
    "cummin": cumulative("cummin", np.minimum.accumulate),
    "nonzero": nonzero,
}
