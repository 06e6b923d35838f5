"""Quantised layers: the dynamic ones of ``torch.ao.nn.quantized``."""
from __future__ import annotations

from . import dynamic as dynamic
