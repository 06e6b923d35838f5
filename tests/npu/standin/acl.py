"""A stand-in for pyACL: its call shapes over the host's memory. Importing it needs libascendcl.so to be loaded."""
from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

try:
    ctypes.CDLL(None).aclGetRecentErrMsg
except AttributeError:
    raise ImportError("libascendcl.so: cannot open shared object file") from None

_blocks: dict[int, Any] = {}


def _malloc(size: int, policy: int = 0) -> tuple[int, int]:
    block = ctypes.create_string_buffer(size + 64)
    pointer = -(-ctypes.addressof(block) // 64) * 64
    _blocks[pointer] = block
    return pointer, 0


def _free(pointer: int) -> int:
    return 0 if _blocks.pop(pointer, None) is not None else 107000


def _copy(to: int, most: int, source: int, count: int, kind: int, stream: int = 0) -> int:
    ctypes.memmove(to, source, count)
    return 0


def _done(*args: Any) -> int:
    return 0


def init(config: str = "") -> int:
    return 0


def finalize() -> int:
    return 0


def get_soc_name() -> str:
    return "Ascend910B3"


rt = SimpleNamespace(
    set_device=_done, reset_device=_done, set_context=_done, destroy_context=_done, destroy_stream=_done, free=_free,
    free_host=_free, synchronize_stream=_done, synchronize_event=_done, destroy_event=_done, record_event=_done,
    malloc=_malloc,
    malloc_host=_malloc, memcpy=_copy, memcpy_async=_copy, get_device_count=lambda: (1, 0),
    create_context=lambda device: (1, 0),
    create_stream=lambda: (2, 0), create_event=lambda: (3, 0), stream_query=lambda stream: (0, 0),
    query_event_status=lambda event: (1, 0), get_mem_info=lambda kind: (1 << 30, 1 << 30, 0),
)
