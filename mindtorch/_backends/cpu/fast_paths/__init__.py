"""The fast paths of the CPU's operators, a module per family. ``common.fast_paths`` says what they are.

Each computes the case that programs mostly write; for a call that is none it returns None. Empty results are left to
the general kernel where their strides may be odd. Most pointwise operators have none here: ``pointwise`` makes theirs
from their rows.
"""
from __future__ import annotations

from ...._dispatch.registry import Operator
from ...._dispatch.schemas import registry
from ...._dispatch.tables import FamilyTable
from ...._dtype import float32, float64
from ...common.fast_paths import Row

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
