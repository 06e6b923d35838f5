"""``Parameter`` and ``Buffer``: tensors that a module registers when they are assigned to it."""
from __future__ import annotations

from typing import Any

from .._creation import as_subclass, empty
from .._dtype import FLOATING
from .._tensor import Tensor

__all__ = ["Buffer", "Parameter"]
__dir__ = __all__.copy


class _ParameterType(type(Tensor)):  # type: ignore[misc]
    """Calling a parameter class makes a parameter, not a legacy tensor."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return type.__call__(cls, *args, **kwargs)


class Parameter(Tensor, metaclass=_ParameterType):
    """A tensor that a module registers as a parameter (``torch.nn.Parameter``).

    It is a leaf on the memory of ``data`` (an empty tensor for None), and requires grad unless told otherwise.

    Raises:
        RuntimeError: if it is to require grad and ``data`` is of neither a floating point nor a complex dtype.
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if not isinstance(requires_grad, bool):
            raise TypeError(f"Parameter(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
        source = empty(0) if data is None else data.detach()
        if requires_grad and source._dtype.category < FLOATING:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        return as_subclass(source, cls).requires_grad_(requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__()


class _BufferType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(metaclass=_BufferType):
    """A mark of a tensor that a module registers as a buffer, in the state dict if ``persistent``
    (``torch.nn.Buffer``). Calling it returns a plain tensor with that mark.
    """

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        source = empty(0) if data is None else data
        marked: Any = source.detach().requires_grad_(source.requires_grad)
        marked.persistent, marked._is_buffer = persistent, True
        return marked
