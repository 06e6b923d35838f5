"""``torch.utils.hooks``: handles of hooks, and hooks that are not saved."""
from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .._autograd.hooks import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook"]
__dir__ = __all__.copy
Hook = TypeVar("Hook", bound=Callable)


def unserializable_hook(f: Hook) -> Hook:
    """Mark a hook as one that need not be saved with its tensor, so that saving gives no warning
    (``torch.utils.hooks.unserializable_hook``).
    """
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f
