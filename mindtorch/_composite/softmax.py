"""Softmax with a dtype, and its variants."""
from __future__ import annotations

from math import inf
from typing import Any

from .._dispatch.aten import _log_softmax, _softmax
from . import COMPOSITES


def softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """``torch.softmax``; with ``dtype``, of the input converted to it."""
    return _softmax(self if dtype is None else self.to(dtype), dim, False)


def log_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """``torch.log_softmax``; with ``dtype``, of the input converted to it."""
    return _log_softmax(self if dtype is None else self.to(dtype), dim, False)


def safe_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """Softmax that is 0 where all elements are -inf (ATen's ``_safe_softmax``)."""
    return softmax(self, dim, dtype).masked_fill((self == -inf).all(dim, True), 0)


COMPOSITES.update({"softmax.int": softmax, "log_softmax.int": log_softmax, "_safe_softmax": safe_softmax})
