"""``torch.autograd.Variable``, the name that tensors in a graph once had."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .._creation import empty
from .._dispatch.local import local
from .._tensor import Tensor


class _VariableType(type):
    def __call__(cls, data: Tensor | None = None, requires_grad: bool = False, volatile: bool = False) -> Tensor:
        if volatile:
            warnings.warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                          stacklevel=2)
            if requires_grad:
                raise ValueError("Variable can't be volatile and require_grad at the same time!")
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return (empty(0) if data is None else data.detach()).requires_grad_(requires_grad)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Engine:
    """The engine of backward passes."""

    @staticmethod
    def queue_callback(callback: Callable[[], Any]) -> None:
        """Have ``callback()`` called at the end of the backward pass that is running
        (``Variable._execution_engine.queue_callback``).

        Raises:
            RuntimeError: outside of a backward pass.
        """
        if local.task is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        local.task.callbacks += (callback,)


class Variable(metaclass=_VariableType):
    """A leaf over the memory of a tensor; every tensor is an instance of it (``torch.autograd.Variable``)."""

    _execution_engine = Engine()
