"""Calling HCCL: prototypes of its C functions, and how a collective is put into a stream."""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ..._base.interrupts import uninterrupted
from ..._tensor import Tensor
from . import activities, provider
from .constants import HCCL_ROOT_INFO_BYTES
from .errors import check
from .queues import Queue, operands_of

_POINTER, _INT, _UINT, _COUNT = ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint32, ctypes.c_uint64
#: The functions' parameters (hccl.h): addresses, numbers of elements, HcclDataType, HcclReduceOp or rank, comm, stream.
TAKES: dict[str, list[Any]] = {
    "HcclGetRootInfo": [_POINTER], "HcclCommInitRootInfo": [_UINT, _POINTER, _UINT, _POINTER],
    "HcclCommDestroy": [_POINTER],
    "HcclAllReduce": [_POINTER, _POINTER, _COUNT, _INT, _INT, _POINTER, _POINTER],
    "HcclBroadcast": [_POINTER, _COUNT, _INT, _UINT, _POINTER, _POINTER],
    "HcclAllGather": [_POINTER, _POINTER, _COUNT, _INT, _POINTER, _POINTER],
    "HcclReduceScatter": [_POINTER, _POINTER, _COUNT, _INT, _INT, _POINTER, _POINTER],
}


@cache
def function(name: str) -> Callable[..., int]:
    """Return a function of HCCL. Raises RuntimeError if it is not exported."""
    address = provider.load().find(name)
    if address is None:
        raise RuntimeError(f"there is no {name}")
    return ctypes.CFUNCTYPE(_INT, *TAKES[name])(address)


def is_simulated() -> bool:
    """Return whether the devices, and so HCCL, are simulated."""
    return provider.load().simulated


def root_info() -> bytes:
    """Return the information of a new communicator, which all ranks must share."""
    info = ctypes.create_string_buffer(HCCL_ROOT_INFO_BYTES)
    check(function("HcclGetRootInfo")(info), "HcclGetRootInfo", "npu")
    return info.raw


def communicator(size: int, info: bytes, rank: int) -> int:
    """Join the ranks with the same root information; returns the handle."""
    comm = ctypes.c_void_p()
    check(function("HcclCommInitRootInfo")(size, ctypes.create_string_buffer(info, HCCL_ROOT_INFO_BYTES), rank,
                                           ctypes.addressof(comm)), "HcclCommInitRootInfo", "npu")
    assert comm.value is not None
    return comm.value


def launch(name: str, arguments: Sequence[Any], reads: Sequence[Tensor], writes: Sequence[Tensor],
           queue: Queue) -> None:
    """Put a collective into a stream; returns before it has run. Raises AclError if it is refused."""
    with uninterrupted():
        restarts = queue.restarts
        for tensor in reads:
            tensor._storage._memory.check()  # type: ignore[union-attr]
        with activities.timed("run", name, queue):
            check(function(name)(*arguments, queue.handle), name, queue.runtime.name)
        number = queue.note(name, restarts, operands_of([*reads, *writes]))
        for tensor in writes:
            tensor._storage._memory.written(queue, number)  # type: ignore[union-attr]
    if queue.runtime.blocking:
        queue.synchronize()
