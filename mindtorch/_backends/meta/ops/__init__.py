"""The meta kernels, a table a family."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import core, creation, distance, linalg, random, reduction, scan, search, softmax, sorting, activation, comparison, pointwise, special

ROWS: dict[str, Callable[..., Any]] = {}
for _family in (core, creation, distance, linalg, random, reduction, scan, search, softmax, sorting, activation, comparison, pointwise, special):
    ROWS.update(_family.ROWS)
