"""The operators by name, ready to call: ``from .._dispatch.aten import rsqrt, where_self as where``.

An underscore replaces an overload's dot: ``add_Tensor`` is ``add.Tensor``. A packet's name means the overload of
exactly that name, or else the packet's first one. As with any module, a missing name is an ``ImportError``.
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
