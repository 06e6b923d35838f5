"""CPU kernels as functions of arrays, a module per family."""
from __future__ import annotations

from ...._dispatch.schemas import registry
from ...._dispatch.tables import FamilyTable

#: By operator name: a function of arrays that returns arrays.
CPU_KERNELS = FamilyTable(registry)
#: By composite: a function of a call's arguments as arrays that returns the function of the leading arrays which
#: computes calls like it, or None if the composite computes them. That function returns None for values that it leaves
#: to the composite. ``Prepared`` for one that takes nothing that the composite would refuse; ``MOVES`` for composites
#: that only move elements.
AT_ONCE = FamilyTable(registry)
MOVES = object()
for _table in (CPU_KERNELS, AT_ONCE):
    _table.written_in(__name__, __path__)
