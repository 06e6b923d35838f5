"""The part of ``acl.rt`` that is about memory and copies."""
from __future__ import annotations

import ctypes
from time import sleep

from .. import constants as c
from . import transfers, watch
from .costs import costs
from .devices import current, machine, stream_of
from .errors import Fault
from .streams import Call


def malloc(size: int, policy: int) -> int:
    memory = current().device.memory
    block = memory.malloc(size)
    if watch.active is not None:
        watch.active.allocated(memory, block)
    return block.start


malloc_align32 = malloc_cached = malloc


def free(address: int) -> None:
    device = machine.owner(address)
    if device is None:
        raise Fault(c.ACL_ERROR_RT_PARAM_INVALID, f"{address:#x} is not device memory", "host-pointer")
    block = device.memory.free(address)
    if block is None:
        raise transfers.misplaced(f"no block starts at {address:#x}", address, device.memory.block_at(address))
    if watch.active is not None:
        watch.active.freed(block)


def malloc_host(size: int) -> int:
    current()
    return machine.host.malloc(size)


def free_host(address: int) -> None:
    size = machine.host.free(address)
    if size is not None and watch.active is not None:
        watch.active.host_freed(address, size)
    if size is None:
        raise Fault(c.ACL_ERROR_RT_PARAM_INVALID, f"aclrtFreeHost: no pinned memory starts at {address:#x}")


def get_mem_info(attribute: int) -> tuple[int, int]:
    memory = current().device.memory
    return memory.limit - memory.used, memory.limit


def memset(address: int, maximum: int, value: int, size: int) -> None:
    current()
    transfers.check_fill(None, "aclrtMemset", address, maximum, size)
    ctypes.memset(address, value & 0xFF, size)


def memset_async(address: int, maximum: int, value: int, size: int, stream_handle: int) -> None:
    stream = stream_of(stream_handle)
    transfers.check_fill(stream, "aclrtMemsetAsync", address, maximum, size)
    stream.submit(Call("aclrtMemsetAsync", lambda: ctypes.memset(address, value & 0xFF, size), None, size, True))


def memcpy(to: int, maximum: int, source: int, size: int, kind: int) -> None:
    current()
    inside = transfers.check_copy(None, "aclrtMemcpy", to, maximum, source, size, kind)
    if costs.scale:
        sleep(costs.copy(size, inside) * costs.scale)
    ctypes.memmove(to, source, size)


def memcpy_async(to: int, maximum: int, source: int, size: int, kind: int, stream_handle: int) -> None:
    stream = stream_of(stream_handle)
    inside = transfers.check_copy(stream, "aclrtMemcpyAsync", to, maximum, source, size, kind)
    keep = machine.host.owner(to), machine.host.owner(source)
    stream.submit(Call("aclrtMemcpyAsync", lambda: ctypes.memmove(to, source, size), keep, size, inside))
