"""Operators written in other operators (``torch._decomp``).

An operator that this library computes by others is its own decomposition; one that a kernel computes has a row in a
module of this package, a function of tensors that is registered under the operator's name. A tracer replaces an
operator by what its decomposition calls: ``make_fx(f, decomposition_table=get_decompositions([aten.gelu_backward]))``.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._dispatch.overloads import OpOverload, OpOverloadPacket
from .table import (
    Decomposition, decomposition_table, global_decomposition_table, is_implicit, meta_table, overloads_of,
    pre_autograd_decomposition_table, register_decomposition,
)

__all__ = ["core_aten_decompositions", "decomposition_table", "get_decompositions", "global_decomposition_table",
           "meta_table", "pre_autograd_decomposition_table", "register_decomposition", "remove_decompositions"]


def get_decompositions(aten_ops: Sequence[Any], type: str = "post_autograd") -> dict[Any, Decomposition]:
    """Return the decompositions of operators, given as overloads or packets, by overload (``get_decompositions``).
    Operators without one are left out.
    """
    _load()
    table = global_decomposition_table[type]
    return {overload: table[overload] for op in aten_ops if isinstance(op, (OpOverload, OpOverloadPacket))
            for overload in overloads_of(op) if overload in table}


def remove_decompositions(decompositions: dict[Any, Decomposition], aten_ops: Sequence[Any]) -> None:
    """Remove operators from a table (``remove_decompositions``)."""
    for op in aten_ops:
        for overload in overloads_of(op):
            decompositions.pop(overload, None)


def core_aten_decompositions() -> dict[Any, Decomposition]:
    """Return the decompositions of all operators that do not belong to the core ATen operator set
    (``torch._decomp.core_aten_decompositions``).
    """
    from .core import NOT_CORE

    _load()
    return {op: decomposition_table[op] for op in decomposition_table
            if op.name() in NOT_CORE or (op not in decomposition_table.rows and is_implicit(op._operator))}


def _load() -> None:
    """Load the rows."""
    from . import decompositions
