"""Collectives of Python objects: pickled, their sizes exchanged, and then their bytes.

As with every pickle, receive only from ranks that you trust.
"""
from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._creation.interop import from_numpy
from ..._dtype import uint8
from ..._tensor import Tensor
from .groups import ProcessGroup, resolve
from .operations import _for_members, _root, all_gather, broadcast, gather, recv, scatter, send


def _device(group: ProcessGroup) -> str:
    return "cpu" if "cpu" in group.devices() else next(iter(group.devices()))


def _bytes(value: Any, group: ProcessGroup) -> Tensor:
    return from_numpy(np.frombuffer(bytearray(pickle.dumps(value)), np.uint8)).to(_device(group))


def _object(tensor: Tensor) -> Any:
    return pickle.loads(tensor.cpu().numpy().tobytes())


def _sizes(sizes: Sequence[int], group: ProcessGroup) -> Tensor:
    return from_numpy(np.array(sizes, np.int64)).to(_device(group))


def _padded(tensor: Tensor, size: int) -> Tensor:
    out = tensor.new_zeros(size)
    out[:tensor.numel()] = tensor
    return out


def _all_sizes(size: int, group: ProcessGroup) -> list[int]:
    """Return the number of bytes of each rank."""
    sizes = [_sizes([0], group) for _ in range(group.size())]
    all_gather(sizes, _sizes([size], group), group)
    return [int(item) for item in sizes]


@_for_members
def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Give all ranks the objects of all (``torch.distributed.all_gather_object``)."""
    group = resolve(group)
    data = _bytes(obj, group)
    sizes = _all_sizes(data.numel(), group)
    parts = [data.new_empty(max(sizes)) for _ in sizes]
    all_gather(parts, _padded(data, max(sizes)), group)
    object_list[:] = [_object(part[:size]) for part, size in zip(parts, sizes, strict=True)]


@_for_members
def gather_object(obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None,
                  group_dst: int | None = None) -> None:
    """Give one rank the objects of all (``torch.distributed.gather_object``)."""
    group = resolve(group)
    root = _root(group, 0 if dst is None and group_dst is None else dst, group_dst, "dst")
    if (group.rank() == root) != bool(object_gather_list):
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank, and only there.")
    data = _bytes(obj, group)
    sizes = _all_sizes(data.numel(), group)
    parts = [data.new_empty(max(sizes)) for _ in sizes] if object_gather_list else None
    gather(_padded(data, max(sizes)), parts, group=group, group_dst=root)
    if object_gather_list is not None and parts is not None:
        object_gather_list[:] = [_object(part[:size]) for part, size in zip(parts, sizes, strict=True)]


@_for_members
def broadcast_object_list(object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None,
                          group_src: int | None = None) -> None:
    """Give all ranks the objects of one; their lists are as long as its
    (``torch.distributed.broadcast_object_list``).
    """
    group = resolve(group)
    root = _root(group, 0 if src is None and group_src is None else src, group_src, "src")
    here = group.rank() == root
    data = [_bytes(item, group) for item in object_list] if here else []
    sizes = _sizes([item.numel() for item in data] or [0] * len(object_list), group)
    broadcast(sizes, group=group, group_src=root)
    for index, size in enumerate(sizes.tolist()):
        part = data[index] if here else sizes.new_empty(size, dtype=uint8)
        broadcast(part, group=group, group_src=root)
        if not here:
            object_list[index] = _object(part)


@_for_members
def scatter_object_list(scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None,
                        src: int | None = None, group: Any = None, group_src: int | None = None) -> None:
    """Give each rank one object of one (``torch.distributed.scatter_object_list``): the output list's first element."""
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    group = resolve(group)
    root = _root(group, 0 if src is None and group_src is None else src, group_src, "src")
    data = [_bytes(item, group) for item in scatter_object_input_list or ()] if group.rank() == root else []
    largest = _sizes([max((item.numel() for item in data), default=0)], group)
    broadcast(largest, group=group, group_src=root)
    out = largest.new_empty(int(largest), dtype=uint8)
    scatter(out, [_padded(item, int(largest)) for item in data] or None, group=group, group_src=root)
    scatter_object_output_list[0] = _object(out)  # a pickle ends itself: what follows is not read


def send_object_list(object_list: list[Any], dst: int | None = None, group: Any = None, device: Any = None,
                     group_dst: int | None = None, use_batch: bool = False) -> None:
    """Send objects to one rank (``torch.distributed.send_object_list``)."""
    for item in object_list:
        data = _bytes(item, resolve(group))
        send(_sizes([data.numel()], resolve(group)), dst, group, group_dst=group_dst)
        send(data, dst, group, group_dst=group_dst)


def recv_object_list(object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None,
                     group_src: int | None = None, use_batch: bool = False) -> int:
    """Receive objects from one rank, or any; returns whose they were (``torch.distributed.recv_object_list``)."""
    sender = -1
    for index in range(len(object_list)):
        size = _sizes([0], resolve(group))
        sender = recv(size, src, group, group_src=group_src)
        src, group_src = sender, None
        data = size.new_empty(int(size), dtype=uint8)
        recv(data, src, group)
        object_list[index] = _object(data)
    return sender
