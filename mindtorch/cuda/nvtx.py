"""``torch.cuda.nvtx``, which needs CUDA."""
from __future__ import annotations

from .._methods.elsewhere import refusing

_names = ("mark", "range", "range_end", "range_pop", "range_push", "range_start")
globals().update(refusing(
    lambda name: RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?"), _names,
    "cuda.nvtx"))
__all__ = sorted(_names)
