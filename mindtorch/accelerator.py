"""``torch.accelerator``: the machine's accelerator, whichever it is. Here that is an Ascend NPU.

The simulator accelerates nothing: it counts only where ``MINDTORCH_NPU=sim`` asks for it, so that programs that take an
accelerator where there is one run on the CPU of a machine without an Ascend.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ._backends.npu import api
from ._base.backend import backends
from ._device import device

F = TypeVar("F", bound=Callable[..., Any])


def is_available() -> bool:
    """Return True if there is an accelerator (``torch.accelerator.is_available``)."""
    return backends["npu"].accelerates()


def device_count() -> int:
    """Return the number of accelerators, 0 if there is none (``torch.accelerator.device_count``)."""
    return api.device_count() if is_available() else 0


def current_accelerator(check_available: bool = False) -> device | None:
    """Return the kind of the accelerator as a device without an index; None if there is none
    (``torch.accelerator.current_accelerator``).
    """
    return device("npu") if is_available() else None


def _required(function: F) -> F:
    """Wrap a function that needs an accelerator."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not is_available():
            raise RuntimeError("Cannot access accelerator device when none is available.")
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def _renamed(name: str, function: F) -> F:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"Use `{name}` instead.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


current_device_index = _required(api.current_device)
set_device_index = _required(api.set_device)
current_device_idx = _renamed("current_device_index", current_device_index)
set_device_idx = _renamed("set_device_index", set_device_index)
current_stream = _required(api.current_stream)
set_stream = _required(api.set_stream)
synchronize = _required(api.synchronize)
device_index = api.device
empty_cache = _required(api.empty_cache)
get_memory_info = _required(api.mem_get_info)
memory_stats = _required(api.memory_stats)
memory_allocated = _required(api.memory_allocated)
memory_reserved = _required(api.memory_reserved)
max_memory_allocated = _required(api.max_memory_allocated)
max_memory_reserved = _required(api.max_memory_reserved)
reset_peak_memory_stats = _required(api.reset_peak_memory_stats)

__all__ = [
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
    "device_index", "empty_cache", "get_memory_info", "is_available", "max_memory_allocated", "max_memory_reserved",
    "memory_allocated", "memory_reserved", "memory_stats", "reset_peak_memory_stats", "set_device_idx",
    "set_device_index", "set_stream", "synchronize",
]
__dir__ = __all__.copy
