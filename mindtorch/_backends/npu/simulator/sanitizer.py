"""The sanitizer: finds mistakes in a program's use of the device, and reports the operator and the line.

It looks at every call when the call is made, on the caller's thread, and never at what the workers do meanwhile: what
it reports depends on the program alone, not on luck. The kinds of mistake:

use-after-free        memory is used after it was given back
out-of-bounds         a tensor or copy reaches beyond its block, or beyond the storage that its descriptor names
uninitialised-read    bytes are read that nothing has written since they were allocated
freed-while-pending   memory is given back that queued work needs, and the host has not waited for that
race                  two streams, or a stream and the host, use the same bytes, one of them writes, and neither runs
                      after the other: ``clocks.py`` has the rules of what runs after what
destroyed-handle      a handle is used after it was destroyed, or changed between the phases of a call
leaked-handle         a handle was never destroyed
host-pointer          a host pointer where a device pointer belongs, or the other way round
"""
from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

import numpy as np

from ...._base.call_site import call_site, place_of
from . import handles, watch
from .clocks import Clock, Clocks, join
from .descriptors import AclTensor
from .devices import Device, machine
from .executors import AclOpExecutor, Launch
from .memory import Block, Memory, reserve
from .streams import Stream

if TYPE_CHECKING:
    from .transfers import Place

KINDS = ("use-after-free", "out-of-bounds", "uninitialised-read", "freed-while-pending", "race", "destroyed-handle",
         "leaked-handle", "host-pointer")
#: Operators that write only a part of their ``ref`` and read nothing of it: what they leave alone may be unwritten.
WRITE_A_PART = {"aclnnInplaceMaskedFillScalar", "aclnnInplaceMaskedFillTensor", "aclnnInplaceMaskedScatter",
                "aclnnInplaceIndexCopy", "aclnnInplaceScatter", "aclnnInplaceScatterValue", "aclnnInplacePut",
                "aclnnIndexPutImpl"}
#: How much is remembered: reports, freed blocks, ranges of bytes that a stream uses of a block, steps of exact overlap.
REPORTS, FREED, RANGES, OVERLAP_STEPS = 1000, 1024, 4096, 10_000


class Access(NamedTuple):
    """A use of bytes: the stream's handle (None: host), operator, line, whether it writes, time in ns."""

    stream: int | None
    operator: str
    site: str
    writes: bool
    time: int


class Race(NamedTuple):
    """Two uses of the same bytes, in the order of their calls, and which bytes: the first one's address, how many."""

    first: Access
    second: Access
    address: int
    bytes: int


@dataclass(frozen=True)
class Report:
    """A mistake: its kind, the operator or call, a description, the line, and the two uses of a race."""

    kind: str
    operator: str
    message: str
    site: str
    race: Race | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.operator} at {self.site}: {self.message}"


class Use(NamedTuple):
    """Who used some bytes: the operator, where and when it was called, and as which task of its stream."""

    task: int
    operator: str
    site: str
    time: int


#: Bytes that are used: first, end, whether written; unless all are used, shape, strides and address of the elements.
Range = tuple[int, int, bool, Any]


def site() -> str:
    """Where the program calls from."""
    return place_of(*call_site()[:2])


class Sanitizer:
    """One that is at work while it is ``watch.active``. Thread-safe."""

    def __init__(self) -> None:
        self.reports: deque[Report] = deque(maxlen=REPORTS)
        self._lock = threading.RLock()
        self._clocks = Clocks()
        self._ended: WeakSet[Stream] = WeakSet()
        self._shadows: dict[int, tuple[Memory, np.ndarray]] = {}
        self._freed: deque[tuple[int, int, str]] = deque(maxlen=FREED)
        self._made: dict[int, str] = {}
        self._labels: dict[int, str] = {}  #: what the streams are called, by their keys
        self._pinned: list[tuple[int, int, int, Use]] = []  #: host memory that streams copy: first, end, stream

    def report(self, kind: str, operator: str, message: str, where: str | None = None,
               race: Race | None = None) -> None:
        """Remember a mistake."""
        self.reports.append(Report(kind, operator, message, where or site(), race))

    # -- order ---------------------------------------------------------------------------------------------------------

    def clock_of(self, stream: Stream) -> Clock:
        with self._lock:
            return dict(self._clock(stream))

    def reached(self, clock: Clock) -> None:
        with self._lock:
            self._clocks.host_reached(clock)

    def waits(self, stream: Stream, clock: Clock) -> None:
        with self._lock:
            join(self._clock(stream), clock)

    def ended(self, stream: Stream) -> None:
        with self._lock:
            self._clocks.host_reached(self._clocks.of(stream.key))
            self._clocks.forget(stream.key)
            self._ended.add(stream)

    def _clock(self, stream: Stream) -> Clock:
        """Return the clock of a stream's next task. A stream that another thread destroyed in the middle of a call
        refuses the task: the clock is then kept by no stream, and nothing counts as pending on it.
        """
        return {**self._clocks.host, stream.key: 0} if stream in self._ended else self._clocks.of(stream.key)

    def _tick(self, stream: Stream) -> Clock:
        """Count a task that is queued on a stream. Returns the clock that it runs at."""
        self._labels[stream.key] = str(stream).removesuffix(f" of device {stream.device.number}")
        clock = self._clock(stream)
        clock[stream.key] += 1
        return clock

    # -- handles -------------------------------------------------------------------------------------------------------

    def handle_made(self, handle: int, thing: Any) -> None:
        self._made[handle] = site()

    def handle_destroyed(self, handle: int, thing: Any) -> None:
        self._made.pop(handle, None)
        if thing.__class__ is AclTensor:
            thing.gone = f"was destroyed, at {site()},"

    def tensor_moved(self, tensor: AclTensor) -> None:
        tensor.gone = f"was given another address, at {site()},"

    def look_for_leaks(self, objects: dict[int, Any], kinds: tuple[type, ...] | None = None) -> None:
        """Report the handles that are left, of these classes or of all, each once."""
        for handle, thing in list(objects.items()):
            made = self._made.get(handle)
            if made is not None and (kinds is None or thing.__class__ in kinds):
                del self._made[handle]
                operator = thing.operator.name if thing.__class__ is AclOpExecutor else thing.label
                self.report("leaked-handle", operator, f"the {thing.label} {handle:#x} was not destroyed", made)

    # -- memory --------------------------------------------------------------------------------------------------------

    def allocated(self, memory: Memory, block: Block) -> None:
        with self._lock:
            self._written(memory)[block.start - memory.base : block.end - memory.base] = False

    def freed(self, block: Block) -> None:
        """Memory was given back: was anything left that needs it?"""
        where = site()
        with self._lock:
            self._freed.append((block.start, block.end, where))
            for number, ranges in block.accesses.items():
                last = max((use for use in ranges.values() if self._is_pending(number, use)), default=None)
                if last is not None:
                    self.report("freed-while-pending", last.operator, "memory that it needs on "
                                f"{self._labels[number]} was given back; it was called at {last.site}", where)

    def host_freed(self, address: int, size: int) -> None:
        """Pinned memory was given back: was any copy left that needs it?"""
        with self._lock:
            for low, high, number, use in self._pinned:
                if low < address + size and address < high and self._is_pending(number, use):
                    self.report("freed-while-pending", use.operator, "pinned memory that it copies on "
                                f"{self._labels[number]} was given back; it was called at {use.site}")

    def _is_pending(self, number: int, use: Use) -> bool:
        """Return whether the host has not waited for a task of a stream."""
        return not self._clocks.knows(self._clocks.host, number, use.task)

    def mistake_at(self, address: int) -> tuple[str, str]:
        """Return the kind of mistake and words for the use of an address where nothing is allocated."""
        with self._lock:
            for low, high, where in reversed(self._freed):
                if low <= address < high:
                    return "use-after-free", f"which was given back at {where}"
        return "out-of-bounds", "where nothing is allocated"

    def _written(self, memory: Memory) -> np.ndarray:
        """Return a bool a byte of a memory: whether it was written; earlier blocks count as written."""
        found = self._shadows.get(memory.base)
        if found is None or found[0] is not memory:
            shadow = np.frombuffer(reserve(memory.top - memory.base), bool)
            for block in memory.blocks():
                shadow[block.start - memory.base : block.end - memory.base] = True
            self._shadows = {base: pair for base, pair in self._shadows.items() if pair[0].base == base}
            found = self._shadows[memory.base] = memory, shadow
        return found[1]

    # -- operators -----------------------------------------------------------------------------------------------------

    def launch(self, stream: Stream, launch: Launch) -> None:
        """Check an operator that is queued."""
        name = launch.operator.name
        with self._lock:
            clock = self._tick(stream)
            use = Use(clock[stream.key], name, site(), perf_counter_ns())
            written = []
            for what, tensor, reads, writes in _operands(launch):
                if tensor.gone is not None:
                    self.report("destroyed-handle", name, f"{what} {tensor.gone} before the second phase")
                place = self._place(stream.device, name, what, tensor) if tensor.numel else None
                if place is None:
                    continue
                memory, block = place
                low, high = tensor.extent()
                if reads and not _bytes_of(tensor, low, high, memory, self._written(memory)).all():
                    self.report("uninitialised-read", name, f"{what} holds bytes that nothing has written")
                if writes:
                    written.append((tensor, low, high, memory))
                gaps = not _is_dense(tensor, low, high)
                layout = (tensor.shape, tensor.strides, tensor.address, tensor.dtype) if gaps else None
                self._access(block, (low, high, writes, layout), stream.key, clock, use, what)
            for tensor, low, high, memory in written:
                _bytes_of(tensor, low, high, memory, self._written(memory))[...] = True
            if launch.workspace is not None:
                self._use_workspace(stream, launch.workspace, clock, use)

    def _use_workspace(self, stream: Stream, workspace: tuple[int, int], clock: Clock, use: Use) -> None:
        address, size = workspace
        block = stream.device.memory.block_at(address)
        if block is None or address + size > block.end:
            beyond = "out-of-bounds", "which is more than is allocated"
            kind, words = beyond if block is not None else self.mistake_at(address)
            self.report(kind, use.operator, f"workspace is {size} bytes at {address:#x}, {words}")
            return
        self._access(block, (address, address + size, True, None), stream.key, clock, use, "workspace")

    def _place(self, device: Device, name: str, what: str, tensor: AclTensor) -> tuple[Memory, Block] | None:
        """Return the memory and the block that a tensor lies in."""
        owner = machine.owner(tensor.data)
        if owner is None:
            self.report("host-pointer", name, f"{what} has its data at {tensor.data:#x}, which is not device memory")
            return None
        if owner is not device and owner.number not in device.peers:
            self.report("out-of-bounds", name,
                        f"{what} is in memory of device {owner.number}, the stream is one of {device.number}")
            return None
        block = owner.memory.block_at(tensor.data)
        if block is None:
            kind, words = self.mistake_at(tensor.data)
            self.report(kind, name, f"{what} has its data at {tensor.data:#x}, {words}")
            return None
        low, high = tensor.extent()
        storage_end = tensor.data + prod(tensor.storage) * tensor.dtype.itemsize if tensor.storage else block.end
        if low < max(block.start, tensor.data) or high > min(block.end, storage_end):
            self.report("out-of-bounds", name, f"{what} reaches from byte {low - tensor.data} to {high - tensor.data} "
                        f"of a storage of {storage_end - tensor.data} bytes in a block of {block.size}")
            return None
        return owner.memory, block

    # -- copies and fills ----------------------------------------------------------------------------------------------

    def transfer(self, stream: Stream | None, call: str, target: Place | None, origin: Place | None, size: int,
                 host: tuple[int, int] = (0, 0)) -> None:
        """Check a copy or fill that is queued or, without a stream, done at once."""
        if not size:
            return
        with self._lock:
            number = None if stream is None else stream.key
            clock = self._clocks.host if stream is None else self._tick(stream)
            use = Use(0 if number is None else clock[number], call, site(), perf_counter_ns())
            read: Any = True
            if origin is not None:
                device, block, address = origin
                read = self._written(device.memory)[address - device.memory.base :][:size]
                if target is None and not read.all():
                    self.report("uninitialised-read", call, f"{size} bytes at {address:#x} are not all written")
                self._access(block, (address, address + size, False, None), number, clock, use, "src")
            if target is not None:
                device, block, address = target
                self._written(device.memory)[address - device.memory.base :][:size] = read
                self._access(block, (address, address + size, True, None), number, clock, use, "dst")
            if number is not None:
                self._pinned = [entry for entry in self._pinned if self._is_pending(*entry[2:])][-RANGES:]
                self._pinned += [(address, address + size, number, use) for address, place
                                 in zip(host, (target, origin), strict=True) if address and place is None]

    # -- races ---------------------------------------------------------------------------------------------------------

    def _access(self, block: Block, range: Range, number: int | None, clock: Clock, use: Use, what: str) -> None:
        """Note a stream's or the host's (None) use of bytes; later work runs after the host's anyway."""
        for other in [other for other in block.accesses if other != number]:
            self._meet(block, other, range, number, clock, use, what)
        if number is not None:
            ranges = block.accesses.setdefault(number, {})
            ranges.pop(range, None)  # the newest one last
            ranges[range] = use
            if len(ranges) > RANGES:
                del ranges[next(iter(ranges))]

    def _meet(self, block: Block, other: int, range: Range, number: int | None, clock: Clock, use: Use,
              what: str) -> None:
        """Compare with what one other stream does to the block."""
        ranges, clocks = block.accesses[other], self._clocks
        low, high, writes, layout = range
        if not any(self._is_pending(other, before) for before in ranges.values()):
            del block.accesses[other]  # all that comes runs after it
            return
        for (first, end, wrote, other_layout), before in ranges.items():
            if first >= high or low >= end or not (writes or wrote) or clocks.knows(clock, other, before.task):
                continue
            if (layout or other_layout) and not _overlap((low, high, layout), (first, end, other_layout)):
                continue
            who = "the host" if number is None else self._labels[number]
            does, did = "written" if writes else "read", "writes" if wrote else "reads"
            self.report("race", use.operator, f"{what} is {does} by {who}, while {before.operator}, called at "
                        f"{before.site}, {did} it on {self._labels[other]}: nothing makes one wait for the other",
                        race=Race(_accessed(other, before, wrote), _accessed(number, use, writes), max(low, first),
                                  min(high, end) - max(low, first)))
            return


def _accessed(number: int | None, use: Use, writes: bool) -> Access:
    """Describe a use of bytes by a stream, whose number is known, or by the host."""
    live = list(handles.objects.items())
    stream = next((handle for handle, thing in live if thing.__class__ is Stream and thing.key == number), None)
    return Access(stream, use.operator, use.site, writes, use.time)


def _operands(launch: Launch) -> Iterator[tuple[str, AclTensor, bool, bool]]:
    """Yield the tensors of an operator: name, descriptor, whether it is read, whether it is written."""
    partly = launch.operator.name in WRITE_A_PART
    for parameter, value, writes in zip(launch.operator.parameters, launch.values, launch.operator.writes, strict=True):
        reads = parameter.kind not in ("out", "outs") and not (partly and writes)
        if value.__class__ is AclTensor:
            yield parameter.name, value, reads, writes
        elif value.__class__ is list:
            yield from ((f"{parameter.name}[{i}]", item, reads, writes) for i,
                        item in enumerate(value) if item is not None)


def _is_dense(tensor: AclTensor, low: int, high: int) -> bool:
    """Return whether the elements are all the bytes of their extent."""
    return high - low == tensor.numel * tensor.dtype.itemsize and 0 not in tensor.strides


def _bytes_of(tensor: AclTensor, low: int, high: int, memory: Memory, shadow: np.ndarray) -> np.ndarray:
    """Return the part of a memory's shadow that belongs to a tensor's elements."""
    if _is_dense(tensor, low, high):
        return shadow[low - memory.base : high - memory.base]
    size = tensor.dtype.itemsize
    return np.ndarray((*tensor.shape, size), bool, shadow, tensor.address - memory.base, (*tensor.strides, 1))


def _overlap(one: tuple[int, int, Any], other: tuple[int, int, Any]) -> bool:
    """Return whether two sets of elements with gaps share a byte; False where that takes too long to decide."""
    base = min(one[0], other[0])
    room = np.empty(0, np.uint8)
    space = np.lib.stride_tricks.as_strided(room, (max(one[1], other[1]) - base,), (1,))  # never touched

    def view(low: int, high: int, layout: Any) -> np.ndarray:
        if layout is None:
            return space[low - base : high - base]
        shape, strides, address, dtype = layout
        at = space[address - base :][: dtype.itemsize].view(dtype)
        return np.lib.stride_tricks.as_strided(at[:1], shape, strides)

    try:
        return bool(np.shares_memory(view(*one), view(*other), max_work=OVERLAP_STEPS))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return False


def switch(on: bool) -> None:
    """Start a new sanitizer, or stop the one at work. A new one counts tasks anew: what was noted before goes."""
    if on != (watch.active is not None):
        for device in machine.devices:
            for block in device.memory.blocks():
                block.accesses.clear()
        watch.active = Sanitizer() if on else None
