"""``torch.cuda.amp``, the old names of ``torch.amp`` for CUDA."""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from .. import amp
from .._dtype import DType, float16

_GONE = "`torch.cuda.amp.{0}({1})` is deprecated. Please use `torch.amp.{0}('cuda', {1})` instead."


class autocast(amp.autocast):
    """``torch.amp.autocast("cuda")`` (``torch.cuda.amp.autocast``)."""

    def __init__(self, enabled: bool = True, dtype: DType = float16, cache_enabled: bool = True):
        warnings.warn(_GONE.format("autocast", "args..."), FutureWarning, stacklevel=2)
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """``torch.amp.GradScaler("cuda")`` (``torch.cuda.amp.GradScaler``)."""

    def __init__(self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True):
        warnings.warn(_GONE.format("GradScaler", "args..."), FutureWarning, stacklevel=2)
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: DType | None = None) -> Any:
    """Apply ``torch.amp.custom_fwd`` for CUDA (``torch.cuda.amp.custom_fwd``)."""
    return functools.partial(amp.custom_fwd, device_type="cuda")(fwd, cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """Apply ``torch.amp.custom_bwd`` for CUDA (``torch.cuda.amp.custom_bwd``)."""
    return functools.partial(amp.custom_bwd, device_type="cuda")(bwd)


__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
__dir__ = __all__.copy
