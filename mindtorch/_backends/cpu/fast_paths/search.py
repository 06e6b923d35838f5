"""Fast paths of search."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...._dispatch.dispatcher import TENSOR_TYPES
from ...._dtype import COMPLEX, complex32, int32, int64
from ...._tensor import Tensor, from_array
from ...common.elements import NUMBERS
from ..ops.search import beside, bisected, consecutive_elements, searched, sorted_elements
from ..precision import to_opmath
from ..rows import strided
from . import FAST_PATHS, Row, fast_path

SOME = 1 << 10  #: elements whose conversion to truth values takes longer than it saves


@fast_path
def searchsorted(sequence: Any, values: Any, out_int32: bool = False, right: bool = False,
                 side: str | None = None, sorter: Any = None) -> Tensor | None:
    """Search numbers, or a single one, in a line of their dtype, or each row of them in one of its own."""
    line, is_tensor = sequence._array, values.__class__ in TENSOR_TYPES
    if not is_tensor and values.__class__ not in NUMBERS:
        return None
    given = values._array if is_tensor else beside(line, values)
    if side is not None or sorter is not None or given.dtype != line.dtype or (
            line.ndim != 1 and (not line.ndim or not given.ndim or line.shape[:-1] != given.shape[:-1])):
        return None
    if (found := bisected(line, given, right)) is None:
        line, given = to_opmath(line), to_opmath(given)
        if (found := bisected(line, given, right)) is None and (found := searched(line, given, right)) is None:
            return None
    return from_array(found.astype(int32.np), int32) if out_int32 else from_array(found, int64)


def bucketize(general: Row) -> Row:
    """Search by ``searchsorted``, whose operands are in the other order and whose line may be several."""
    search = searchsorted(lambda boundaries, values, *settings: general(values, boundaries, *settings))
    return lambda values, boundaries, *settings: (search(boundaries, values, *settings) if boundaries._array.ndim == 1
                                                  else general(values, boundaries, *settings))


@fast_path
def nonzero(self: Any) -> Tensor | None:
    """Return the indices of the elements other than zero, laid out column by column."""
    array = self._array
    if array.size >= SOME or self._dtype is complex32:
        return None
    found = np.array(array.nonzero()) if array.ndim else np.empty((0, int(bool(array))), int64.np)
    count = found.shape[1]
    if count == 1 and len(found) < 2:
        return from_array(found.reshape(1, -1), int64)
    return strided(found, found.T, int64, (1, count))


@fast_path
def unique2(self: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """Return the different elements, and their places and numbers if requested."""
    return found_by(sorted_elements, self, return_inverse, return_counts)


@fast_path
def unique_consecutive(self: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None) -> Any:
    """Return the first of equal elements in a row, and their places and numbers if requested."""
    return found_by(consecutive_elements, self, return_inverse, return_counts) if dim is None else None


def found_by(find: Any, self: Any, *flags: bool) -> Any:
    """Return the results of a row over all elements as tensors."""
    if self._dtype.category == COMPLEX:
        return None
    values, places, counts = find(self._array, *flags)
    return from_array(values, self._dtype), from_array(places, int64), from_array(counts, int64)


FAST_PATHS.update({"nonzero": nonzero, "_unique2": unique2, "unique_consecutive": unique_consecutive})
for _kind in ("Tensor", "Scalar"):
    FAST_PATHS.update({f"searchsorted.{_kind}": searchsorted, f"bucketize.{_kind}": bucketize})
