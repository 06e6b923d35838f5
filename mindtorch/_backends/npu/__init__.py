"""The Ascend NPU backend: CANN through pyACL and the ACLNN operators, or a simulator behind the same interface.

``torch.npu`` shows its public names. Importing it loads nothing of CANN and starts nothing: that is done by the first
tensor on an NPU.
"""
from __future__ import annotations

import importlib
from typing import Any

from ..._device import current_index, selectors
from ..._dispatch.dispatcher import registry
from ..._dispatch.keys import NPU
from ..._dispatch.observers import current_streams
from ..._dispatch.registry import Kernel, Operator
from ..._storage import device_memory
from ..._tensor import host_readers
from ..common.convert import writers
from .allocator import OutOfMemoryError
from .devices import (
    _model_dir, _probe_model_dirs, current_device, device, device_count, empty_cache, get_device_name,
    get_device_properties,
    is_available, max_memory_allocated, max_memory_reserved, mem_get_info, memory_allocated, memory_reserved,
    memory_stats,
    reset_peak_memory_stats, set_device, synchronize, unavailable_reason,
)  # fmt: skip
from .runtime import AclError, current_queue, finalize, get_runtime, thread
from .streams import Event, Stream, current_stream, default_stream, set_stream, stream
from .random import get_rng_state, initial_seed, manual_seed, manual_seed_all, set_rng_state
from . import memory


def _find(op: Operator, backend: int) -> Kernel | None:
    """The tables are read when the first NPU tensor meets an operator."""
    if backend != NPU:
        return None
    from .kernels import find

    return find(op, backend)


def _find_fallback(op: Operator, backend: int) -> Kernel | None:
    if backend != NPU:
        return None
    from .kernels import find_fallback

    return find_fallback(op, backend)


def _stream_of(values: tuple[Any, ...]) -> str:
    queue = current_queue(thread.device)
    return f"{queue.runtime.name} stream {queue.number}"


def __getattr__(name: str) -> Any:
    if name == "simulator":
        return importlib.import_module(f"{__name__}.simulator")
    raise AttributeError(f"module 'torch.npu' has no attribute '{name}'")


current_index["npu"] = current_device
selectors["npu"] = device
device_memory["npu"] = memory.Memory  # type: ignore[assignment]
host_readers["npu"] = memory.read
writers["npu"] = memory.write
current_streams[NPU] = _stream_of
registry.add_finder(_find, first=True)
registry.fallback = _find_fallback
