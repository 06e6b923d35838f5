"""Quantised layers: ``torch.ao.nn``."""
from __future__ import annotations

from . import quantized as quantized
