"""Marks of functions as stable or not, which libraries use (``torch.fx._compatibility``)."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Marked = TypeVar("Marked")
_BACK_COMPAT_OBJECTS: dict[Any, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[Any, None] = {}


def compatibility(is_backward_compatible: bool) -> Callable[[Marked], Marked]:
    """Decorate a function or class whose interface is stable, or is not (``torch.fx._compatibility.compatibility``)."""

    def mark(value: Marked) -> Marked:
        _MARKED_WITH_COMPATIBILITY[value] = None
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS[value] = None
        return value

    return mark
