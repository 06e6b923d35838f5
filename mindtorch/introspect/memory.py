"""Memory, device by device: live storages, what the caching allocator holds for them, and what is freed later."""
from __future__ import annotations

import gc
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from .._backends.npu.allocator import Allocator, Block, allocator_of, memory_info
from .._backends.npu.runtime import _Runtime, runtimes
from .libraries import libraries
from .library import Library, LiveStorage
from .names import storage_number
from .npu import stream_name
from .pytorch import pytorch

STATES = ("in use", "workspace", "waiting", "free")  #: of blocks


@dataclass(frozen=True)
class StorageUse:
    """A live storage of ``bytes`` bytes, seen by ``tensors`` live tensors; ``names`` lists the named ones.

    ``number`` is that of pictures, None if no tensor that sees it has a name.
    """

    device: str
    address: int
    bytes: int
    tensors: int
    names: tuple[str, ...]
    number: int | None


@dataclass(frozen=True)
class BlockFacts:
    """A piece of a segment: ``bytes`` bytes for a request of ``requested``, for work on ``stream``.

    ``state`` is one of ``STATES``: in use by storages, in use by nothing that Python holds (a workspace, a generator's
    state), given back but waiting for other streams that use it, or free. ``storages`` lie in it; ``deferred`` of its
    bytes are free for its own stream only, until the stream has run what may use them.
    """

    address: int
    bytes: int
    requested: int
    stream: str
    state: str
    storages: tuple[StorageUse, ...] = ()
    deferred: int = 0


@dataclass(frozen=True)
class SegmentFacts:
    """Memory that the allocator took from the device in one piece, and its blocks in the order of their addresses."""

    address: int
    bytes: int
    blocks: tuple[BlockFacts, ...]


@dataclass(frozen=True)
class DeferredFree:
    """Memory that was given back while ``pending`` operators of ``stream`` may still use it."""

    address: int
    bytes: int
    stream: str
    pending: int


@dataclass(frozen=True)
class MemoryFacts:
    """A device's memory. ``statistics`` are ``torch.npu.memory_stats()``, ``free`` and ``total`` the device's bytes.

    The CPU has storages only: its memory is the operating system's.
    """

    device: str
    storages: tuple[StorageUse, ...]
    segments: tuple[SegmentFacts, ...] = ()
    deferred: tuple[DeferredFree, ...] = ()
    statistics: Mapping[str, int] = field(default_factory=dict)
    free: int = 0
    total: int = 0

    @property
    def storage_bytes(self) -> int:
        """The bytes of all live storages."""
        return sum(storage.bytes for storage in self.storages)

    @property
    def allocated(self) -> int:
        """The bytes of blocks in use, as ``torch.npu.memory_allocated()`` counts them."""
        return sum(b.bytes for segment in self.segments for b in segment.blocks if b.state in ("in use", "workspace"))

    @property
    def reserved(self) -> int:
        """The bytes of segments, as ``torch.npu.memory_reserved()`` counts them."""
        return sum(segment.bytes for segment in self.segments)


def memory_facts(names: Mapping[int, str] | None = None) -> tuple[MemoryFacts, ...]:
    """Describe the memory of the CPU, of every NPU that was started, and of PyTorch's GPUs if it uses them.
    ``names`` are the tensors' names by ``id``.

    It waits for nothing. Tensors and storages are found through the garbage collector, so that none is missed.
    """
    uses = _storages(names or {})
    cpu = MemoryFacts("cpu", tuple(use for use in uses if use.device == "cpu"))
    npus = sorted(runtimes(), key=lambda device: device.device_id)
    return cpu, *(_of_npu(device, uses) for device in npus), *_of_cuda(uses)


def _storages(names: Mapping[int, str]) -> list[StorageUse]:
    """Return all live storages that have memory, the largest first; recorded, unrun operators have none."""
    uses = [_use(storage, names) for library in libraries() for storage in _live(library)]
    present = (use for use in uses if use.bytes and use.address and use.device != "meta")
    return sorted(present, key=lambda use: (-use.bytes, use.address))


def _live(library: Library) -> list[LiveStorage]:
    return library.storages(gc.get_objects())  # kept under no name: a list with all objects would be in itself


def _use(storage: LiveStorage, names: Mapping[int, str]) -> StorageUse:
    named = [tensor for tensor in storage.tensors if id(tensor) in names]
    number = storage_number(named[0]) if named else None
    return StorageUse(storage.device, storage.address, storage.bytes, len(storage.tensors),
                      tuple(sorted(names[id(tensor)] for tensor in named)), number)


def _of_npu(device: _Runtime, uses: Iterable[StorageUse]) -> MemoryFacts:
    allocator = allocator_of(device)
    mine = tuple(use for use in uses if use.device == device.name)
    with allocator.lock:  # so that statistics and blocks are of one moment
        statistics = allocator.statistics()
        segments = allocator.segments()
        deferred = _deferred(device, segments)
        storages, late = _Places(mine), _Places(deferred)
        found = tuple(_segment(allocator, blocks, storages, late) for blocks in segments)
    free, total = memory_info(device)
    return MemoryFacts(device.name, mine, found, deferred, statistics, free, total)


def _of_cuda(uses: Iterable[StorageUse]) -> Iterator[MemoryFacts]:
    """PyTorch's GPUs, if it has begun to use one."""
    torch = pytorch()
    if torch is None or not torch.cuda.is_initialized():
        return
    snapshot = torch.cuda.memory_snapshot()
    for number in range(torch.cuda.device_count()):
        name = f"cuda:{number}"
        mine = tuple(use for use in uses if use.device == name)
        segments = tuple(cuda_segment(found, name, mine) for found in snapshot if found["device"] == number)
        free, total = torch.cuda.mem_get_info(number)
        yield MemoryFacts(name, mine, segments, (), torch.cuda.memory_stats(number), free, total)


class _Places:
    """Things that lie at addresses, for the question which of them lie in a piece of memory."""

    def __init__(self, placed: Iterable[Any]):
        self.placed = sorted(placed, key=_address)

    def inside(self, start: int, size: int) -> tuple[Any, ...]:
        """Those that begin there, in the order of their addresses."""
        return tuple(self.placed[bisect_left(self.placed, start, key=_address):
                                 bisect_left(self.placed, start + size, key=_address)])


_address = attrgetter("address")


def cuda_segment(segment: Mapping[str, Any], device: str, uses: Iterable[StorageUse]) -> SegmentFacts:
    """Describe a segment of ``torch.cuda.memory_snapshot()``; ``uses`` are the storages that may lie in it."""
    found, address, stream = [], segment["address"], f"{device} stream {segment['stream']}"
    places = _Places(uses)
    for block in segment["blocks"]:
        kind = block["state"]
        storages = places.inside(address, block["size"]) if kind == "active_allocated" else ()
        state = "free" if kind == "inactive" else "waiting" if kind != "active_allocated" else (
            "in use" if storages else "workspace")
        asked_for = block.get("requested_size", 0) if kind == "active_allocated" else 0
        found.append(BlockFacts(address, block["size"], asked_for, stream, state, storages))
        address += block["size"]
    return SegmentFacts(segment["address"], segment["total_size"], tuple(found))


def _deferred(device: _Runtime, segments: list[list[Block]]) -> tuple[DeferredFree, ...]:
    """Return memory that was freed but not reused, while its stream has not reached the free."""
    spans = [(block.ptr, block.ptr + block.size) for blocks in segments for block in blocks if block.free]
    found = []
    for queue in list(device.queues):
        for address, (number, nbytes) in sorted(queue.freed.items()):
            pending = len(queue.pending(number))
            parts = ((max(start, address), min(end, address + nbytes)) for start, end in spans if pending)
            found += [DeferredFree(low, high - low, stream_name(queue), pending) for low, high in parts if low < high]
    return tuple(found)


def _segment(allocator: Allocator, blocks: list[Block], uses: _Places, deferred: _Places) -> SegmentFacts:
    found = []
    for block in blocks:
        storages = uses.inside(block.ptr, block.size) if not block.free else ()
        state = "free" if block.free else "in use" if storages else "workspace"
        if not block.free and block.ptr not in allocator.live:
            state = "waiting"
        late = sum(free.bytes for free in deferred.inside(block.ptr, block.size)) if block.free else 0
        found.append(BlockFacts(block.ptr, block.size, block.requested if state in ("in use", "workspace") else 0,
                                stream_name(block.queue), state, storages, late))
    return SegmentFacts(blocks[0].segment, sum(block.bytes for block in found), tuple(found))
