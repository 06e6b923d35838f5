"""The caching allocator of a device, stream-aware, with PyTorch's statistics and PyTorch's words when memory runs out.

Memory is taken from CANN in segments and handed out in blocks. A block that is freed goes back to the pool of the
stream that it was allocated on: what that stream is given next runs after all that used it before, so it may be reused
at once. A block that other streams used as well (``record_stream``) waits for events that were recorded there. Only
whole free segments go back to CANN, and only after a synchronisation (``empty_cache``).
"""
from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from ..._base.about import about
from ..._base.errors import OutOfMemoryError
from ..._base.interrupts import uninterrupted
from . import activities, runtime
from .constants import (
    ACL_ERROR_RT_DEVICE_OOM, ACL_ERROR_RT_MEMORY_ALLOCATION, ACL_EVENT_RECORDED_STATUS_COMPLETE, ACL_HBM_MEM,
    ACL_MEM_MALLOC_HUGE_FIRST,
)
from .errors import AclError, check
from .queues import End, Queue, end
from .runtime import _Runtime

#: Bytes. Sizes are rounded up to ``ROUND``; blocks up to ``SMALL`` come from segments of ``SMALL_SEGMENT``; those
#: below ``LARGE`` from segments of ``LARGE_SEGMENT``; larger ones from segments of their own, rounded up to
#: ``SMALL_SEGMENT``.
ROUND, SMALL, SMALL_SEGMENT = 512, 1 << 20, 2 << 20
LARGE, LARGE_SEGMENT = 10 << 20, 20 << 20
#: Bytes. An operator of an Ascend 910B may reach a little beyond the end of what it works on: each piece of a segment
#: is its length, rounded up to ``ALIGN``, and ``TAIL`` more (CANN's documentation of ``aclrtMalloc``).
ALIGN, TAIL = 32, 32
#: The codes of ``aclrtMalloc`` when there is no memory; any other code is another error.
OUT_OF_MEMORY = (ACL_ERROR_RT_MEMORY_ALLOCATION, ACL_ERROR_RT_DEVICE_OOM)


@dataclass(eq=False, slots=True)
class Block:
    """A piece of a segment: ``size`` bytes at ``ptr`` for a request of ``requested`` bytes."""

    ptr: int
    size: int
    queue: Queue
    segment: int  #: the address of the segment
    small: bool
    before: Block | None = None
    after: Block | None = None
    requested: int = 0
    free: bool = True
    owner: End | None = None  #: whose end gives it back
    users: set[Queue] | None = None  #: other streams that use it, from ``record_stream``
    writer: tuple[Queue, int] | None = None  #: the operator that wrote it last, by its number in its stream
    events: list[int] | None = None  #: while it waits for other streams: those recorded in them


class Owner:
    """Something for whose life a block is asked for."""

    __slots__ = ("__weakref__",)


def block_size(nbytes: int) -> int:
    """Return how many bytes of a segment a piece takes, with the tail that CANN wants behind it."""
    return -(-(-(-max(nbytes, 1) // ALIGN) * ALIGN + TAIL) // ROUND) * ROUND


def chain(block: Block | None) -> Iterator[Block]:
    """Yield a block and those after it in its segment."""
    while block is not None:
        yield block
        block = block.after


order = attrgetter("size", "ptr")  #: the sort key of a pool


def best_fit(free: Sequence[Block], size: int) -> Block | None:
    """Return the smallest block, on a tie the one at the lowest address: ``free`` is in this order."""
    return free[0]


class Allocator:
    """The memory of one device. A block is given back when its owner goes, in any thread and at any moment.

    The truth is in the segments, the chain of blocks of each, and in the owners. What is derived from them, pools,
    sizes and counts, is made anew if a change was cut short by an exception.
    """

    #: Which of the free blocks that are large enough is taken for so many bytes; None for a new segment.
    fit: Callable[[Sequence[Block], int], Block | None] = staticmethod(best_fit)

    def __init__(self, device: _Runtime):
        self.device = device
        self.lock = threading.RLock()
        self._returned: deque[End] = deque()
        self._is_torn = False  #: whether a change was begun and not ended
        self._pools: dict[tuple[Queue, bool], list[Block]] = {}
        #: freed blocks, whose ``users`` are the streams in which no event was recorded yet
        self._waiting: list[Block] = []
        self._segments: dict[int, tuple[Block, int]] = {}  #: the first block of each, and its size
        self.live: dict[int, Block] = {}
        self._now: dict[str, int] = {}
        self._peak: dict[str, int] = {}
        self._total: dict[str, int] = {}
        device.at_finalize.append(self.release_all)
        device.at_destroy.append(self.retire)

    # -- what callers do ---------------------------------------------------------------------------------------------

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Enter a change of the allocator, alone, after taking in what was given back."""
        with uninterrupted():
            inner = self.lock._is_owned()  # type: ignore[attr-defined]  # a finalizer's, in the middle of a change
            with self.lock:
                if self._is_torn and not inner:
                    self._mend()
                self._is_torn = True
                self._take_back()
                yield
                self._is_torn = inner

    def allocate(self, nbytes: int, queue: Queue, owner: Any) -> Block:
        """Return a block for a stream and an owner; OutOfMemoryError if emptying the cache frees too little."""
        size = block_size(nbytes)
        block = self._allocate(size, nbytes, queue, owner)
        if block is None:
            self.empty_cache()
            block = self._allocate(size, nbytes, queue, owner, last=True)
        if block is None:
            raise self._out_of_memory(nbytes)
        return block

    def _allocate(self, size: int, nbytes: int, queue: Queue, owner: Any, last: bool = False) -> Block | None:
        with self.changing():
            block = self._cached(size, queue) or self._new_segment(size, queue)
            if block is None:
                self._count(("num_ooms" if last else "num_alloc_retries", 1))
                return None
            self._split(block, size)
            block.free, block.requested = False, nbytes
            block.owner = end(owner, self._returned.append, block)
            self.live[block.ptr] = block
            self._count_block(block, 1)
            return block

    def record_stream(self, block: Block, queue: Queue) -> None:
        """Say that a stream uses a block that was allocated on another one (``Tensor.record_stream``)."""
        if queue is not block.queue:
            with self.lock:
                block.users = {*(block.users or ()), queue}

    def empty_cache(self) -> None:
        """Wait for the device and free every unused segment; raise AclError afterwards if work has failed."""
        try:
            self.device.synchronize_device()
        finally:
            self.device.drop_abandoned()
            with self.changing():
                self._settle_events(waited=True)
                for first, _ in [(b, n) for b, n in self._segments.values() if b.free and b.after is None]:
                    self._leave_pool(first)
                    self._return_segment(first)

    def retire(self, queue: Queue) -> None:
        """Give back the segments of a stream that was destroyed, those that are in use when that ends."""
        with self.changing():
            for small in (False, True):
                for block in self._pools.pop((queue, small), ()):
                    self._keep(block)

    def release_all(self) -> None:
        """Give every segment back, used or not: the device goes. Raises the first AclError, after all were tried."""
        with self.changing():
            self._settle_events(waited=True)
            failed: AclError | None = None
            for first, _ in list(self._segments.values()):
                try:
                    self._return_segment(first)
                except AclError as error:  # the others can go nevertheless
                    failed = failed or error
            self._pools.clear()
            self.live.clear()
            if failed is not None:
                raise failed

    def statistics(self) -> dict[str, int]:
        """``torch.npu.memory_stats``: current, peak, allocated (in all) and freed (in all) of every count.

        Bytes: ``allocated_bytes`` are those of blocks in use, ``requested_bytes`` what was asked for,
        ``reserved_bytes`` those of segments, ``active_bytes`` those in use or still needed by another stream.
        """
        with self.changing():
            self._settle_events()
            waiting = sum(block.size for block in self._waiting)
            stats: dict[str, int] = {}
            for name in ("allocation", "segment", "allocated_bytes", "requested_bytes", "reserved_bytes"):
                now, total = self._now.get(name, 0), self._total.get(name, 0)
                stats[f"{name}.all.current"], stats[f"{name}.all.peak"] = now, self._peak.get(name, 0)
                stats[f"{name}.all.allocated"], stats[f"{name}.all.freed"] = total, total - now
            stats["active_bytes.all.current"] = stats["allocated_bytes.all.current"] + waiting
            stats["inactive_bytes.all.current"] = (
                stats["reserved_bytes.all.current"] - stats["active_bytes.all.current"])
            return stats | {name: self._now.get(name, 0) for name in ("num_alloc_retries", "num_ooms")}

    def reset_peaks(self) -> None:
        """Have peaks start from what is now (``torch.npu.reset_peak_memory_stats``)."""
        with self.changing():
            self._peak = dict(self._now)

    def segments(self) -> list[list[Block]]:
        """Return the blocks of each segment by address: the allocator's whole memory."""
        with self.changing():
            return [[*chain(self._segments[start][0])] for start in sorted(self._segments)]

    def block_at(self, address: int) -> Block | None:
        """Return the block in use that holds an address."""
        with self.lock:
            for ptr, block in self.live.items():
                if ptr <= address < ptr + block.size:
                    return block
        return None

    # -- pools -------------------------------------------------------------------------------------------------------

    def _cached(self, size: int, queue: Queue) -> Block | None:
        """Let ``fit`` pick one of the free blocks of the stream's pool that are large enough."""
        if self._waiting:
            self._settle_events()
        small = size <= SMALL
        pool = self._pools.get((queue, small), [])
        fitting = pool[bisect_left(pool, (size, 0), key=order):]
        if not fitting:
            return None
        best = self.fit(fitting, size)
        if best is None:
            return None
        if not small and best.size - size >= LARGE_SEGMENT and size < LARGE:
            return None  # a huge block is not broken up for little
        self._leave_pool(best)
        return best

    def _new_segment(self, size: int, queue: Queue) -> Block | None:
        small = size <= SMALL
        own = -(-size // SMALL_SEGMENT) * SMALL_SEGMENT
        length = SMALL_SEGMENT if small else LARGE_SEGMENT if size < LARGE else own
        self.device.activate()
        ptr, code = runtime.acl.rt.malloc(length, ACL_MEM_MALLOC_HUGE_FIRST)
        if code in OUT_OF_MEMORY and length != size:  # the bare size may still fit
            length = size
            ptr, code = runtime.acl.rt.malloc(length, ACL_MEM_MALLOC_HUGE_FIRST)
        if code in OUT_OF_MEMORY:
            return None
        check(code, "aclrtMalloc", self.device.name)
        block = Block(ptr, length, queue, ptr, small)
        self._segments[ptr] = block, length
        self._count(("segment", 1), ("reserved_bytes", length))
        return block

    def _split(self, block: Block, size: int) -> None:
        """Cut a block to size; the rest stays free."""
        rest = block.size - size
        if rest < (ROUND if block.small else SMALL):
            return
        tail = Block(block.ptr + size, rest, block.queue, block.segment, block.small, block, block.after)
        if block.after is not None:
            block.after.before = tail
        block.size, block.after = size, tail
        insort(self._pool(tail), tail, key=order)

    def _pool(self, block: Block) -> list[Block]:
        """Return the pool of a block: the free blocks of its stream that are small or large like it, in order."""
        return self._pools.setdefault((block.queue, block.small), [])

    def _leave_pool(self, block: Block) -> None:
        pool = self._pool(block)
        del pool[bisect_left(pool, order(block), key=order)]

    def _take_back(self) -> None:
        """Take in what was given back."""
        while self._returned:
            block = self._returned.popleft().of
            if self.live.pop(block.ptr, None) is None:
                continue  # of a device that was finalized meanwhile, or found when the allocator was mended
            self._count_block(block, -1)
            block.owner = None
            if block.users:
                block.events = []
                self._waiting.append(block)
                continue
            queue = block.queue
            if queue.enqueued > queue.finished:
                queue.note_free(block.ptr, block.size)
            self._merge(block)

    def _mend(self) -> None:
        """Make what is derived anew after a change that was cut short: what no owner, stream or pool has is free."""
        for block in [block for block in self.live.values() if block.owner is not None and block.owner() is None]:
            self._returned.append(block.owner)  # type: ignore[arg-type]
        kept = {id(block) for block in (*self.live.values(), *self._waiting)}
        self._pools.clear()
        for first, length in list(self._segments.values()):
            free: list[Block] = []
            before = None
            for block in list(chain(first)):
                block.size = (block.after.ptr if block.after is not None else first.ptr + length) - block.ptr
                block.free, block.before = id(block) not in kept, before
                if block.free and before is not None and before.free:
                    before.size, before.after = before.size + block.size, block.after
                    continue
                before = block
                free += [block] if block.free else []
            for block in free:
                block.owner = block.writer = block.users = block.events = None
                self._keep(block)
        live = list(self.live.values())
        self._now |= {"allocation": len(live), "allocated_bytes": sum(block.size for block in live),
                      "requested_bytes": sum(block.requested for block in live), "segment": len(self._segments),
                      "reserved_bytes": sum(length for _, length in self._segments.values())}
        self._is_torn = False

    def _merge(self, block: Block) -> None:
        """Put a block into its pool, as one with its free neighbours."""
        block.free, block.writer, block.users, block.events = True, None, None, None
        if (before := block.before) is not None and before.free:
            self._leave_pool(before)
            before.size, before.after = before.size + block.size, block.after
            if block.after is not None:
                block.after.before = before
            block = before
        if (after := block.after) is not None and after.free:
            self._leave_pool(after)
            block.size, block.after = block.size + after.size, after.after
            if after.after is not None:
                after.after.before = block
        self._keep(block)

    def _keep(self, block: Block) -> None:
        """Put a free block into its pool; a whole segment that no stream will ask for goes back to CANN."""
        if block.queue.is_destroyed and block.before is None and block.after is None:
            self._return_segment(block)
            if not self._pool(block):
                del self._pools[block.queue, block.small]
        else:
            insort(self._pool(block), block, key=order)

    def _return_segment(self, first: Block) -> None:
        _, length = self._segments.pop(first.segment)
        self.device.activate()
        check(runtime.acl.rt.free(first.segment), "aclrtFree", self.device.name)
        self._count(("segment", -1), ("reserved_bytes", -length))

    # -- other streams -----------------------------------------------------------------------------------------------

    def _settle_events(self, waited: bool = False) -> None:
        """Put freed blocks that other streams have done with into their pools; ``waited``: so have all streams."""
        if not self._waiting:
            return
        self.device.activate()
        rt = runtime.acl.rt
        for block in list(self._waiting):
            users, events = block.users, block.events
            assert users is not None and events is not None
            for queue in list(users):
                if not waited and not queue.is_destroyed:
                    try:
                        events.append(activities.event_in(queue))
                    except AclError:  # next time it may work; the caller wants something else
                        continue
                users.discard(queue)
            for event in list(events):
                if waited or self._is_past(event):
                    events.remove(event)
                    rt.destroy_event(event)
            if not events and not users:
                self._waiting.remove(block)
                activities.note("free", f"{block.size} bytes at {block.ptr:#x}", block.queue)
                self._merge(block)

    def _is_past(self, event: int) -> bool:
        """Return whether the stream has passed an event. Raises AclError if the device does not answer."""
        status, code = runtime.acl.rt.query_event_status(event)
        check(code, "aclrtQueryEventStatus", self.device.name)
        return bool(status == ACL_EVENT_RECORDED_STATUS_COMPLETE)

    # -- counting ----------------------------------------------------------------------------------------------------

    def _count_block(self, block: Block, sign: int) -> None:
        """Count a block that is used from now on (1), or no longer (-1)."""
        self._count(("allocation", sign), ("allocated_bytes", sign * block.size),
                    ("requested_bytes", sign * block.requested))

    def _count(self, *steps: tuple[str, int]) -> None:
        now, peak, total = self._now, self._peak, self._total
        for name, step in steps:
            value = now[name] = now.get(name, 0) + step
            if step > 0:
                total[name] = total.get(name, 0) + step
                if value > peak.get(name, 0):
                    peak[name] = value

    def _out_of_memory(self, nbytes: int) -> OutOfMemoryError:
        self.device.activate()
        free, total, code = runtime.acl.rt.get_mem_info(ACL_HBM_MEM)
        allocated, reserved = self._now.get("allocated_bytes", 0), self._now.get("reserved_bytes", 0)
        capacity = "" if code else (f"NPU {self.device.device_id} has a total capacity of {readable(total)} of which "
                                    f"{readable(free)} is free. ")
        error = OutOfMemoryError(
            f"NPU out of memory. Tried to allocate {readable(nbytes)}. {capacity}Of the allocated memory "
            f"{readable(allocated)} is allocated by mindtorch in {self._now.get('allocation', 0)} blocks, and "
            f"{readable(reserved - allocated)} is reserved by mindtorch but unallocated.")
        return about(error, "out of memory", asked=nbytes, host=False, total=None if code else total,
                     free=None if code else free, allocated=allocated, kept=reserved - allocated)


def readable(nbytes: int) -> str:
    """Return bytes as PyTorch's messages write them."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} bytes"


_allocators: dict[_Runtime, Allocator] = {}
_lock = threading.Lock()


def allocator_of(device: _Runtime) -> Allocator:
    """Return the allocator of a device."""
    found = _allocators.get(device)
    if found is None:
        with _lock:
            found = _allocators.get(device) or _allocators.setdefault(device, Allocator(device))
            for gone in [old for old in _allocators if not old.initialized]:
                del _allocators[gone]
    return found


def memory_info(device: _Runtime) -> tuple[int, int]:
    """Free and total bytes of a device (``aclrtGetMemInfo``)."""
    device.activate()
    free, total, code = runtime.acl.rt.get_mem_info(ACL_HBM_MEM)
    check(code, "aclrtGetMemInfo", device.name)
    return free, total
