"""``torch.cuda``, as in a PyTorch without CUDA: ``is_available()`` is False, and using a GPU raises."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._base.errors import OutOfMemoryError as OutOfMemoryError
from .._base.lazy import lazily
from .._creation.conversion import LEGACY_TYPES
from .._methods.elsewhere import namespace_of, refusing

if TYPE_CHECKING:
    from . import amp as amp, nvtx as nvtx

_names: dict[str, Any] = {
    **namespace_of("cuda"), "has_half": True, "has_magma": False, "OutOfMemoryError": OutOfMemoryError,
    **refusing(lambda name: TypeError(f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled."),
               LEGACY_TYPES, "cuda"),
}
_initialized = False  # read by checkpoints that keep the state of random numbers
globals().update(_names)
_load, _lazy_names = lazily(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in _lazy_names():
        return _load(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}: there is no CUDA here")


__all__ = sorted({*_names, *_lazy_names()})
__dir__ = __all__.copy
