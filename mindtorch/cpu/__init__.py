"""``torch.cpu``: the CPU as a single accelerator whose operators run as they are called."""
from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from . import amp as amp


class Stream:
    """The order in which this thread calls operators (``torch.cpu.Stream``)."""

    def __init__(self, priority: int = -1):
        pass

    def wait_stream(self, stream: Any) -> None:
        """Do nothing: operators have run when they return (``torch.cpu.Stream.wait_stream``)."""


_stream = Stream()


def is_available() -> bool:
    """Return True if there is a CPU (``torch.cpu.is_available``)."""
    return True


def device_count() -> int:
    """Return the number of CPU devices, 1 (``torch.cpu.device_count``)."""
    return 1


def current_device() -> str:
    """Return the current device, ``cpu`` (``torch.cpu.current_device``)."""
    return "cpu"


def set_device(device: Any) -> None:
    """Choose among one device (``torch.cpu.set_device``)."""


def synchronize(device: Any = None) -> None:
    """Wait for operators, which run as they are called (``torch.cpu.synchronize``)."""


def current_stream(device: Any = None) -> Stream:
    """Return the stream, which is always the same (``torch.cpu.current_stream``)."""
    return _stream


def stream(stream: Stream | None) -> Any:
    """Return a block on a stream, which changes nothing (``torch.cpu.stream``)."""
    return nullcontext(stream)


def _is_vnni_supported() -> bool:
    """Return False: NumPy does not use such instructions (``torch.cpu._is_vnni_supported``)."""
    return False


_is_amx_tile_supported = _is_avx512_supported = _is_vnni_supported
__all__ = ["Stream", "amp", "current_device", "current_stream", "device_count", "is_available", "set_device", "stream",
           "synchronize"]
__dir__ = __all__.copy
