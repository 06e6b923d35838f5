"""The tensor's methods and Python operators, and the functions of the namespace, made from the operators."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._dispatch.binding import make_function
from ._dispatch.dispatcher import TENSOR_TYPES
from ._dispatch.schemas import registry
from ._tensor import Tensor

FUNCTIONS: dict[str, Callable[..., Any]] = {}
NUMBERS = {int, float, bool, complex}


def attach(packet: str) -> None:
    """Make a packet's function and method, if its flags ask for them."""
    flags = "".join(op.flags for op in registry.packets[packet])
    if "f" in flags:
        FUNCTIONS[packet] = make_function(packet)
    if "m" in flags and packet not in Tensor.__dict__:
        setattr(Tensor, packet, make_function(packet, method=True))
    inplace = f"{packet}_"
    if "i" in flags and inplace in registry.packets:
        if "f" in flags:
            FUNCTIONS.setdefault(inplace, make_function(inplace))
        if "m" in flags and inplace not in Tensor.__dict__:
            setattr(Tensor, inplace, make_function(inplace, method=True))


for _packet in list(registry.packets):
    attach(_packet)
registry.on_define.append(attach)


def _operand(value: Any) -> bool:
    """Whether a Python operator takes this value beside a tensor (NumPy's scalars are numbers, its arrays are not)."""
    return isinstance(value, (Tensor, int, float, complex, np.number, np.bool_))


def binary(name: str) -> Callable[[Any, Any], Any]:
    """``self op other``."""
    call = registry[name].call

    def method(self: Any, other: Any) -> Any:
        kind = other.__class__
        if kind in TENSOR_TYPES or kind in NUMBERS:
            return call(self, other)
        if isinstance(other, np.generic) and _operand(other):
            return call(self, other.item())
        return call(self, other) if _operand(other) else NotImplemented

    return method


def inplace(name: str) -> Callable[[Any, Any], Any]:
    """``self op= other``."""
    return binary(name)


Tensor.__add__ = binary("add.Tensor")  # type: ignore[attr-defined]
Tensor.__radd__ = Tensor.__add__  # type: ignore[attr-defined]
Tensor.__iadd__ = inplace("add_.Tensor")  # type: ignore[attr-defined]
Tensor.__mul__ = binary("mul.Tensor")  # type: ignore[attr-defined]
Tensor.__rmul__ = Tensor.__mul__  # type: ignore[attr-defined]
