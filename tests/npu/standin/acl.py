"""A stand-in for pyACL: its call shapes over the stand-in runtime, libascendcl.so, which has to be loaded before."""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

try:
    _c: Any = ctypes.CDLL(None)
    _c.aclGetRecentErrMsg
except AttributeError:
    raise ImportError("libascendcl.so: cannot open shared object file") from None

DEVICES = 2
HOST, FILL = 1, 5  #: in calls of the runtime: page-locked memory; a copy of one byte to many
faults: dict[str, list[int]] = {}  #: the codes that the next calls of a function return
calls: list[tuple[Any, ...]] = []  #: all calls, with their arguments
_set: set[int] = set()  #: devices that set_device was called for


def _pointer(value: int | None) -> Any:
    return ctypes.c_void_p(value or None)


def _made(function: Callable[..., int], *args: Any) -> tuple[int, int]:
    """A handle that a function of the runtime makes, and its code."""
    made = ctypes.c_void_p()
    code = function(ctypes.byref(made), *args)
    return made.value or 0, code


def _status(function: Callable[..., int], handle: int) -> tuple[int, int]:
    status = ctypes.c_int32()
    code = function(_pointer(handle), ctypes.byref(status))
    return status.value, code


def _set_device(number: int) -> int:
    if not 0 <= number < DEVICES:
        return 107001
    _set.add(number)
    return 0


def _create_context(number: int) -> tuple[int, int]:
    return _made(_c.sa_create_context, number) if number in _set else (0, 107002)


def _copy(to: int, most: int, source: int, count: int, kind: int) -> int:
    return int(_c.sa_copy(_pointer(to), ctypes.c_uint64(most), _pointer(source), ctypes.c_uint64(count), kind, 0))


def _copy_async(to: int, most: int, source: int, count: int, kind: int, stream: int) -> int:
    return int(_c.sa_copy_async(_pointer(to), ctypes.c_uint64(most), _pointer(source), ctypes.c_uint64(count), kind, 0,
                                _pointer(stream)))


def _memset_async(to: int, most: int, value: int, count: int, stream: int) -> int:
    return int(_c.sa_copy_async(_pointer(to), ctypes.c_uint64(most), None, ctypes.c_uint64(count), FILL, value,
                                _pointer(stream)))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "set_device": _set_device, "reset_device": lambda number: 0, "get_device_count": lambda: (DEVICES, 0),
    "create_context": _create_context, "destroy_context": lambda handle: _c.sa_destroy_context(_pointer(handle)),
    "set_context": lambda handle: _c.sa_set_context(_pointer(handle)),
    "device_enable_peer_access": lambda peer, flags: _c.sa_enable_peer(peer),
    "create_stream": lambda: _made(_c.sa_create_stream),
    "create_stream_with_config": lambda priority, flag: _made(_c.sa_create_stream),
    "destroy_stream": lambda handle: _c.sa_destroy_stream(_pointer(handle)),
    "set_stream_failure_mode": lambda handle, mode: _c.sa_stream_mode(_pointer(handle), mode),
    "stream_get_id": lambda handle: (_c.sa_stream_id(_pointer(handle)), 0),
    "stream_query": lambda handle: _status(_c.sa_query, handle),
    "synchronize_stream": lambda handle: _c.sa_synchronize(_pointer(handle)),
    "create_event": lambda: _made(_c.sa_create_event),
    "create_event_ex_with_flag": lambda flag: _made(_c.sa_create_event),
    "destroy_event": lambda handle: _c.sa_destroy_event(_pointer(handle)),
    "record_event": lambda handle, stream: _c.sa_record_event(_pointer(handle), _pointer(stream)),
    "stream_wait_event": lambda stream, handle: _c.sa_wait_event(_pointer(stream), _pointer(handle)),
    "query_event_status": lambda handle: _status(_c.sa_query_event, handle),
    "synchronize_event": lambda handle: _c.sa_synchronize_event(_pointer(handle)),
    "malloc": lambda size, policy: _made(_c.sa_malloc, ctypes.c_uint64(size), 0),
    "malloc_host": lambda size: _made(_c.sa_malloc, ctypes.c_uint64(size), HOST),
    "free": lambda address: _c.sa_free(_pointer(address), 0),
    "free_host": lambda address: _c.sa_free(_pointer(address), HOST),
    "get_mem_info": lambda attribute: (64 << 20, 64 << 20, 0),
    "memcpy": _copy, "memcpy_async": _copy_async, "memset_async": _memset_async,
}


def _faulty(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that notes its calls, and fails where a fault waits for it."""

    def call(*args: Any) -> Any:
        calls.append((name, *args))
        if waiting := faults.get(name):
            code = waiting.pop(0)
            results = {"malloc": 1, "malloc_host": 1, "stream_query": 1, "query_event_status": 1, "create_stream": 1,
                       "create_event_ex_with_flag": 1, "create_event": 1, "create_context": 1}.get(name, 0)
            return (*(0,) * results, code) if results else code
        return function(*args)

    return call


def counts() -> dict[str, int]:
    """What is alive: contexts, streams, events, pieces of memory, and handles of ACLNN."""
    values = (ctypes.c_int64 * 4)()
    _c.sa_counts(values)
    _c.standin_count.restype = ctypes.c_int64
    return dict(zip(("contexts", "streams", "events", "blocks"), values, strict=True)) | {"handles": _c.standin_count()}


def queued(stream: int) -> int:
    """How many tasks wait in a stream: it runs them when somebody waits for them."""
    _c.sa_queued.restype = ctypes.c_int64
    return int(_c.sa_queued(_pointer(stream)))


def init(config: str = "") -> int:
    calls.append(("init",))
    return 0


def finalize() -> int:
    calls.append(("finalize",))
    return 0


def get_soc_name() -> str:
    return "Ascend910B3"


rt = SimpleNamespace(**{name: _faulty(name, function) for name, function in _FUNCTIONS.items()})
