"""``torch.npu``'s functions on devices: how many there are, which one is current, their names and memory."""
from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..._base.interrupts import attributes, leaving
from . import provider, runtime
from .acl_loader import toolkit_homes
from .allocator import allocator_of, memory_info
from .errors import check
from .runtime import get_runtime, runtimes, thread
from .streams import DeviceLike, device_index


def is_available() -> bool:
    """Return whether there is an NPU, a real or a simulated one (``torch.cuda.is_available``)."""
    try:
        return device_count() > 0
    except RuntimeError:
        return False


def unavailable_reason() -> str | None:
    """Return the reason why there is no NPU, None if there is one."""
    try:
        return None if device_count() else "there is no NPU device"
    except RuntimeError as error:
        return str(error)


def device_count() -> int:
    """Return the number of NPUs (``torch.cuda``); RuntimeError if the backend cannot be loaded, with the reason."""
    runtime.start()
    count, code = runtime.acl.rt.get_device_count()
    check(code, "aclrtGetDeviceCount")
    return count


def current_device() -> int:
    """Return the index of this thread's current device (``torch.cuda.current_device``)."""
    return thread.device


def set_device(device: DeviceLike) -> None:
    """Make a device this thread's current one (``torch.cuda.set_device``); RuntimeError if there is no such device."""
    index = device_index(device)
    get_runtime(index)
    thread.device = index


class device:
    """A block in which a device is this thread's current one (``torch.cuda.device``)."""

    def __init__(self, device: DeviceLike):
        self.idx = device_index(device)
        self._before = -1

    def __enter__(self) -> device:
        self._before = thread.device
        set_device(self.idx)
        return self

    @leaving(attributes(thread, "device"))
    def __exit__(self, *exc: object) -> None:
        thread.device = self._before


def get_device_name(device: DeviceLike = None) -> str:
    """Return the device's name, which says so if it is simulated (``torch.cuda.get_device_name``)."""
    get_runtime(device_index(device))
    name = str(runtime.acl.get_soc_name())
    return name if not provider.load().simulated or "simulat" in name else f"{name} (simulated)"


def synchronize(device: DeviceLike = None) -> None:
    """Wait for a device's streams (``torch.cuda.synchronize``); RuntimeError names an operator that failed."""
    get_runtime(device_index(device)).synchronize_device()


def restart_device(device: DeviceLike = None) -> None:
    """Give a device new streams after an operator failed, for in the failure mode "stop" all of its streams have
    stopped, and take nothing more (``torch_npu.npu.restart_device``). Streams are the same objects as before, empty;
    values that had been computed stay; reading any other is an error. Another thread that puts work into the old
    streams gets an error. Raises RuntimeError if the device does not come back.
    """
    get_runtime(device_index(device)).restart()


def _probe_model_dirs() -> list[str]:
    """Return the existing folders that may hold compiled operators."""
    named = [str(home / "opp") for home in toolkit_homes()]
    wanted = dict.fromkeys((os.environ.get("ASCEND_OPP_PATH", ""), *named))
    return [path for path in wanted if path and Path(path).is_dir()]


def _model_dir() -> str | None:
    """Return the folder of the compiled operators, None where there is none, as with the simulator."""
    return next(iter(_probe_model_dirs()), None)


# -- memory ----------------------------------------------------------------------------------------------------------

def memory_stats(device: DeviceLike = None) -> dict[str, int]:
    """Return the caching allocator's counts under PyTorch's names, in bytes or blocks (``torch.cuda.memory_stats``)."""
    return allocator_of(get_runtime(device_index(device))).statistics()


def memory_allocated(device: DeviceLike = None) -> int:
    """Return the bytes in blocks that are in use (``torch.cuda.memory_allocated``)."""
    return memory_stats(device)["allocated_bytes.all.current"]


def max_memory_allocated(device: DeviceLike = None) -> int:
    """Return the most bytes in use at once since ``reset_peak_memory_stats`` (``torch.cuda.max_memory_allocated``)."""
    return memory_stats(device)["allocated_bytes.all.peak"]


def memory_reserved(device: DeviceLike = None) -> int:
    """Return the bytes taken from the device, in use or cached (``torch.cuda.memory_reserved``)."""
    return memory_stats(device)["reserved_bytes.all.current"]


def max_memory_reserved(device: DeviceLike = None) -> int:
    """Return the most bytes taken from the device at once (``torch.cuda.max_memory_reserved``)."""
    return memory_stats(device)["reserved_bytes.all.peak"]


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Count the peaks anew from now (``torch.cuda.reset_peak_memory_stats``)."""
    allocator_of(get_runtime(device_index(device))).reset_peaks()


def empty_cache() -> None:
    """Wait for every device that was started, and give its cached memory back (``torch.cuda.empty_cache``)."""
    for found in runtimes():
        allocator_of(found).empty_cache()


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Return the free and the total memory of the device in bytes (``torch.cuda.mem_get_info``)."""
    return memory_info(get_runtime(device_index(device)))


def get_device_properties(device: DeviceLike = None) -> dict[str, Any]:
    """Return the name of a device and its total memory in bytes (``torch.cuda.get_device_properties``)."""
    return {"name": get_device_name(device), "total_memory": mem_get_info(device)[1]}
