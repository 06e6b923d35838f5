"""Composite operators: written in other operators, so they run on every backend and have derivatives by themselves."""
from __future__ import annotations

from .._dispatch.schemas import registry
from .._dispatch.tables import FamilyTable

#: By operator name: a function of tensors.
COMPOSITES = FamilyTable(registry)
COMPOSITES.written_in(__name__, __path__)
