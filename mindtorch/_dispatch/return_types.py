"""Several outputs: the named tuples of ``torch.return_types``, each made on first use."""
from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from functools import partial
from typing import Any

from .dispatcher import registry
from .registry import Operator


def named_tuple(name: str, fields: tuple[str, ...]) -> Any:
    """Return the named tuple type of an operator's outputs, such as ``torch.return_types.max``."""
    found = globals().get(name)
    if found is None:
        found = globals()[name] = namedtuple(name, fields)  # type: ignore[misc]
        found.__module__ = "torch.return_types"
        found.__repr__ = _repr  # type: ignore[method-assign, assignment]
        found.__reduce__ = _reduce  # type: ignore[method-assign, assignment]
    return found


def __getattr__(name: str) -> Any:
    for op in registry.packets.get(name, ()):
        if op.schema.is_named_tuple:
            return named_tuple(name, op.schema.returns)
    raise AttributeError(f"module 'torch.return_types' has no attribute '{name}'")


def _repr(self: Any) -> str:
    lines = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{lines})"


def _reduce(self: Any) -> Any:
    return again, (type(self).__name__, tuple(self))


def again(name: str, fields: Any, extra: Any = None) -> Any:
    """Rebuild the named tuple of that name from a pickle."""
    return (globals().get(name) or __getattr__(name))._make(fields)


def packer(op: Operator) -> Callable[[list[Any]], Any]:
    """Return the function that packs a list of outputs as the schema requires: a list, a tuple, or a named tuple."""
    schema = op.schema
    if schema.returns_list:
        return list
    return partial(tuple.__new__, named_tuple(op.packet, schema.returns)) if schema.is_named_tuple else tuple


def pack(op: Operator, outputs: list[Any]) -> Any:
    """Pack outputs as the operator's schema requires."""
    return packer(op)(outputs)
