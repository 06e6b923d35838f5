"""Several outputs: the named tuples of ``torch.return_types``."""
from __future__ import annotations

from collections import namedtuple
from typing import Any

from ..._dispatch.registry import Operator

TYPES: dict[str, Any] = {}


def return_type(name: str, fields: tuple[str, ...]) -> Any:
    """The named tuple type of an operator's outputs, as ``torch.return_types.max``."""
    found = TYPES.get(name)
    if found is None:
        found = namedtuple(name, fields)  # type: ignore[misc]
        found.__module__ = "torch.return_types"
        found.__repr__ = _repr  # type: ignore[method-assign, assignment]
        TYPES[name] = found
    return found


def _repr(self: Any) -> str:
    lines = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{lines})"


def pack(op: Operator, outputs: list[Any]) -> Any:
    """Outputs in the form that the operator's schema says: a list, a tuple, or a named tuple."""
    schema = op.schema
    if schema.returns_list:
        return outputs
    if schema.returns and schema.returns[0] and schema.returns[0] != "result0" and len(outputs) > 1:
        return return_type(op.packet, schema.returns)(*outputs)
    return tuple(outputs)
