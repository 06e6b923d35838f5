"""``torch.autograd.Variable``, the name that tensors in a graph once had."""
from __future__ import annotations

from typing import Any

from .._creation import empty
from .._tensor import Tensor


class _VariableType(type):
    def __call__(cls, data: Tensor | None = None, requires_grad: bool = False) -> Tensor:
        return (empty(0) if data is None else data.detach()).requires_grad_(requires_grad)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableType):
    """A leaf over the memory of a tensor; every tensor is an instance of it (``torch.autograd.Variable``)."""
