"""Fast paths of indexing with int64 indices."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...._base.quiet import quietly
from ...._dtype import bool_, int64
from ...common.blocks import fill
from ..ops import reduction
from ..ops.indexing import rows_at, where_true
from . import FAST_PATHS, fast_path, held, ndarray


def shares(self: Any, *others: Any) -> bool:
    """Return True if the target of a write may share memory with other tensors."""
    storage = self._storage
    for other in others:  # noqa: SIM110 (a generator takes thrice as long)
        if other is self or (storage is not None and other._storage is storage):
            return True
    return False


def key_of(self: Any, indices: Any) -> Any:
    """Return NumPy's index for int64 indices of the leading dimensions, an array or a tuple of arrays; else None."""
    if len(indices) == 1:
        at = indices[0]
        return at._array if at is not None and at._dtype is int64 and not shares(self, at) else None
    key = []
    for at in indices:
        if (at is None or at._dtype is not int64 or at._array is None or not at._array.flags.c_contiguous
                or shares(self, at)):
            return None
        key.append(at._array)
    return tuple(key) or None


@fast_path
def index(self: Any, indices: Any) -> ndarray | None:
    """Select with int64 indices of the leading dimensions, one mask, or indices of one dimension."""
    key, last = key_of(self, indices), indices[-1]
    if key.__class__ is ndarray:
        if not self._array.ndim:  # too many indices
            return None
        array = rows_at(self._array, key)
    elif key is not None:
        array = self._array[key]
    elif last is not None and last._array is None:  # on another device
        return None
    elif len(indices) == 1 and last is not None and last._dtype is bool_ and last._array.ndim:
        array = where_true(self._array, last._array)
    elif last is not None and last._dtype is int64 and last._array.ndim and indices[:-1] == [None] * (len(indices) - 1):
        array = self._array.take(last._array, len(indices) - 1)
    else:
        return None
    return array if array.__class__ is ndarray and array.size and array.flags.c_contiguous else None


@fast_path
def index_put_(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """Write a number or matching rows at int64 indices of the leading dimensions, or a number at one mask; or add few
    rows.
    """
    if values._dtype is not self._dtype or shares(self, values):
        return None
    key, array, given = key_of(self, indices), self._array, values._array
    if given is None or (accumulate and (key is None or not given.ndim or given.size > reduction.FEW)):
        return None  # on another device, or more to decide
    if key is None:
        mask = indices[0]
        if (len(indices) > 1 or given.ndim or mask is None or mask._dtype is not bool_ or mask._array is None
                or not mask._array.ndim or shares(self, mask)
                or mask._array.shape != array.shape[:mask._array.ndim]):
            return None
        array[mask._array] = given
        return self
    if given.ndim:
        one = key.__class__ is ndarray
        places = key.shape if one else np.broadcast(*key).shape
        if given.shape != (*places, *array.shape[1 if one else len(key):]):
            return None
    if accumulate:
        quietly(np.add.at, array, key, given)  # an error is raised before anything is written
    else:
        array[key] = given
    return self


@fast_path
def fill_(self: Any, value: Any) -> Any:
    """Fill with a number that the dtype surely holds."""
    number = held(self._dtype, value)
    if number is None:
        return None
    fill(self._array, number)
    return self


@fast_path
def zero_(self: Any) -> Any:
    """Fill with zeros."""
    fill(self._array, 0)
    return self


FAST_PATHS.update({
    "fill_.Scalar": fill_,
    "zero_": zero_,
    "index.Tensor": index,
    "index_put_": index_put_,
})
