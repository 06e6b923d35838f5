"""The meta kernels, a table a family."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import (
    core, activation, comparison, creation, distance, factorizations, fft, histogram, indexing, linalg, pointwise,
    random, reduction, scan, search, shape, softmax, sorting, special, nn, optim,
)  # fmt: skip

ROWS: dict[str, Callable[..., Any]] = {}
for _family in (
    core, activation, comparison, creation, distance, factorizations, fft, histogram, indexing, linalg, pointwise,
    random, reduction, scan, search, shape, softmax, sorting, special, nn, optim,
):
    ROWS.update(_family.ROWS)
