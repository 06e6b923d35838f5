"""The tables of decompositions, and how a row comes into one."""
from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from .._dispatch.dispatcher import has_derivative
from .._dispatch.keys import CPU
from .._dispatch.overloads import OpOverload, OpOverloadPacket, overload_of
from .._dispatch.registry import Operator
from .._dispatch.schemas import registry

Decomposition = Callable[..., Any]


def overloads_of(op: Any) -> list[OpOverload]:
    """Return an overload, or all overloads of a packet.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(op, OpOverload):
        return [op]
    if isinstance(op, OpOverloadPacket):
        return [getattr(op, name) for name in op.overloads()]
    raise TypeError(f"a decomposition is registered for an operator, such as torch.ops.aten.add.Tensor, not {op!r}")


def composite_of(op: OpOverload) -> Decomposition | None:
    """Return the function by which this library computes an operator, or None if it is a kernel."""
    operator = op._operator
    if operator.is_out or operator.is_inplace:
        return None
    kernel = operator.kernel(CPU)
    if kernel is None or not kernel.composite:
        return None
    function = kernel.fn

    def decomposition(*args: Any, **kwargs: Any) -> Any:
        return function(*op._canonical(args, kwargs))

    return decomposition


def is_implicit(operator: Operator) -> bool:
    """Return True for a composite that is decomposed before a ``__torch_dispatch__`` receives it."""
    return not (operator.is_explicit or has_derivative(operator))


class Table(MutableMapping[Any, Decomposition]):
    """Decompositions by operator: the rows, and the composites of operators without one."""

    def __init__(self) -> None:
        self.rows: dict[Any, Decomposition] = {}

    def __getitem__(self, op: Any) -> Decomposition:
        found = self.rows.get(op) or (composite_of(op) if isinstance(op, OpOverload) else None)
        if found is None:
            raise KeyError(op)
        return found

    def __setitem__(self, op: Any, function: Decomposition) -> None:
        self.rows[op] = function

    def __delitem__(self, op: Any) -> None:
        del self.rows[op]

    def __iter__(self) -> Iterator[Any]:
        yield from self.rows
        for operator in registry.operators.values():
            if (op := overload_of(operator)) not in self.rows and composite_of(op) is not None:
                yield op

    def __len__(self) -> int:
        return sum(1 for _ in self)


decomposition_table = Table()
pre_autograd_decomposition_table: dict[Any, Decomposition] = {}
meta_table: dict[Any, Decomposition] = {}
global_decomposition_table: dict[str, MutableMapping[Any, Decomposition]] = {
    "post_autograd": decomposition_table, "pre_autograd": pre_autograd_decomposition_table, "meta": meta_table}


def register_decomposition(aten_op: Any, registry: MutableMapping[Any, Decomposition] | None = None, *,
                           type: str = "post_autograd", unsafe: bool = False
                           ) -> Callable[[Decomposition], Decomposition]:
    """Decorate a function of tensors that computes an operator, or several (``register_decomposition``).

    ``aten_op`` is an overload, a packet for all its overloads, or a list of these; ``registry`` a table other than
    that of ``type``: 'post_autograd', 'pre_autograd' or 'meta'.

    Raises:
        RuntimeError: if an operator has a decomposition in that table.
    """
    assert type in global_decomposition_table, f"type must be one of {[*global_decomposition_table]}, got {type}"
    table = global_decomposition_table[type] if registry is None else registry

    def register(function: Decomposition) -> Decomposition:
        rows = table.rows if isinstance(table, Table) else table
        for op in aten_op if isinstance(aten_op, (list, tuple)) else [aten_op]:
            for overload in overloads_of(op):
                if overload in rows:
                    raise RuntimeError(f"duplicate registrations for {overload}")
                rows[overload] = function
        return function

    return register
