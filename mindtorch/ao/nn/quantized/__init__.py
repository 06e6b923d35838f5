"""Quantised layers: ``torch.ao.nn.quantized``, of which there are the dynamic ones."""
from __future__ import annotations

from . import dynamic as dynamic
