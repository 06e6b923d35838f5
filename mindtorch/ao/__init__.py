"""Quantisation: ``torch.ao``."""
from __future__ import annotations

from typing import TYPE_CHECKING

from .._base.lazy import lazily

if TYPE_CHECKING:
    from . import nn as nn, quantization as quantization

_getattr, __dir__ = lazily(__name__, __file__)
if not TYPE_CHECKING:
    __getattr__ = _getattr
