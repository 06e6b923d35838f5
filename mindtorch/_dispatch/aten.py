"""The operators by name, to be called: ``from .._dispatch.aten import rsqrt, where_self as where``.

An overload's dot is an underscore here: ``add_Tensor`` is ``add.Tensor``. The name of a packet is the operator of that
name, or else the packet's first overload: ``add``. As with any module, a name that it lacks is an ``ImportError``.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .schemas import registry


def __getattr__(name: str) -> Callable[..., Any]:
    if name in registry:
        return registry[name].call
    for i, letter in enumerate(name):
        if letter == "_" and (operator := registry.operators.get(f"{name[:i]}.{name[i + 1:]}")):
            return operator.call
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}: no operator has that name")
