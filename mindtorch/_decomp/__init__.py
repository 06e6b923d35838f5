"""Operators written in other operators (``torch._decomp``).

An operator that this library computes by others is its own decomposition; one that a kernel computes has a row in a
module of this package, a function of tensors that is registered under the operator's name. A tracer replaces an
operator by what its decomposition calls: ``make_fx(f, decomposition_table=get_decompositions([aten.gelu_backward]))``.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._dispatch.overloads import OpOverload, OpOverloadPacket
from . import table as _table
from .table import (
    Decomposition, is_implicit, meta_table, overloads_of, pre_autograd_decomposition_table, register_decomposition,
)

__all__ = ["core_aten_decompositions", "decomposition_table", "get_decompositions", "global_decomposition_table",
           "meta_table", "pre_autograd_decomposition_table", "register_decomposition", "remove_decompositions"]


def get_decompositions(aten_ops: Sequence[Any], type: str = "post_autograd") -> dict[Any, Decomposition]:
    """Return the decompositions of operators, given as overloads or packets, by overload (``get_decompositions``).
    Operators without one are left out.
    """
    table = _loaded("global_decomposition_table")[type]
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

    table = _loaded("decomposition_table")
    return {op: table[op] for op in table
            if op.name() in NOT_CORE or (op not in table.rows and is_implicit(op._operator))}


def _loaded(name: str) -> Any:
    """Return a table whose rows are loaded."""
    from . import decompositions as decompositions

    return getattr(_table, name)


def __getattr__(name: str) -> Any:
    """Return a table by its name, when it is first asked for: loading the rows takes time."""
    if name not in ("decomposition_table", "global_decomposition_table"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _loaded(name)
