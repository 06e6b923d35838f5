"""The collectives: a row each, and how a row becomes a work."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from ..._tensor import Tensor
from . import groups, hccl
from .buffers import Buffer, reduction
from .engine import Steps, Work
from .groups import ProcessGroup
from .headers import agree
from .reduce_op import ReduceOp


class Arguments(NamedTuple):
    """Arguments of a row's MPI call."""

    give: Any
    take: Any
    op: Any
    root: int | None
    at_root: bool
    in_place: Any


class Row(NamedTuple):
    """The MPI call, its arguments; and the bytes that each of ``p`` ranks sends, on average, if the largest buffer of
    the call has ``n`` bytes and goes round a ring.
    """

    call: str
    arguments: Callable[[Arguments], list[Any]]
    traffic: Callable[[int, int], float] = lambda n, p: n * (p - 1) / p


ROWS = {
    "barrier": Row("Ibarrier", lambda a: []),
    "broadcast": Row("Ibcast", lambda a: [a.take, a.root]),
    "all_reduce": Row("Iallreduce", lambda a: [a.in_place, a.take, a.op], lambda n, p: 2 * n * (p - 1) / p),
    "reduce": Row("Ireduce", lambda a: [a.in_place, a.take, a.op, a.root] if a.at_root else
                  [a.take, None, a.op, a.root]),
    "all_gather": Row("Iallgather", lambda a: [a.give, a.take]),
    "gather": Row("Igather", lambda a: [a.give, a.take, a.root]),
    "scatter": Row("Iscatter", lambda a: [a.give, a.take, a.root]),
    "reduce_scatter": Row("Ireduce_scatter_block", lambda a: [a.give, a.take, a.op]),
    "all_to_all": Row("Ialltoallv", lambda a: [a.give, a.take]),
}


def run(name: str, group: ProcessGroup, give: Sequence[Tensor] = (), take: Sequence[Tensor] = (), *, of: str = "",
        op: ReduceOp | None = None, root: int | None = None, counts: tuple[list[int], list[int]] | None = None,
        filled: bool = False, async_op: bool = False) -> Work | None:
    """Make a collective.

    Args:
        give, take: the tensors sent and received; a tensor changed in place is only in ``take``, and ``filled``.
        of: text that must be equal in all ranks.
        root: the rank in the group that gives or takes for all.
        counts: the number of elements sent to and received from each rank.
        async_op: return the work instead of waiting for it.
    """
    row = ROWS[name]
    for tensor in (*give, *take):
        if tensor.device.type not in group.devices():
            raise RuntimeError(f"No backend type associated with device type {tensor.device.type}: the group's backend "
                               f"is {group.backend}")
    details = [op.name] if op is not None else []
    details += [of] if of else []
    details += [f"root {group.ranks[root]}"] if root is not None else []
    call, place = f"{name}({', '.join(details)})", groups.calling_line()
    if hccl.takes(name, group, give, take, op):
        _count(name, group, max(tensor.numel() * tensor.element_size() for tensor in (*give, *take)))
        return hccl.begin(name, group, give, take[0], op, root, call, place, async_op)
    given = Buffer(give) if give else None
    taken = Buffer(take, filled) if take else None
    if given is not None and taken is not None:
        given = given.apart_from(taken)

    def steps(work: Work) -> Steps:
        from mpi4py import MPI

        yield from agree(group, work, counts)
        work.times["met"] = work.times["begun"] if group.size() == 1 else perf_counter()
        arguments = Arguments(
            given and given.message(counts and counts[0]), taken and taken.message(counts and counts[1]),
            op and taken and reduction(op, taken.dtype), root, root == group.rank(), MPI.IN_PLACE)
        yield [(None, getattr(group.comm, row.call)(*row.arguments(arguments)))]

    def deliver() -> None:
        if taken is not None:
            taken.deliver()
        if op is ReduceOp.AVG and root in (None, group.rank()):
            for tensor in take:
                tensor.detach().div_(group.size())

    size = max(buffer.nbytes if buffer is not None else 0 for buffer in (given, taken))
    if name in ("gather", "scatter"):  # the buffer for all is at the root only
        size = min(buffer.nbytes for buffer in (given, taken) if buffer is not None) * group.size()
    _count(name, group, size)
    work = Work(call, place, group.seconds, steps, deliver)
    work.outputs = list(take)
    return start(group, work, group, async_op)


def _count(name: str, group: ProcessGroup, size: int) -> None:
    """Count a call whose largest buffer has so many bytes."""
    calls, sent = group.traffic.get(name, (0, 0.0))
    group.traffic[name] = (calls + 1, sent + ROWS[name].traffic(size, group.size()))


def start(lane: Any, work: Work, group: ProcessGroup, async_op: bool) -> Work | None:
    """Give a work to the engine, and wait for it unless the caller will."""
    groups.default_group()
    assert groups.engine is not None
    groups.engine.submit(lane, work)
    if async_op:
        return work
    work.wait()
    return None
