"""Fast paths of copies."""
from __future__ import annotations

from typing import Any

from ...._formats import contiguous_format, preserve_format
from ...._storage import allocate
from ...common.blocks import copy
from ...common.fast_paths import REFUSALS, Row, fast_path, ndarray
from . import FAST_PATHS

#: The formats in which the copy of a contiguous tensor is contiguous.
AS_IT_IS = {None, contiguous_format, preserve_format, "contiguous_format", "preserve_format"}


@fast_path
def clone(self: Any, memory_format: Any = None) -> ndarray | None:
    """A copy in the same layout."""
    if memory_format not in AS_IT_IS:
        return None
    array = allocate(self._array.shape, self._dtype.np)
    copy(array, self._array)
    return array


def copy_(general: Row) -> Row:
    """Write values of the same shape and dtype that lie elsewhere."""

    def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
        target, source, storage = self._array, src._array, src._storage
        if (src._dtype is self._dtype and source.shape == target.shape
                and (storage is None or storage is not self._storage)):
            try:
                copy(target, source)
                return self
            except REFUSALS:
                pass
        return general(self, src, non_blocking)

    return copy_


FAST_PATHS.update({"clone": clone, "copy_": copy_})
