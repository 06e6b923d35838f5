"""The CPU backend: NumPy does the arithmetic.

A row (``ops.ROWS``) is a function of arrays that returns arrays; here it becomes a kernel on tensors. What it has to
return, the meta kernel says; the adapters see to dtype and layout.
"""
from __future__ import annotations

from ..._dispatch.dispatcher import registry
from . import creation, ops
from .adapt import find

registry.add_finder(find)
__all__ = ["creation", "ops"]
