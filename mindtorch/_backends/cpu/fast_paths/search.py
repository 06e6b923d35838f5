"""Fast paths of search."""
from __future__ import annotations

from typing import Any

from ...._dispatch.dispatcher import TENSOR_TYPES
from ...._dtype import int32, int64
from ...._tensor import Tensor, from_array
from ..ops.search import bisected, searched
from ..precision import to_opmath
from . import FAST_PATHS, Row, fast_path

FEW = 16  #: values for which Python's bisection takes no longer than a call of the loop


@fast_path
def searchsorted(sequence: Any, values: Any, out_int32: bool = False, right: bool = False,
                 side: str | None = None) -> Tensor | None:
    """Search numbers in a line of their dtype, or each row of them in one of its own."""
    line = sequence._array
    if (side is not None or values.__class__ not in TENSOR_TYPES or values._dtype is not sequence._dtype
            or (line.ndim != 1 and (not line.ndim or line.shape[:-1] != values._array.shape[:-1]))):
        return None
    line, given = to_opmath(line), to_opmath(values._array)
    ways = (bisected, searched) if given.size <= FEW else (searched, bisected)
    if (found := ways[0](line, given, right)) is None and (found := ways[1](line, given, right)) is None:
        return None
    return from_array(found.astype(int32.np), int32) if out_int32 else from_array(found, int64)


def bucketize(general: Row) -> Row:
    """Search by ``searchsorted``, whose operands are in the other order and whose line may be several."""
    search = searchsorted(lambda boundaries, values, *settings: general(values, boundaries, *settings))
    return lambda values, boundaries, *settings: (search(boundaries, values, *settings) if boundaries._array.ndim == 1
                                                  else general(values, boundaries, *settings))


FAST_PATHS.update({"searchsorted.Tensor": searchsorted, "bucketize.Tensor": bucketize})
