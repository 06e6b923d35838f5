"""Batches in page-locked memory, which an accelerator copies by itself."""
from __future__ import annotations

from typing import Any

from ...._tensor import Tensor
from .collate import mapped


def pin_memory(data: Any, device: Any = None) -> Any:
    """Move tensors, and other objects with a method ``pin_memory``, to page-locked memory."""
    if isinstance(data, Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    return mapped(lambda item: pin_memory(item, device), data, keep_tuples=True)
