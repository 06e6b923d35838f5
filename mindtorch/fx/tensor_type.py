"""Types of tensors by their sizes, known or unknown (``torch.fx.tensor_type``)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]
__dir__ = __all__.copy


class TensorType:
    """The type of tensors of these sizes: ``TensorType((2, Dyn))`` or ``TensorType[2, Dyn]``
    (``torch.fx.tensor_type.TensorType``).
    """

    def __init__(self, dim: Sequence[Any]):
        self.__origin__, self.__args__ = TensorType, dim

    @property
    def dims(self) -> Sequence[Any]:
        """The sizes."""
        return self.__args__

    def __repr__(self) -> str:
        return f"TensorType[{self.dims}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and list(self.dims) == list(other.dims)

    def __hash__(self) -> int:
        return hash(tuple(self.dims))

    def __class_getitem__(cls, *args: Any) -> TensorType:
        return TensorType(tuple(args[0]) if len(args) == 1 and isinstance(args[0], tuple) else args)


class _DynType:
    """A size, or a type, that is not known."""

    __name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _DynType)

    def __hash__(self) -> int:
        return hash(_DynType)

    def __repr__(self) -> str:
        return "Dyn"


Dyn = _DynType()


def is_consistent(t1: Any, t2: Any) -> bool:
    """Return True if a tensor can be of both types (``torch.fx.tensor_type.is_consistent``)."""
    if t1 == t2 or Dyn in (t1, t2):
        return True
    return (isinstance(t1, TensorType) and isinstance(t2, TensorType) and len(t1.dims) == len(t2.dims)
            and all(map(is_consistent, t1.dims, t2.dims)))


def is_more_precise(t1: Any, t2: Any) -> bool:
    """Return True if every tensor of the first type is of the second (``torch.fx.tensor_type.is_more_precise``)."""
    if t1 == t2 or t2 == Dyn:
        return True
    return (isinstance(t1, TensorType) and isinstance(t2, TensorType) and len(t1.dims) == len(t2.dims)
            and all(map(is_more_precise, t1.dims, t2.dims)))
