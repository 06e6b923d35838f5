"""``torch._C._nn``: how the arguments of ``to`` are read, and operators of layers."""
from __future__ import annotations

from typing import Any

from .._creation.conversion import parse_to
from .._dispatch.dispatcher import registry
from .._dispatch.overloads import ops


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """Return device, dtype, ``non_blocking`` and memory format of a call of ``to``."""
    device, dtype, non_blocking, _, memory_format = parse_to(*args, **kwargs)
    return device, dtype, non_blocking, memory_format


def __getattr__(name: str) -> Any:
    if name in registry.packets:
        return getattr(ops.aten, name)
    raise AttributeError(f"module 'torch._C._nn' has no attribute {name!r}")
