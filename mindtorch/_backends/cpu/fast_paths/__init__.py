"""Fast paths: what runs in place of a general kernel where nothing is left to check. They stand in a module per family.

The dispatcher takes an operator's fast path if the tensors in the call are CPU tensors, contiguous, and no key but the
backend's is set: nothing is recorded, pending or observed. (Those in the table ``ANY_STRIDES`` take any strides.)

What a fast path skips is the meta kernel: promotion, broadcasting, strides and PyTorch's checks. That is safe because
it computes only where the inputs leave nothing to decide (one dtype, which NumPy keeps; a contiguous result of its own
memory) and hands everything else, bad arguments included, to the general kernel, which decides and explains; so it does
with empty results, where their strides may be odd. Most pointwise operators have none here: ``pointwise`` makes theirs
from their rows.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...._dispatch.keys import CPU
from ...._dispatch.registry import Operator
from ...._dispatch.schemas import registry
from ...._dispatch.tables import FamilyTable
from ...._dtype import float32, float64
from ...._tensor import Tensor, new
from ...common.quiet import silent

Row = Callable[..., Any]
ndarray = np.ndarray
#: What NumPy raises for what it cannot do.
REFUSALS = (ValueError, TypeError, IndexError, OverflowError, MemoryError)
PLAIN = {float32, float64}  #: the dtypes in which NumPy computes as PyTorch does, and which BLAS multiplies
FEW = 1 << 6  #: up to so many elements, Python's numbers are quicker than several calls of NumPy's
LARGEST = 3e38  #: what float32 surely holds

#: By operator name: a function that takes the general kernel and returns the fast path, for contiguous tensors.
FAST_PATHS = FamilyTable(registry)
#: The same for tensors of any strides. Where there is one, the other takes it for the general kernel.
ANY_STRIDES = FamilyTable(registry)
for _table in (FAST_PATHS, ANY_STRIDES):
    _table.written_in(__name__, __path__)


def with_fast_path(op: Operator, general: Row) -> tuple[Row, Row | None]:
    """What runs an operator, given its general kernel: on tensors of any strides, and on contiguous ones if there is a
    fast path.
    """
    of_any, of_contiguous = ANY_STRIDES.get(op.name), FAST_PATHS.get(op.name)
    if of_any is not None:
        general = of_any(general)
    if of_contiguous is not None:
        return general, of_contiguous(general)
    return general, None if of_any is None else general


def fast_path(compute: Row) -> Callable[[Row], Row]:
    """A function that takes an operator's general kernel and returns its fast path, given what that computes.

    ``compute(*args)`` returns an array for a tensor of the first argument's dtype, or the operator's result, or None
    for a call that it leaves to the general kernel; so it does by an error of NumPy's. The general kernel runs outside
    of the ``try``, since its errors have nothing to do with NumPy's.
    """

    def make(general: Row) -> Row:
        def fast(*args: Any) -> Any:
            try:
                result = silent().run(compute, *args)
            except REFUSALS:
                result = None
            if result.__class__ is ndarray:
                out = new(Tensor)
                out._array, out._dtype, out._keys = result, args[0]._dtype, CPU
                return out
            return general(*args) if result is None else result

        return fast

    return make
