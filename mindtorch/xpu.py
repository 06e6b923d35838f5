"""``torch.xpu``, as in a PyTorch without XPU."""
from __future__ import annotations

from typing import Any

from ._methods.elsewhere import namespace_of

_names = namespace_of("xpu")
globals().update(_names)
__all__ = sorted(_names)
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}: there is no XPU here")
