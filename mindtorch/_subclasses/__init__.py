"""Tensors that stand for others (``torch._subclasses``): fake ones, which have a device and no memory, and
functional ones, which are never written.
"""
from __future__ import annotations

from .fake_errors import (
    DynamicOutputShapeException as DynamicOutputShapeException,
    UnsupportedFakeTensorException as UnsupportedFakeTensorException,
)
from .fake_tensor import FakeTensor as FakeTensor, FakeTensorMode as FakeTensorMode
from .fake_utils import CrossRefFakeMode as CrossRefFakeMode

__all__ = ["CrossRefFakeMode", "DynamicOutputShapeException", "FakeTensor", "FakeTensorMode",
           "UnsupportedFakeTensorException"]
