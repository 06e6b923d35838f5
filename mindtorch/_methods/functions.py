"""The operators as PyTorch's functions: ``from ._functions import gelu``. Each is made when it is asked for."""
from __future__ import annotations

from typing import Any

from .._dispatch.binding import make_function
from .._dispatch.schemas import registry


def __getattr__(name: str) -> Any:
    if name not in registry.packets:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: no operator has that name")
    function = globals()[name] = make_function(name)
    return function
