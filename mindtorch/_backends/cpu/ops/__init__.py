"""CPU kernels as functions of arrays, a module per family."""
from __future__ import annotations

from ...._dispatch.schemas import registry
from ...._dispatch.tables import FamilyTable

#: By operator name: a function of arrays that returns arrays.
CPU_KERNELS = FamilyTable(registry)
CPU_KERNELS.written_in(__name__, __path__)
