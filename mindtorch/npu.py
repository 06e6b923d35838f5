"""``torch.npu``: devices, streams, events and memory of Ascend NPUs, and the simulator's controls."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._backends import npu as _backend
from ._backends.npu import (
    AclError as AclError, Event as Event, OutOfMemoryError as OutOfMemoryError, Stream as Stream,
    get_rng_state as get_rng_state, initial_seed as initial_seed, manual_seed as manual_seed,
    manual_seed_all as manual_seed_all, set_rng_state as set_rng_state, current_device as current_device,
    current_stream as current_stream, default_stream as default_stream, device as device,
    device_count as device_count, empty_cache as empty_cache, get_device_name as get_device_name,
    get_device_properties as get_device_properties, is_available as is_available,
    max_memory_allocated as max_memory_allocated, max_memory_reserved as max_memory_reserved,
    mem_get_info as mem_get_info,
    memory_allocated as memory_allocated, memory_reserved as memory_reserved, memory_stats as memory_stats,
    reset_peak_memory_stats as reset_peak_memory_stats, set_device as set_device, set_stream as set_stream,
    stream as stream,
    synchronize as synchronize,
)  # fmt: skip

__all__ = [
    "AclError", "Event", "OutOfMemoryError", "Stream", "current_device", "current_stream", "default_stream",
    "device", "device_count", "empty_cache", "get_device_name", "get_device_properties", "get_rng_state",
    "initial_seed", "is_available", "manual_seed", "manual_seed_all", "max_memory_allocated",
    "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved", "memory_stats",
    "reset_peak_memory_stats", "set_device", "set_rng_state", "set_stream", "simulator", "stream", "synchronize",
]  # fmt: skip
__dir__ = __all__.copy


if TYPE_CHECKING:
    from ._backends.npu import simulator as simulator
else:

    def __getattr__(name: str) -> Any:
        return getattr(_backend, name)  # the simulator is loaded when it is asked for
