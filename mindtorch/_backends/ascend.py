"""The Ascend backend's public names under the name of the chip."""
from .npu import (
    AclError, Event, OutOfMemoryError, Stream, current_device, current_stream, default_stream, device, device_count,
    empty_cache,
    get_device_name, get_device_properties, get_runtime, is_available, max_memory_allocated, max_memory_reserved,
    mem_get_info,
    memory_allocated, memory_reserved, memory_stats, reset_peak_memory_stats, set_device, set_stream, stream,
    synchronize,
)  # fmt: skip

__all__ = [
    "AclError", "Event", "OutOfMemoryError", "Stream", "current_device", "current_stream", "default_stream", "device",
    "device_count", "empty_cache", "get_device_name", "get_device_properties", "get_runtime", "is_available",
    "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats", "set_device", "set_stream", "stream", "synchronize",
]  # fmt: skip
