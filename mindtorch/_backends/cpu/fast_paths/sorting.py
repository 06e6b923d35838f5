"""Fast paths of sorting and counting in small tensors. General kernels handle NaN, whose indices take more steps."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...._dispatch.return_types import named_tuple
from ...._dtype import int64
from ...._tensor import from_array
from ..rows import MOST
from . import FAST_PATHS, FEW, PLAIN, fast_path

add: Any = np.add.reduce


topk_outputs = named_tuple("topk", ("values", "indices"))


@fast_path
def topk(self: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """Return the first ``k`` along the last dimension by a stable sort."""
    array, dtype = self._array, self._dtype
    if dtype not in PLAIN or not 0 < array.size <= MOST or not array.ndim or dim not in (-1, array.ndim - 1):
        return None
    length = array.shape[-1]
    if not 0 < k <= length or (total := add(array, None)) != total:
        return None
    index = (-array if largest else array).argsort(-1, "stable")[..., :k]
    if array.ndim == 1:
        index = index.copy()
        return topk_outputs(from_array(array.take(index), dtype), from_array(index, int64))
    index = np.ascontiguousarray(index)
    starts = np.arange(0, array.size, length).reshape(*array.shape[:-1], 1)
    return topk_outputs(from_array(array.take(index + starts), dtype), from_array(index, int64))


mode_outputs = named_tuple("mode", ("values", "indices"))


@fast_path
def mode(self: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """Find the mode of one line: the last occurrence of the smallest of the most frequent numbers."""
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
    return mode_outputs(from_array(array[at, ...].copy(), dtype), from_array(np.array(at), int64))


FAST_PATHS.update({"topk": topk, "mode": mode})
