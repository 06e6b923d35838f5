"""Fast paths of search."""
from __future__ import annotations

from typing import Any

from ...._dispatch.dispatcher import TENSOR_TYPES
from ...._dtype import int64
from ...._tensor import Tensor, from_array
from ..ops.search import searched
from . import FAST_PATHS, Row, fast_path


@fast_path
def searchsorted(sequence: Any, values: Any, out_int32: bool = False, right: bool = False,
                 side: str | None = None) -> Tensor | None:
    """Search numbers in a line of their dtype."""
    line = sequence._array
    if (out_int32 or side is not None or line.ndim != 1 or values.__class__ not in TENSOR_TYPES
            or values._dtype is not sequence._dtype):
        return None
    found = searched(line, values._array, right)
    return None if found is None else from_array(found, int64)


def bucketize(general: Row) -> Row:
    """Search by ``searchsorted``, whose operands are in the other order."""
    search = searchsorted(lambda boundaries, values, *settings: general(values, boundaries, *settings))
    return lambda values, boundaries, *settings: search(boundaries, values, *settings)


FAST_PATHS.update({"searchsorted.Tensor": searchsorted, "bucketize.Tensor": bucketize})
