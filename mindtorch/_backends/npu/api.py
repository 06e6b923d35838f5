"""The public names of the NPU backend: those of ``torch.npu``, and of ``mindtorch._backends.ascend``."""
from ..._base.errors import OutOfMemoryError
from .devices import (  # noqa: F401  (more than users need)
    _model_dir, _probe_model_dirs, current_device, device, device_count, empty_cache, get_device_name,
    get_device_properties, is_available, max_memory_allocated, max_memory_reserved, mem_get_info, memory_allocated,
    memory_reserved, memory_stats, reset_peak_memory_stats, restart_device, set_device, synchronize, unavailable_reason,
)
from .errors import AclError
from .random import get_rng_state, initial_seed, manual_seed, manual_seed_all, set_rng_state
from .runtime import finalize, get_runtime  # noqa: F401
from .streams import Event, Stream, current_stream, default_stream, set_stream, stream

__all__ = ["AclError", "Event", "OutOfMemoryError", "Stream", "current_device", "current_stream", "default_stream",
           "device", "device_count", "empty_cache", "get_device_name", "get_device_properties", "get_rng_state",
           "initial_seed", "is_available", "manual_seed", "manual_seed_all", "max_memory_allocated",
           "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved", "memory_stats",
           "reset_peak_memory_stats", "restart_device", "set_device", "set_rng_state", "set_stream", "stream",
           "synchronize"]
