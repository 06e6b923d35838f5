"""Fast lanes of joining and indexing: contiguous CPU tensors, in the cases that programs mostly write.

NumPy's result is then contiguous, as PyTorch's is; for empty results, whose strides may be odd, and for
whatever NumPy refuses the general kernel decides, outside the ``try``: its errors have nothing to do with NumPy's.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...._dispatch.keys import CPU
from ...._dtype import bool_, int64
from ...._tensor import Tensor, new

Row = Callable[..., Any]


def fresh(array: np.ndarray, dtype: Any) -> Tensor:
    out = new(Tensor)
    out._array, out._dtype, out._keys = array, dtype, CPU
    return out


def join_lane(join: Callable[..., np.ndarray]) -> Callable[[Row], Row]:
    """``cat`` and ``stack`` of tensors of one dtype."""

    def make(general: Row) -> Row:
        def lane(tensors: Any, dim: int = 0) -> Any:
            dtype = tensors[0]._dtype if tensors else None
            for tensor in tensors:
                if tensor._dtype is not dtype:
                    return general(tensors, dim)
            try:
                array = join([tensor._array for tensor in tensors], dim)
            except (ValueError, IndexError):
                pass
            else:
                if array.size:
                    return fresh(array, dtype)
            return general(tensors, dim)

        return lane

    return make


def index_lane(general: Row) -> Row:
    """One tensor of int64 indices of the first dimension, or one mask."""

    def lane(self: Any, indices: Any) -> Any:
        if len(indices) != 1:
            return general(self, indices)
        index = indices[0]
        try:
            if index._dtype is int64:
                array = self._array.take(index._array, 0)
            elif index._dtype is bool_ and index._array.ndim:
                array = self._array[index._array]
            else:
                return general(self, indices)
        except (ValueError, IndexError):
            pass
        else:
            if array.__class__ is np.ndarray and array.size:
                return fresh(array, self._dtype)
        return general(self, indices)

    return lane


def index_put_lane(general: Row) -> Row:
    """A number in a tensor, or as many rows as there are indices, at int64 indices of the first dimension."""

    def lane(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
        index = indices[0] if len(indices) == 1 else None
        if (accumulate or index is None or index._dtype is not int64 or values._dtype is not self._dtype
                or (values._storage is not None and values._storage is self._storage)
                or (index._storage is not None and index._storage is self._storage)):
            return general(self, indices, values, accumulate)
        array, at, given = self._array, index._array, values._array
        if given.ndim and given.shape != (*at.shape, *array.shape[1:]):
            return general(self, indices, values, accumulate)
        try:
            array[at] = given
        except IndexError:
            pass
        else:
            return self
        return general(self, indices, values, accumulate)

    return lane


def index_select_lane(general: Row) -> Row:
    """int64 indices that are in range."""

    def lane(self: Any, dim: int, index: Any) -> Any:
        array, at = self._array, index._array
        if index._dtype is not int64 or at.ndim != 1 or not at.size or not array.ndim or at.min() < 0:
            return general(self, dim, index)
        try:
            array = array.take(at, dim)
        except (ValueError, IndexError):
            pass
        else:
            if array.size:
                return fresh(array, self._dtype)
        return general(self, dim, index)

    return lane


LANES: dict[str, Callable[[Row], Row]] = {
    "cat": join_lane(np.concatenate),
    "stack": join_lane(np.stack),
    "index.Tensor": index_lane,
    "index_put_": index_put_lane,
    "index_select": index_select_lane,
}
