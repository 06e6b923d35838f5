"""HCCL (hccl/hccl.h): collectives of simulated devices, as tasks of streams.

A communicator connects ranks, each a device with a thread or a process of its own. All ranks call the same function;
it returns when the task is in the stream, and the stream goes on when its rank has what it needs of the others. What
does not match there is an error of the stream, which a synchronisation reports.

Ranks of one process meet here. Those of several processes are connected by a ``Carrier``, which whoever connects
processes puts into ``carriers`` under the name that the root's ``HcclRootInfo`` has.
"""
from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any, Protocol

import numpy as np

from ...._dtype import dtype_named
from ..constants import ACL_ERROR_RT_INTERNAL_ERROR, HCCL_DATA_TYPES, HCCL_ROOT_INFO_BYTES
from . import handles, watch
from .descriptors import declared
from .devices import stream_of
from .errors import Fault
from .streams import Call, Stream
from .transfers import place_of

# HcclResult
E_PARA, E_PTR, E_NOT_SUPPORT = 1, 2, 5
#: The runtime's codes for a task of a collective that ends badly, or not at all.
ACL_ERROR_RT_TASK_TIMEOUT = 107020
SUM, PROD, MAX, MIN = range(4)
REDUCTIONS = {SUM: np.add, PROD: np.multiply, MAX: np.maximum, MIN: np.minimum}
DTYPES = {code: name for name, code in HCCL_DATA_TYPES.items()}
REDUCED = frozenset({"int8", "int16", "int32", "int64", "float16", "float32", "bfloat16"})  #: dtypes of reductions
SECONDS = 1836.0  #: that a rank waits for the others: what HCCL_EXEC_TIMEOUT is by default


class Carrier(Protocol):
    """A connection of ranks, which carries each one's bytes to the others."""

    def task(self, call: str) -> Callable[[np.ndarray], Sequence[np.ndarray]]:
        """Return this call's task: it sends this rank's bytes, waits for all ranks', and faults if calls differ."""

    def send(self, given: np.ndarray, rank: int) -> None:
        """Send bytes to a rank."""

    def receive(self, size: int, rank: int) -> np.ndarray:
        """So many bytes from a rank. Raises Fault if it sends another number."""


#: Carriers between processes: by the name in the root information, a function of the number of ranks and one's own.
carriers: dict[str, Callable[[int, int], Carrier]] = {}


class Meeting:
    """The ranks of one process: what each has given, by call."""

    def __init__(self, size: int):
        self.size = size
        self.given: dict[int, dict[int, tuple[str, np.ndarray]]] = {}  #: by the number of the call, and rank
        self.left: dict[int, int] = {}
        self.letters: dict[tuple[int, int], list[np.ndarray]] = {}
        self.changed = threading.Condition()


class Member:
    """A rank of a ``Meeting``: the carrier within a process."""

    def __init__(self, meeting: Meeting, rank: int):
        self.meeting, self.rank, self.calls = meeting, rank, count()

    def task(self, call: str) -> Callable[[np.ndarray], Sequence[np.ndarray]]:
        return partial(self._meet, call)

    def _meet(self, call: str, given: np.ndarray) -> Sequence[np.ndarray]:
        number, meeting = next(self.calls), self.meeting
        with meeting.changed:
            table = meeting.given.setdefault(number, {})
            table[self.rank] = call, given
            meeting.changed.notify_all()
            missing = [other for other in range(meeting.size) if other not in table]
            self._wait(lambda: len(table) == meeting.size, f"{call}: not all of ranks {missing} made this call")
            meeting.left[number] = meeting.left.get(number, 0) + 1
            if meeting.left[number] == meeting.size:  # the last one to look clears away
                del meeting.given[number], meeting.left[number]
        if len({said for said, _ in table.values()}) > 1:
            raise Fault(ACL_ERROR_RT_INTERNAL_ERROR, "the ranks do not make the same call: " + "; ".join(
                f"rank {rank}: {said}" for rank, (said, _) in sorted(table.items())))
        return [table[rank][1] for rank in range(meeting.size)]

    def send(self, given: np.ndarray, rank: int) -> None:
        with self.meeting.changed:
            self.meeting.letters.setdefault((self.rank, rank), []).append(given)
            self.meeting.changed.notify_all()

    def receive(self, size: int, rank: int) -> np.ndarray:
        with self.meeting.changed:
            queue = self.meeting.letters.setdefault((rank, self.rank), [])
            self._wait(lambda: bool(queue), f"HcclRecv: rank {rank} did not send")
            found = queue.pop(0)
        if found.size != size:
            raise Fault(ACL_ERROR_RT_INTERNAL_ERROR, f"HcclRecv: rank {rank} sends {found.size} bytes, not {size}")
        return found

    def _wait(self, condition: Callable[[], bool], late: str) -> None:
        if not self.meeting.changed.wait_for(condition, SECONDS):
            raise Fault(ACL_ERROR_RT_TASK_TIMEOUT, late)


class HcclComm:
    """A communicator: one rank of so many."""

    label = "HcclComm"

    def __init__(self, size: int, rank: int, name: str, carrier: Carrier):
        self.size, self.rank, self.name, self.carrier = size, rank, name, carrier


_meetings: dict[str, tuple[Meeting, set[int]]] = {}
_names = count()
_lock = threading.Lock()


def _comm(handle: int | None) -> HcclComm:
    return handles.get(handle, HcclComm, E_PARA)


def _pointer(what: str, address: int | None) -> int:
    if not address:
        raise Fault(E_PTR, f"{what} is null")
    return address


@declared("HcclResult HcclGetRootInfo(HcclRootInfo*)")
def get_root_info(info: int | None) -> int:
    """Write a new communicator's name, which the root gives to all ranks."""
    name = f"hccl-{os.getpid()}-{next(_names)}".encode()
    place = _pointer("HcclGetRootInfo: rootInfo", info)
    ctypes.memset(place, 0, HCCL_ROOT_INFO_BYTES)
    ctypes.memmove(place, name, len(name))
    return 0


@declared("HcclResult HcclCommInitRootInfo(uint32_t, HcclRootInfo*, uint32_t, HcclComm*)")
def comm_init_root_info(size: int, info: int | None, rank: int, comm: Any) -> int:
    """Join the ranks that have the same root information."""
    name = ctypes.string_at(_pointer("HcclCommInitRootInfo: rootInfo", info)).decode()
    if not comm:
        raise Fault(E_PTR, "HcclCommInitRootInfo: comm is null")
    if not rank < size:
        raise Fault(E_PARA, f"HcclCommInitRootInfo: rank {rank} of {size}")
    if (make := carriers.get(name)) is not None:
        carrier = make(size, rank)
    else:
        with _lock:
            meeting, ranks = _meetings.setdefault(name, (Meeting(size), set()))
            if meeting.size != size or rank in ranks:
                raise Fault(E_PARA, f"HcclCommInitRootInfo: rank {rank} of {size} does not fit to the ranks that are "
                                    f"there: {sorted(ranks)} of {meeting.size}")
            ranks.add(rank)
            if len(ranks) == size:
                del _meetings[name]
        carrier = Member(meeting, rank)
    comm[0] = handles.add(HcclComm(size, rank, name, carrier))
    return 0


@declared("HcclResult HcclCommDestroy(HcclComm)")
def comm_destroy(comm: int | None) -> int:
    handles.remove(comm, HcclComm, E_PARA)
    return 0


@declared("HcclResult HcclGetRankSize(HcclComm, uint32_t*)")
def get_rank_size(comm: int | None, size: Any) -> int:
    size[0] = _comm(comm).size
    return 0


@declared("HcclResult HcclGetRankId(HcclComm, uint32_t*)")
def get_rank_id(comm: int | None, rank: Any) -> int:
    rank[0] = _comm(comm).rank
    return 0


@declared("HcclResult HcclGetCommName(HcclComm, char*)")
def get_comm_name(comm: int | None, name: Any) -> int:
    text = _comm(comm).name.encode() + b"\0"
    ctypes.memmove(name, text, len(text))
    return 0


class _Side:
    """Elements in a device's memory that a collective reads (or, if it ``writes``, overwrites)."""

    def __init__(self, call: str, stream: Stream, address: int | None, elements: int, code: int, writes: bool = False):
        if code not in DTYPES:
            raise Fault(E_NOT_SUPPORT, f"{call}: HcclDataType {code} is not supported")
        self.dtype = dtype_named(DTYPES[code]).np
        self.start, self.elements, self.stream = _pointer(f"{call}: a buffer", address), elements, stream
        size = elements * self.dtype.itemsize
        try:
            place = place_of(call, self.start, size, "a buffer", True)
        except Fault as fault:
            raise Fault(E_PARA, fault.message, fault.mistake) from None
        if place is None or place[0] is not stream.device:
            raise Fault(E_PARA, f"{call}: {self.start:#x} is not memory of device {stream.device.number}")
        if watch.active is not None:
            watch.active.transfer(stream, call, place if writes else None, None if writes else place, size)

    def array(self) -> np.ndarray:
        memory = self.stream.device.memory
        assert memory.writable is not None
        return np.frombuffer(memory.writable, self.dtype, self.elements, self.start - memory.base)

    def bytes(self) -> np.ndarray:
        """Return a copy, as bytes."""
        return self.array().copy().view(np.uint8)


def _enqueue(name: str, comm: HcclComm, stream: Stream, call: str, read: _Side | None,
             finish: Callable[[Sequence[np.ndarray]], None]) -> int:
    """Put into a stream that a rank gives what it reads to all others, and then does something with what all gave."""
    nothing, task = np.empty(0, np.uint8), comm.carrier.task(call)

    def run() -> None:
        finish(task(nothing if read is None else read.bytes()))

    stream.submit(Call(name, run))
    return 0


def _described(name: str, code: int, elements: int, *more: str) -> str:
    return f"{name}({', '.join([f'{DTYPES.get(code, code)}[{elements}]', *more])})"


def _reduced(name: str, code: int, op: int) -> Callable[[Sequence[np.ndarray]], np.ndarray]:
    """Return a function that reduces all ranks' arrays, in the order of ranks."""
    if op not in REDUCTIONS or DTYPES.get(code) not in REDUCED:
        raise Fault(E_NOT_SUPPORT, f"{name}: HcclReduceOp {op} of HcclDataType {code} is not supported")
    function = REDUCTIONS[op]

    def reduce(parts: Sequence[np.ndarray]) -> np.ndarray:
        out = parts[0].copy()
        for part in parts[1:]:
            function(out, part, out=out)
        return out

    return reduce


@declared("HcclResult HcclAllReduce(void*, void*, uint64_t, HcclDataType, HcclReduceOp, HcclComm, aclrtStream)")
def all_reduce(send: int | None, recv: int | None, elements: int, code: int, op: int, comm: int | None,
               stream: int | None) -> int:
    group, queue, name = _comm(comm), stream_of(stream), "HcclAllReduce"
    reduce = _reduced(name, code, op)
    read, write = _Side(name, queue, send, elements, code), _Side(name, queue, recv, elements, code, writes=True)

    def finish(parts: Sequence[np.ndarray]) -> None:
        write.array()[...] = reduce([part.view(read.dtype) for part in parts])

    return _enqueue(name, group, queue, _described(name, code, elements, f"op {op}"), read, finish)


@declared("HcclResult HcclBroadcast(void*, uint64_t, HcclDataType, uint32_t, HcclComm, aclrtStream)")
def broadcast(buf: int | None, elements: int, code: int, root: int, comm: int | None, stream: int | None) -> int:
    group, queue, name = _comm(comm), stream_of(stream), "HcclBroadcast"
    if root >= group.size:
        raise Fault(E_PARA, f"{name}: root {root} of {group.size}")
    side = _Side(name, queue, buf, elements, code, writes=group.rank != root)

    def finish(parts: Sequence[np.ndarray]) -> None:
        if group.rank != root:
            side.array()[...] = parts[root].view(side.dtype)

    return _enqueue(name, group, queue, _described(name, code, elements, f"root {root}"),
                    side, finish)


@declared("HcclResult HcclAllGather(void*, void*, uint64_t, HcclDataType, HcclComm, aclrtStream)")
def all_gather(send: int | None, recv: int | None, elements: int, code: int, comm: int | None,
               stream: int | None) -> int:
    group, queue, name = _comm(comm), stream_of(stream), "HcclAllGather"
    read = _Side(name, queue, send, elements, code)
    write = _Side(name, queue, recv, elements * group.size, code, writes=True)

    def finish(parts: Sequence[np.ndarray]) -> None:
        write.array()[...] = np.concatenate([part.view(read.dtype) for part in parts])

    return _enqueue(name, group, queue, _described(name, code, elements), read, finish)


@declared("HcclResult HcclReduceScatter(void*, void*, uint64_t, HcclDataType, HcclReduceOp, HcclComm, aclrtStream)")
def reduce_scatter(send: int | None, recv: int | None, elements: int, code: int, op: int, comm: int | None,
                   stream: int | None) -> int:
    group, queue, name = _comm(comm), stream_of(stream), "HcclReduceScatter"
    reduce = _reduced(name, code, op)
    read = _Side(name, queue, send, elements * group.size, code)
    write = _Side(name, queue, recv, elements, code, writes=True)

    def finish(parts: Sequence[np.ndarray]) -> None:
        first = elements * group.rank
        write.array()[...] = reduce([part.view(read.dtype)[first:first + elements] for part in parts])

    return _enqueue(name, group, queue, _described(name, code, elements, f"op {op}"), read, finish)


@declared("HcclResult HcclBarrier(HcclComm, aclrtStream)")
def barrier(comm: int | None, stream: int | None) -> int:
    group, queue = _comm(comm), stream_of(stream)
    return _enqueue("HcclBarrier", group, queue, "HcclBarrier()", None, lambda parts: None)


def _peer(name: str, group: HcclComm, rank: int) -> None:
    if rank >= group.size or rank == group.rank:
        raise Fault(E_PARA, f"{name}: rank {rank} is not another one of {group.size}")


@declared("HcclResult HcclSend(void*, uint64_t, HcclDataType, uint32_t, HcclComm, aclrtStream)")
def send(buf: int | None, elements: int, code: int, rank: int, comm: int | None, stream: int | None) -> int:
    group, queue = _comm(comm), stream_of(stream)
    _peer("HcclSend", group, rank)
    side = _Side("HcclSend", queue, buf, elements, code)
    queue.submit(Call("HcclSend", lambda: group.carrier.send(side.bytes(), rank)))
    return 0


@declared("HcclResult HcclRecv(void*, uint64_t, HcclDataType, uint32_t, HcclComm, aclrtStream)")
def receive(buf: int | None, elements: int, code: int, rank: int, comm: int | None, stream: int | None) -> int:
    group, queue = _comm(comm), stream_of(stream)
    _peer("HcclRecv", group, rank)
    side = _Side("HcclRecv", queue, buf, elements, code, writes=True)

    def run() -> None:
        side.array()[...] = group.carrier.receive(elements * side.dtype.itemsize, rank).view(side.dtype)

    queue.submit(Call("HcclRecv", run))
    return 0
