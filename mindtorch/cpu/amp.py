"""``torch.cpu.amp``, the old names of ``torch.amp`` for the CPU."""
from __future__ import annotations

import warnings

from .. import amp
from .._dtype import DType, bfloat16

_GONE = "`torch.cpu.amp.{0}(args...)` is deprecated. Please use `torch.amp.{0}('cpu', args...)` instead."


class autocast(amp.autocast):
    """``torch.amp.autocast("cpu")`` (``torch.cpu.amp.autocast``)."""

    def __init__(self, enabled: bool = True, dtype: DType = bfloat16, cache_enabled: bool = True):
        warnings.warn(_GONE.format("autocast"), FutureWarning, stacklevel=2)
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """``torch.amp.GradScaler("cpu")`` (``torch.cpu.amp.GradScaler``)."""

    def __init__(self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True):
        warnings.warn(_GONE.format("GradScaler"), FutureWarning, stacklevel=2)
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


__all__ = ["GradScaler", "autocast"]
__dir__ = __all__.copy
