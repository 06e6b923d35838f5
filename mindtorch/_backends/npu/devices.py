"""``torch.npu``'s functions on devices: how many there are, which one is current, their names and memory."""
from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..._device import device as Device
from . import provider, runtime
from .acl_loader import toolkit_homes
from .allocator import allocator_of, memory_info
from .runtime import check, get_runtime, runtimes, thread
from .streams import device_index

#: Where drivers put the compiled operators, besides the toolkit's own folders.
_MODEL_DIRS = ("/usr/local/Ascend/ascend-toolkit/latest/opp", "/usr/local/Ascend/latest/opp")


def is_available() -> bool:
    """Whether there is an NPU, a real or a simulated one."""
    try:
        return device_count() > 0
    except RuntimeError:
        return False


def unavailable_reason() -> str | None:
    """Why there is no NPU; None if there is one."""
    try:
        return None if device_count() else "there is no NPU device"
    except RuntimeError as error:
        return str(error)


def device_count() -> int:
    """How many NPUs there are.

    Raises:
        RuntimeError: if the backend cannot be loaded; it says why.
    """
    acl = runtime.module()
    if not runtimes():
        acl.init()
    count, code = acl.rt.get_device_count()
    check(code, "aclrtGetDeviceCount")
    return count


def current_device() -> int:
    """The index of this thread's current device."""
    return thread.device


def set_device(device: Any) -> None:
    """Make a device this thread's current one.

    Raises:
        RuntimeError: if there is no such device.
    """
    index = device_index(device)
    get_runtime(index)
    thread.device = index


class device:
    """A block in which a device is this thread's current one (``torch.cuda.device``)."""

    def __init__(self, device: Any):
        self.idx = device_index(device)
        self._before = -1

    def __enter__(self) -> device:
        self._before = thread.device
        set_device(self.idx)
        return self

    def __exit__(self, *exc: object) -> None:
        thread.device = self._before


def get_device_name(device: Any = None) -> str:
    """The device's name, which says so if it is simulated."""
    get_runtime(device_index(device))
    name = str(runtime.acl.get_soc_name())
    return name if not provider.load().simulated or "simulat" in name else f"{name} (simulated)"


def synchronize(device: Any = None) -> None:
    """Wait for all streams of a device.

    Raises:
        RuntimeError: if something that was pending failed; it names the operator.
    """
    get_runtime(device_index(device)).synchronize_device()


def _probe_model_dirs() -> list[str]:
    """The folders in which compiled operators may be, that exist."""
    named = [str(home / "opp") for home in toolkit_homes()]
    return [
        path for path in (os.environ.get("ASCEND_OPP_PATH", ""), *named, *_MODEL_DIRS) if path and Path(path).is_dir()
    ]


def _model_dir() -> str | None:
    """The folder of the compiled operators; None where there is none, as with the simulator."""
    return next(iter(_probe_model_dirs()), None)


# -- memory ----------------------------------------------------------------------------------------------------------


def memory_stats(device: Any = None) -> dict[str, int]:
    """The caching allocator's counts, in PyTorch's names; bytes and numbers."""
    return allocator_of(get_runtime(device_index(device))).statistics()


def memory_allocated(device: Any = None) -> int:
    """Bytes of blocks in use."""
    return memory_stats(device)["allocated_bytes.all.current"]


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes in use at once, since the start or ``reset_peak_memory_stats``."""
    return memory_stats(device)["allocated_bytes.all.peak"]


def memory_reserved(device: Any = None) -> int:
    """Bytes taken from the device, in use or cached."""
    return memory_stats(device)["reserved_bytes.all.current"]


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes taken from the device at once."""
    return memory_stats(device)["reserved_bytes.all.peak"]


def reset_peak_memory_stats(device: Any = None) -> None:
    """Have the peaks start from now."""
    allocator_of(get_runtime(device_index(device))).reset_peaks()


def empty_cache() -> None:
    """Wait for every device that was started, and give its cached memory back."""
    for found in runtimes():
        allocator_of(found).empty_cache()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of the device."""
    return memory_info(get_runtime(device_index(device)))


def get_device_properties(device: Any = None) -> dict[str, Any]:
    """Name and total memory in bytes of a device."""
    return {"name": get_device_name(device), "total_memory": mem_get_info(device)[1]}


def default_device() -> Device:
    """This thread's current device."""
    return Device("npu", thread.device)
