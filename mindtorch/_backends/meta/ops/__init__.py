"""The meta kernels, a table a family."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import core, creation, linalg

ROWS: dict[str, Callable[..., Any]] = {}
for _family in (core, creation, linalg):
    ROWS.update(_family.ROWS)
