"""Fast paths of search."""
from __future__ import annotations

from typing import Any

from ...._dispatch.dispatcher import TENSOR_TYPES
from ...._dtype import int32, int64
from ...._tensor import Tensor, from_array
from ...common.elements import NUMBERS
from ..ops.search import beside, bisected, searched
from ..precision import to_opmath
from . import FAST_PATHS, Row, fast_path

FEW = 16  #: values for which Python's bisection takes no longer than a call of the loop


@fast_path
def searchsorted(sequence: Any, values: Any, out_int32: bool = False, right: bool = False,
                 side: str | None = None) -> Tensor | None:
    """Search numbers, or a single one, in a line of their dtype, or each row of them in one of its own."""
    line, is_tensor = sequence._array, values.__class__ in TENSOR_TYPES
    if not is_tensor and values.__class__ not in NUMBERS:
        return None
    given = values._array if is_tensor else beside(line, values)
    if side is not None or given.dtype != line.dtype or (
            line.ndim != 1 and (not line.ndim or not given.ndim or line.shape[:-1] != given.shape[:-1])):
        return None
    line, given = to_opmath(line), to_opmath(given)
    ways = (bisected, searched) if given.size <= FEW else (searched, bisected)
    if (found := ways[0](line, given, right)) is None and (found := ways[1](line, given, right)) is None:
        return None
    return from_array(found.astype(int32.np), int32) if out_int32 else from_array(found, int64)


def bucketize(general: Row) -> Row:
    """Search by ``searchsorted``, whose operands are in the other order and whose line may be several."""
    search = searchsorted(lambda boundaries, values, *settings: general(values, boundaries, *settings))
    return lambda values, boundaries, *settings: (search(boundaries, values, *settings) if boundaries._array.ndim == 1
                                                  else general(values, boundaries, *settings))


for _kind in ("Tensor", "Scalar"):
    FAST_PATHS.update({f"searchsorted.{_kind}": searchsorted, f"bucketize.{_kind}": bucketize})
