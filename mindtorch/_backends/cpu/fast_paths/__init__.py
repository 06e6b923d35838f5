"""The fast paths of the CPU's operators, a module per family. ``common.fast_paths`` says what they are.

Each computes the case that programs mostly write; for a call that is none it returns None. Empty results are left to
the general kernel where their strides may be odd. Most pointwise operators have none here: ``kernels`` makes theirs
from their rows.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._dispatch.registry import Operator
from ...._dispatch.schemas import registry
from ...._dispatch.tables import FamilyTable
from ...._dtype import float32, float64

PLAIN = {float32, float64}  #: the dtypes in which NumPy computes as PyTorch does, and which BLAS multiplies
FEW = 1 << 6  #: up to so many elements, Python's numbers are quicker than several calls of NumPy's
LARGEST = 3e38  #: what float32 surely holds

#: By operator name: a function that takes the general kernel and returns the fast path.
FAST_PATHS = FamilyTable(registry)
FAST_PATHS.written_in(__name__, __path__)
ANY_STRIDES: set[str] = set()  #: the operators whose fast paths take tensors of any strides


def fast_path_of(op: Operator, general: Callable[..., Any]) -> Callable[..., Any] | None:
    """The fast path of an operator, given its general kernel; None if it has none."""
    make = FAST_PATHS.get(op.name)
    return None if make is None else make(general)
