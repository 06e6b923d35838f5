"""Fast paths of copies."""
from __future__ import annotations

from typing import Any

from ...._base.formats import contiguous_format, preserve_format
from ...._base.quiet import quietly
from ...._device import CPU
from ...._dtype import bool_, float16, float32, float64, int8, int16, int32, int64, uint8
from ...._storage import allocate
from ...._tensor import from_array
from ...common.blocks import copy
from ...common.half import FEW as SMALL
from . import FAST_PATHS, REFUSALS, Row, fast_path, ndarray

#: CONVERTED: dtypes between which NumPy converts as C does. HERE: devices that mean the host.
CONVERTED, HERE = {bool_, uint8, int8, int16, int32, int64, float16, float32, float64}, (None, CPU)
#: The formats in which a copy of a contiguous tensor is contiguous.
AS_IT_IS = {None, contiguous_format, preserve_format, "contiguous_format", "preserve_format"}


@fast_path
def clone(self: Any, memory_format: Any = None) -> ndarray | None:
    """Copy a tensor in its layout."""
    if memory_format not in AS_IT_IS:
        return None
    array = allocate(self._array.shape, self._dtype.np)
    copy(array, self._array)
    return array


def copy_(general: Row) -> Row:
    """Copy values of the same shape from another storage; small tensors may differ in dtype, among NumPy's own."""

    def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
        target, source, storage = self._array, src._array, src._storage
        if source is not None and source.shape == target.shape and (storage is None or storage is not self._storage):
            try:
                if src._dtype is self._dtype:
                    copy(target, source)
                    return self
                if target.size < SMALL and self._dtype in CONVERTED and src._dtype in CONVERTED:
                    quietly(copy, target, source)
                    return self
            except REFUSALS:
                pass
        return general(self, src, non_blocking)

    return copy_


@fast_path
def _to_copy(self: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False,
             memory_format: Any = None) -> Any:
    """Convert a small tensor between NumPy's own dtypes."""
    array = self._array
    if (dtype not in CONVERTED or self._dtype not in CONVERTED or device not in HERE or memory_format not in AS_IT_IS
            or array.size >= SMALL):
        return None
    return from_array(quietly(array.astype, dtype.np), dtype)


FAST_PATHS.update({"clone": clone, "copy_": copy_, "_to_copy": _to_copy})
