"""The CPU kernels as functions of arrays, a table a family."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import (
    core, index_lanes, activation, comparison, creation, distance, factorizations, fft, histogram, indexing, lanes,
    linalg, pointwise, random, reduction, scan, search, shape, softmax, sorting, special, nn, optim,
)  # fmt: skip

ROWS: dict[str, Callable[..., Any]] = {}
for _family in (
    core, activation, comparison, creation, distance, factorizations, fft, histogram, indexing, linalg, pointwise,
    random, reduction, scan, search, shape, softmax, sorting, special, nn, optim,
):
    ROWS.update(_family.ROWS)

#: The fast lanes of operators that are not pointwise: functions that take the general kernel and return a quicker one,
#: for contiguous tensors, which falls back on it.
LANES = {**lanes.LANES, **index_lanes.LANES, **optim.LANES}
STRIDED_LANES = lanes.STRIDED_LANES
