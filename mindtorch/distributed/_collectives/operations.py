"""The collectives and messages of ``torch.distributed``, as users call them.

All take ``group`` (None is the world), and all but messages ``async_op``: then they return a ``Work`` at once, and else
None when they are done. Ranks (``src``, ``dst``) are numbers in the world; ``group_src`` and ``group_dst`` are in the
group. In a process that is not in the group a call warns and does nothing.
"""
from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np

from ..._base.call_site import outside
from ..._dtype import NAMES
from ..._tensor import Tensor
from ..._tensor.printing import type_text
from .buffers import Buffer
from .engine import Steps, Work
from .errors import DistBackendError
from .groups import ProcessGroup, calling_line, get_group_rank, is_member, resolve
from .headers import HEADER, checks, header, read
from .reduce_op import ReduceOp
from .table import run, start

F = TypeVar("F", bound=Callable[..., Any])


def _for_members(function: F) -> F:
    """Warn, and do nothing, in a process that is not in the group."""
    position = list(inspect.signature(function).parameters).index("group")

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if is_member(kwargs["group"] if "group" in kwargs else args[position] if position < len(args) else None):
            return function(*args, **kwargs)
        warnings.warn(f"Running {function.__name__} on global rank {resolve(None).rank()} which does not belong to the "
                      "given group.", stacklevel=outside())
        return None

    return call  # type: ignore[return-value]


def _tensor(value: Any, name: str) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor but got "
                        f"{type(value)} instead.")
    return value


def _tensors(value: Any, name: str) -> Sequence[Tensor]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, Tensor) for item in value):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor] but got "
                        f"{type(value)} with elements of type {[type(item) for item in value] if value else []}.")
    return value


def _alike(parts: Sequence[Tensor], whole: Tensor, group: ProcessGroup, name: str) -> None:
    """Check that a list has a tensor for each rank, each like the one that goes there or comes from there."""
    if len(parts) != group.size():
        raise RuntimeError(f"{name} must have a tensor for each of {group.size()} ranks, not {len(parts)}")
    for index, part in enumerate(parts):
        if part.dtype != whole.dtype:
            raise ValueError(f"Invalid usage of tensors with different dtypes: found {whole.dtype} and {part.dtype}")
        if part.shape != whole.shape:
            raise RuntimeError(f"{name}: invalid tensor size at index {index} (expected {tuple(whole.shape)}, got "
                               f"{tuple(part.shape)})")


def _whole(parts: int, whole: Tensor, part: Tensor, name: str) -> None:
    """Check that a tensor is ``parts`` times the size of another."""
    if whole.dtype != part.dtype:
        raise ValueError(f"Invalid usage of tensors with different dtypes: found {whole.dtype} and {part.dtype}")
    if whole.numel() != parts * part.numel():
        raise RuntimeError(f"{name}: the larger tensor must have {parts} times the elements of the other, not "
                           f"{whole.numel()} for {part.numel()}")


def _reduces(call: str, op: Any, tensor: Tensor) -> ReduceOp:
    if not isinstance(op, ReduceOp):
        raise TypeError(f"op must be a ReduceOp, not {type(op).__name__}")
    if tensor.is_complex() and op not in (ReduceOp.SUM, ReduceOp.AVG):  # PyTorch has two errors for it
        kind = ValueError if call == "all_reduce" else RuntimeError
        raise kind(f"{call} does not support RedOpType.{op.name} on complex tensors")
    if op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR) and (tensor.is_floating_point() or tensor.is_complex()):
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")
    if op is ReduceOp.AVG and not (tensor.is_floating_point() or tensor.is_complex()):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {NAMES[tensor.dtype.name]}")
    return op


def _root(group: ProcessGroup, rank: int | None, group_rank: int | None, name: str) -> int:
    """Return a rank in the group, given as such or as a world rank."""
    if group_rank is not None:
        if rank is not None:
            raise ValueError(f"Can't specify both group_{name} and {name}")
        if not 0 <= group_rank < group.size():
            raise ValueError(f"Group rank {group_rank} is not part of group {group}")
        return group_rank
    if rank is None:
        raise ValueError(f"Must specify {name} or group_{name}")
    return get_group_rank(group, rank)


@_for_members
def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None) -> Any:
    """Wait until all ranks are here (``torch.distributed.barrier``)."""
    work = run("barrier", resolve(group), async_op=True)
    assert work is not None
    return work if async_op else (work.wait(timeout) and None)


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """Wait for all ranks; the error names missing ranks, as for every call here
    (``torch.distributed.monitored_barrier``).
    """
    barrier(group, timeout=timeout)


@_for_members
def broadcast(tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False,
              group_src: int | None = None) -> Work | None:
    """Give all ranks the source's tensor (``torch.distributed.broadcast``)."""
    group = resolve(group)
    return run("broadcast", group, take=[_tensor(tensor, "tensor")], of=type_text(tensor), filled=True,
               root=_root(group, src, group_src, "src"), async_op=async_op)


@_for_members
def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce the tensors of all ranks, in place, for all (``torch.distributed.all_reduce``)."""
    return run("all_reduce", resolve(group), take=[_tensor(tensor, "tensor")], of=type_text(tensor),
               op=_reduces("all_reduce", op, tensor), filled=True, async_op=async_op)


@_for_members
def reduce(tensor: Tensor, dst: int | None = None, op: ReduceOp = ReduceOp.SUM, group: Any = None,
           async_op: bool = False, group_dst: int | None = None) -> Work | None:
    """Reduce the tensors of all ranks, in place, for one rank; the other ranks' tensors keep their values
    (``torch.distributed.reduce``).
    """
    group = resolve(group)
    return run("reduce", group, take=[_tensor(tensor, "tensor")], of=type_text(tensor), filled=True, async_op=async_op,
               op=_reduces("reduce", op, tensor), root=_root(group, dst, group_dst, "dst"))


@_for_members
def all_gather(tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Give all ranks the tensors of all, of one shape (``torch.distributed.all_gather``)."""
    group = resolve(group)
    _alike(_tensors(tensor_list, "tensor_list"), _tensor(tensor, "tensor"), group, "all_gather")
    return run("all_gather", group, [tensor], tensor_list, of=type_text(tensor), async_op=async_op)


@_for_members
def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, group: Any = None,
                           async_op: bool = False) -> Work | None:
    """Give all ranks the tensors of all, one after another in one tensor
    (``torch.distributed.all_gather_into_tensor``).
    """
    group = resolve(group)
    _whole(group.size(), _tensor(output_tensor, "output_tensor"), _tensor(input_tensor, "input_tensor"),
           "all_gather_into_tensor")
    return run("all_gather", group, [input_tensor], [output_tensor], of=type_text(input_tensor), async_op=async_op)


@_for_members
def gather(tensor: Tensor, gather_list: Sequence[Tensor] | None = None, dst: int | None = None, group: Any = None,
           async_op: bool = False, group_dst: int | None = None) -> Work | None:
    """Give one rank the tensors of all (``torch.distributed.gather``); without ``dst`` that is rank 0."""
    group = resolve(group)
    root = _root(group, 0 if dst is None and group_dst is None else dst, group_dst, "dst")
    if (group.rank() == root) != bool(gather_list):
        raise ValueError("Argument ``gather_list`` must be specified on destination rank." if group.rank() == root else
                         "Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    if gather_list:
        _alike(_tensors(gather_list, "gather_list"), _tensor(tensor, "tensor"), group, "gather")
    return run("gather", group, [_tensor(tensor, "tensor")], gather_list or (), of=type_text(tensor), root=root,
               async_op=async_op)


@_for_members
def scatter(tensor: Tensor, scatter_list: Sequence[Tensor] | None = None, src: int | None = None, group: Any = None,
            async_op: bool = False, group_src: int | None = None) -> Work | None:
    """Give each rank one of the tensors of one (``torch.distributed.scatter``); without ``src`` those of rank 0."""
    group = resolve(group)
    root = _root(group, 0 if src is None and group_src is None else src, group_src, "src")
    if (group.rank() == root) != bool(scatter_list):
        raise ValueError("Argument ``scatter_list`` must be specified on source rank." if group.rank() == root else
                         "Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    if scatter_list:
        _alike(_tensors(scatter_list, "scatter_list"), _tensor(tensor, "tensor"), group, "scatter")
    return run("scatter", group, scatter_list or (), [_tensor(tensor, "tensor")], of=type_text(tensor), root=root,
               async_op=async_op)


@_for_members
def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None,
                   async_op: bool = False) -> Work | None:
    """Reduce lists of tensors of all ranks; each rank gets the tensor at its rank
    (``torch.distributed.reduce_scatter``).
    """
    group = resolve(group)
    _alike(_tensors(input_list, "input_list"), _tensor(output, "output"), group, "reduce_scatter")
    return run("reduce_scatter", group, input_list, [output], of=type_text(output), async_op=async_op,
               op=_reduces("reduce_scatter", op, output))


@_for_members
def reduce_scatter_tensor(output: Tensor, input: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None,
                          async_op: bool = False) -> Work | None:
    """Reduce tensors of all ranks; each rank gets its part (``torch.distributed.reduce_scatter_tensor``)."""
    group = resolve(group)
    _whole(group.size(), _tensor(input, "input"), _tensor(output, "output"), "reduce_scatter_tensor")
    return run("reduce_scatter", group, [input], [output], of=type_text(output), async_op=async_op,
               op=_reduces("reduce_scatter", op, output))


@_for_members
def all_to_all(output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None,
               async_op: bool = False) -> Work | None:
    """Send each rank a tensor, and receive one from each (``torch.distributed.all_to_all``)."""
    group = resolve(group)
    give, take = _tensors(input_tensor_list, "input_tensor_list"), _tensors(output_tensor_list, "output_tensor_list")
    if len({tensor.dtype for tensor in (*give, *take)}) != 1:
        raise ValueError("Invalid usage of tensors with different dtypes")
    if len(give) != group.size() or len(take) != group.size():
        raise ValueError(f"all_to_all needs a tensor for each of {group.size()} ranks")
    return run("all_to_all", group, give, take, of=str(give[0].dtype).removeprefix("torch."), async_op=async_op,
               counts=([tensor.numel() for tensor in give], [tensor.numel() for tensor in take]))


@_for_members
def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: Sequence[int] | None = None,
                      input_split_sizes: Sequence[int] | None = None, group: Any = None,
                      async_op: bool = False) -> Work | None:
    """Send each rank some rows of a tensor, and receive rows from each: as many as the split sizes say, or equal parts
    (``torch.distributed.all_to_all_single``).
    """
    group = resolve(group)
    if _tensor(output, "output").dtype != _tensor(input, "input").dtype:
        raise ValueError("Invalid usage of tensors with different dtypes")
    counts = _split(input, input_split_sizes, group, "input"), _split(output, output_split_sizes, group, "output")
    of = f"{str(input.dtype).removeprefix('torch.')}, rows {list(input.shape[1:])}"
    return run("all_to_all", group, [input], [output], of=of, counts=counts, async_op=async_op)


def _split(tensor: Tensor, sizes: Sequence[int] | None, group: ProcessGroup, name: str) -> list[int]:
    """Return the number of elements in each rank's rows."""
    rows = tensor.shape[0] if tensor.dim() else 1
    if not sizes:
        if rows % group.size():
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        sizes = [rows // group.size()] * group.size()
    if len(sizes) != group.size() or sum(sizes) != rows:
        raise RuntimeError(f"Split sizes doesn't match total dim 0 size: {name} has {rows} rows, sizes {list(sizes)}")
    return [size * (tensor.numel() // rows if rows else 0) for size in sizes]


def isend(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0,
          group_dst: int | None = None) -> Work | None:
    """Send a tensor to one rank (``torch.distributed.isend``); it may not be changed before the work is over."""
    if not is_member(group):
        return None
    group = resolve(group)
    to = _peer(group, dst, group_dst, "dst", "destination")
    buffer = Buffer([_tensor(tensor, "tensor")])
    call = f"send({type_text(tensor)}, to rank {group.ranks[to]}, tag {tag})"

    def steps(work: Work) -> Steps:
        if checks():
            first = header(type_text(tensor), work.place, str(group.rank()))
            yield [(None, group.mail.Isend(first, to, 2 * tag))]
        yield [(group.ranks[to], group.mail.Isend(buffer.message(), to, 2 * tag + 1))]

    return start((group, "send", to, tag), Work(call, calling_line(), group.seconds, steps), group, True)


def irecv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0,
          group_src: int | None = None) -> Work | None:
    """Receive a tensor from one rank, or without ``src`` from any (``torch.distributed.irecv``).

    Raises:
        DistBackendError: when the work is waited for, if the sender's tensor has another dtype or number of elements.
    """
    if not is_member(group):
        return None
    group = resolve(group)
    source = None if src is None and group_src is None else _peer(group, src, group_src, "src", "source")
    buffer = Buffer([_tensor(tensor, "tensor")], filled=False)
    wanted = type_text(tensor)
    call = f"recv({wanted}, from {'any rank' if source is None else f'rank {group.ranks[source]}'}, tag {tag})"

    def steps(work: Work) -> Steps:
        from mpi4py import MPI

        sender, first = source, np.empty(HEADER, np.uint8)
        if checks():
            yield [(_world(sender), group.mail.Irecv(first, MPI.ANY_SOURCE if sender is None else sender, 2 * tag))]
            sent, place, number = read(first)
            sender = int(number)
            if _elements(sent) != _elements(wanted):
                raise DistBackendError(f"{work.call} at {work.place}: rank {group.ranks[sender]} sends {sent} "
                                       f"at {place}")
        status = MPI.Status()
        yield [(_world(sender), _Probed(group.mail.Irecv(
            buffer.message(), MPI.ANY_SOURCE if sender is None else sender, 2 * tag + 1), status))]
        work.source = group.ranks[status.source]

    def _world(rank: int | None) -> int | None:
        return None if rank is None else group.ranks[rank]

    work = Work(call, calling_line(), group.seconds, steps, buffer.deliver)
    return start((group, "recv", source, tag), work, group, True)


class _Probed:
    """A request that leaves its status."""

    def __init__(self, request: Any, status: Any):
        self.request, self.status = request, status

    def Test(self) -> bool:
        return self.request.Test(self.status)

    def Cancel(self) -> None:
        self.request.Cancel()


def _elements(described: str) -> tuple[str, int]:
    """Return the dtype and the number of elements of a described tensor."""
    dtype, _, sizes = described.rstrip("]").partition("[")
    return dtype, int(np.prod([int(size) for size in sizes.split(",")])) if sizes else 1


def _peer(group: ProcessGroup, rank: int | None, group_rank: int | None, name: str, role: str) -> int:
    peer = _root(group, rank, group_rank, name)
    if peer == group.rank():
        raise ValueError(f"Invalid {role} rank: {role} rank should not be the same as the rank of the current process.")
    return peer


@_for_members
def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to one rank, and wait until it may be changed (``torch.distributed.send``)."""
    work = isend(tensor, dst, group, tag, group_dst)
    assert work is not None
    work.wait()


@_for_members
def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor from one rank, or without ``src`` from any; returns whose it was
    (``torch.distributed.recv``).
    """
    work = irecv(tensor, src, group, tag, group_src)
    assert work is not None
    work.wait()
    return work.source_rank()


class P2POp:
    """A message to be sent or received: ``isend`` or ``irecv``, and its arguments (``torch.distributed.P2POp``)."""

    def __init__(self, op: Callable[..., Any], tensor: Tensor, peer: int | None = None, group: Any = None, tag: int = 0,
                 group_peer: int | None = None):
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                             "``torch.distributed.irecv``.")
        self.op, self.tensor, self.group, self.tag = op, _tensor(tensor, "tensor"), group, tag
        self.peer, self.group_peer = peer, group_peer


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin several messages; they may go between the same ranks in any order
    (``torch.distributed.batch_isend_irecv``).
    """
    if not p2p_op_list or not all(isinstance(item, P2POp) for item in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to be of type ``torch.distributed.P2POp``.")
    works = [item.op(item.tensor, item.peer, item.group, item.tag, item.group_peer) for item in p2p_op_list]
    return [work for work in works if work is not None]
