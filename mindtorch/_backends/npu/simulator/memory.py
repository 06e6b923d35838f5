"""Memory of devices and pinned memory of the host: allocation, and which block an address belongs to."""
from __future__ import annotations

import ctypes
import mmap
import threading
from bisect import bisect_right, insort
from typing import Any

from ..constants import ACL_ERROR_RT_MEMORY_ALLOCATION, ACL_ERROR_RT_PARAM_INVALID
from .errors import Fault

#: Bytes: what addresses are aligned to, what is left free between blocks, so that running over an end hits nothing.
ALIGNMENT, GUARD = 64, 512
#: Bytes that CANN wants behind each piece of memory, after its length is rounded up to as many.
TAIL = 32


class Block:
    """A block of ``acl.rt.malloc``: the bytes from ``start`` to ``end``. ``accesses`` belongs to the sanitizer."""

    __slots__ = ("accesses", "end", "span", "start")

    def __init__(self, start: int, size: int, span: int):
        self.start, self.end, self.span = start, start + size, span
        self.accesses: dict[Any, Any] = {}

    @property
    def size(self) -> int:
        return self.end - self.start


def reserve(size: int) -> mmap.mmap:
    """Address space of ``size`` bytes: zeros, committed page by page when touched."""
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0))


class Memory:
    """The memory of one device: address space that is mapped at the first allocation and committed when touched.

    ``base`` and ``top`` bound its addresses, ``limit`` is the number of bytes that can be allocated. ``writable`` and
    ``readonly`` are buffers over the whole of it, for array views. Thread-safe.
    """

    def __init__(self, limit: int):
        self.limit, self.used = limit, 0
        self.base = self.top = 0
        self.writable: mmap.mmap | None = None
        self.readonly: memoryview | None = None
        self._lock = threading.Lock()
        self._blocks: dict[int, Block] = {}
        self._starts: list[int] = []
        self._holes: list[tuple[int, int]] = []  #: free pieces, (start, size), by address

    def _map(self) -> None:
        size = self.limit + self.limit // 4 + (1 << 20)  # room for guards and for some fragmentation
        try:
            self.writable = reserve(size)
        except OSError as error:
            raise Fault(ACL_ERROR_RT_MEMORY_ALLOCATION, f"no address space for a simulated device of {self.limit} "
                        f"bytes: {error.strerror}") from error
        self.readonly = memoryview(self.writable).toreadonly()
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.writable))
        self.top = self.base + size
        self._holes = [(self.base + GUARD, size - GUARD)]

    def malloc(self, size: int) -> Block:
        """Allocate ``size`` bytes, 64-byte aligned, in the first hole that fits. Raises Fault if there is no room."""
        if size <= 0:
            raise Fault(ACL_ERROR_RT_PARAM_INVALID, f"cannot allocate {size} bytes")
        rounded = -(-size // ALIGNMENT) * ALIGNMENT
        with self._lock:
            if self.writable is None:
                self._map()
            span = rounded + GUARD
            if self.used + rounded <= self.limit:
                for i, (start, room) in enumerate(self._holes):
                    if room >= span:
                        self._holes[i : i + 1] = [(start + span, room - span)] if room > span else []
                        block = self._blocks[start] = Block(start, size, span)
                        insort(self._starts, start)
                        self.used += rounded
                        return block
            raise Fault(ACL_ERROR_RT_MEMORY_ALLOCATION,
                        f"out of device memory: {size} bytes asked for, {self.limit - self.used} of {self.limit} free")

    def free(self, start: int) -> Block | None:
        """Give a block back. None if none starts at this address."""
        with self._lock:
            block = self._blocks.pop(start, None)
            if block is None:
                return None
            del self._starts[bisect_right(self._starts, start) - 1]
            self.used -= block.span - GUARD
            self._add_hole(start, block.span)
            return block

    def _add_hole(self, start: int, size: int) -> None:
        holes = self._holes
        i = bisect_right(holes, (start, 0))
        if i < len(holes) and start + size == holes[i][0]:
            size += holes.pop(i)[1]
        if i and sum(holes[i - 1]) == start:
            i -= 1
            start, before = holes.pop(i)
            size += before
        holes.insert(i, (start, size))

    def holds(self, address: int) -> bool:
        """Return whether an address is one of this device, allocated or not."""
        return self.base <= address < self.top

    def block_at(self, address: int) -> Block | None:
        """Return the block that an address lies in; its end counts, as for pointers to nothing."""
        with self._lock:
            i = bisect_right(self._starts, address)
            block = self._blocks[self._starts[i - 1]] if i else None
            return block if block is not None and address <= block.end else None

    def blocks(self) -> list[Block]:
        """Return all blocks, by address."""
        with self._lock:
            return [self._blocks[start] for start in self._starts]

    def clear(self) -> None:
        """Forget all blocks and give the address space back, once no view of it is left."""
        with self._lock:
            self._blocks.clear()
            self._starts.clear()
            self._holes, self.used, self.base, self.top = [], 0, 0, 0
            self.writable = self.readonly = None


class HostMemory:
    """Pinned memory of the host (``acl.rt.malloc_host``). Thread-safe."""

    def __init__(self) -> None:
        self._buffers: dict[int, Any] = {}

    def malloc(self, size: int) -> int:
        """Allocate ``size`` bytes, 64-byte aligned, and return the address. Raises Fault if there is no room."""
        if size <= 0:
            raise Fault(ACL_ERROR_RT_PARAM_INVALID, f"cannot allocate {size} bytes")
        try:
            buffer = (ctypes.c_char * (size + ALIGNMENT))()
        except (MemoryError, OverflowError):
            raise Fault(ACL_ERROR_RT_MEMORY_ALLOCATION, f"out of host memory: {size} bytes asked for") from None
        address = -(-ctypes.addressof(buffer) // ALIGNMENT) * ALIGNMENT
        self._buffers[address] = buffer
        return address

    def free(self, address: int) -> int | None:
        """Give memory back. Returns its size in bytes, or None if none starts at this address."""
        buffer = self._buffers.pop(address, None)
        return None if buffer is None else len(buffer) - ALIGNMENT

    def owner(self, address: int) -> Any:
        """Return the object that keeps the memory at an address alive; None for memory that is not from here."""
        for start, buffer in list(self._buffers.items()):
            if start <= address < start + len(buffer) - ALIGNMENT:
                return buffer
        return None

    @property
    def used(self) -> int:
        """The number of bytes that are allocated."""
        return sum(len(buffer) - ALIGNMENT for buffer in list(self._buffers.values()))

    def clear(self) -> None:
        """Give all of it back."""
        self._buffers.clear()
