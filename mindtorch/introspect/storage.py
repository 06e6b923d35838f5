"""Who shares a storage, and which of its elements each tensor covers."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .._dispatch.keys import PIPELINE

SEGMENTS = 96  #: pieces at most that a storage is described in


@dataclass(frozen=True)
class Sharer:
    """A tensor that sees a storage. ``coverage[i]`` is the part (0 to 1) of segment i that it covers."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    is_view: bool
    requires_grad: bool
    identity: int
    coverage: tuple[float, ...]


@dataclass(frozen=True)
class StorageFacts:
    """A storage: its size, its address, and the live tensors that see it, oldest first.

    It is described in ``segments`` equal pieces of ``segment_bytes`` bytes each (the last may be shorter).
    """

    identity: int
    device: str
    bytes: int
    address: int
    segments: int
    segment_bytes: int
    shared_memory: bool
    sharers: tuple[Sharer, ...]


def storage_facts(tensor: Any, names: Mapping[int, str] | None = None, segments: int = SEGMENTS) -> StorageFacts:
    """The storage under a tensor and everybody who sees it. A tensor that shares with nobody is its only sharer."""
    names = names or {}
    storage = tensor._storage
    sharers = [tensor] if storage is None else storage.aliases()
    if not any(other is tensor for other in sharers):
        sharers.insert(0, tensor)
    nbytes = tensor.numel() * tensor._dtype.itemsize if storage is None else storage.nbytes()
    unit = tensor._dtype.itemsize
    elements = nbytes // unit
    per_segment = max(1, -(-elements // segments))
    count = -(-elements // per_segment) if elements else 0
    array = tensor._array
    address = 0
    if array is not None and array.size and not tensor._keys & PIPELINE:
        address = array.__array_interface__["data"][0] - tensor._offset * unit
    return StorageFacts(
        identity=id(tensor) if storage is None else id(storage), device=str(tensor._device), bytes=nbytes, address=address,
        segments=count, segment_bytes=per_segment * unit, shared_memory=storage is not None and storage.is_shared(),
        sharers=tuple(_sharer(other, names.get(id(other), ""), count, per_segment * unit) for other in sharers),
    )  # fmt: skip


def _sharer(tensor: Any, name: str, segments: int, segment_bytes: int) -> Sharer:
    return Sharer(
        name, tensor._dtype.name, tuple(tensor.shape), tensor._strides(), tensor._offset, tensor._base is not None,
        tensor.requires_grad, id(tensor), coverage(tensor, segments, segment_bytes),
    )  # fmt: skip


def coverage(tensor: Any, segments: int, segment_bytes: int) -> tuple[float, ...]:
    """Which part of each segment of the storage a tensor covers.

    Dense tensors are one range. Of others at most some ten thousand positions are looked at, which is exact for small
    tensors and an even sample of large ones.
    """
    size, shape, stride = tensor._dtype.itemsize, tuple(tensor.shape), tensor._strides()
    if 0 in shape or not segments:
        return (0.0,) * segments
    if tensor._is_dense():
        start = tensor._offset * size
        stop = start + prod(shape) * size
        return tuple(
            max(0.0, min(stop, (i + 1) * segment_bytes) - max(start, i * segment_bytes)) / segment_bytes for i in range(segments)
        )
    thin = [max(1, -(-n // max(1, int(20_000 ** (1 / len(shape)))))) for n in shape]
    positions = np.zeros(1, np.int64)
    weight = 1
    for n, st, every in zip(shape, stride, thin, strict=True):
        if st:  # a stride of 0 covers nothing new
            positions = (positions[:, None] + np.arange(0, n, every) * st).ravel()
            weight *= every
    unique = np.unique(positions + tensor._offset) * size // segment_bytes
    counts = np.bincount(unique, minlength=segments)[:segments]
    return tuple(min(1.0, float(c) * weight * size / segment_bytes) for c in counts)
