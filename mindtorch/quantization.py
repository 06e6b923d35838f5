"""``torch.quantization``, the older name of ``torch.ao.quantization``."""
from __future__ import annotations

from typing import Any

from .ao import quantization as _quantization


def __getattr__(name: str) -> Any:
    """Return a name of ``torch.ao.quantization``."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_quantization, name)


def __dir__() -> list[str]:
    return dir(_quantization)
