"""Waiting awake."""
from __future__ import annotations

from typing import Any

from numba import types

from .writing import loop

let_others_run = types.ExternalFunction("sched_yield", types.int32())  # C's; that it is called has memory read anew


@loop("int64[::1]", "int64", "int64", "int64")
def until_other(x: Any, value: Any, patience: Any, after: Any) -> None:
    """Spin until another thread has written a number other than ``value``, then a few turns more."""
    for _ in range(patience):
        if x[0] != value:
            for _ in range(after):
                let_others_run()
            break
        let_others_run()
