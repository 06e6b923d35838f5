"""The CPU kernels as functions of arrays, a table a family."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import core, creation, distance, lanes, linalg, random, reduction, scan, search, softmax, sorting, activation, comparison, pointwise, special

ROWS: dict[str, Callable[..., Any]] = {}
for _family in (core, creation, distance, linalg, random, reduction, scan, search, softmax, sorting, activation, comparison, pointwise, special):
    ROWS.update(_family.ROWS)

#: The fast lanes of operators that are not pointwise: functions that take the general kernel and return a quicker one,
#: for contiguous tensors, which falls back on it.
LANES = lanes.LANES
