"""Layers with int8 weights that quantise their inputs at each call: ``torch.ao.nn.quantized.dynamic``."""
from __future__ import annotations

from .linear import Linear as Linear
from .rnn import LSTM as LSTM

__all__ = ["LSTM", "Linear"]
