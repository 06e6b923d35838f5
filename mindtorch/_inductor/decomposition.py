"""Decompositions that programs register for the compiler: ``torch._inductor.decomposition``.

A compiled program here calls an operator's kernel, which gives the same numbers, so nothing reads the table but
programs that trace with it: ``make_fx(f, decomposition_table=decompositions)``.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._decomp import core_aten_decompositions, register_decomposition as _register
from .._decomp.table import Decomposition

__all__ = ["decompositions", "register_decomposition", "select_decomp_table"]

decompositions: dict[Any, Decomposition] = core_aten_decompositions()


def register_decomposition(ops: Any) -> Callable[[Decomposition], Decomposition]:
    """Return a decorator that makes a function the decomposition of operators in ``decompositions``
    (``torch._inductor.decomposition.register_decomposition``).
    """
    return _register(ops, decompositions)


def select_decomp_table() -> dict[Any, Decomposition]:
    """Return the table (``torch._inductor.decomposition.select_decomp_table``)."""
    return decompositions
