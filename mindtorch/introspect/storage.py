"""Who shares a storage, which of its elements each tensor covers, and in which order it reads them."""
from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from operator import mul
from typing import Any

import numpy as np

from .libraries import library_of
from .library import Layout
from .names import storage_number
from .placed import part_of
from .tensor import cells

READS = 4096  #: elements at most that are followed


@dataclass(frozen=True)
class StrideFacts:
    """The layout ``(shape, stride, offset)`` over a storage of ``storage`` elements; all count elements.

    ``positions`` says where the elements lie in the order of their indices, the first ``READS`` of ``elements``;
    ``error`` is PyTorch's message if ``as_strided`` refuses the layout, '' otherwise.
    """

    storage: int
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    elements: int
    positions: tuple[int, ...]
    error: str

    @cached_property
    def orders(self) -> dict[int, list[int]]:
        """When each position is read: the numbers of its reads, from 0."""
        return orders_of(self.positions)

    @cached_property
    def repeated(self) -> dict[int, int]:
        """The positions that are read several times, with how often."""
        return {position: times for position, times in Counter(self.positions).items() if times > 1}

    @cached_property
    def outside(self) -> tuple[int, ...]:
        """The positions that are read and not in the storage."""
        return tuple(sorted(p for p in self.orders if not 0 <= p < self.storage))

    def index(self, order: int) -> tuple[int, ...]:
        """Return the index of the element that is read as number ``order``."""
        return tuple(map(int, np.unravel_index(order, self.shape)))


def stride_facts(tensor: Any, shape: Sequence[int], stride: Sequence[int], offset: int = 0) -> StrideFacts:
    """Describe what ``tensor.as_strided(shape, stride, offset)`` reads, also where PyTorch refuses it."""
    shape, stride = tuple(shape), tuple(stride)
    error = ""
    try:
        tensor.detach().as_strided(shape, stride, offset)
    except RuntimeError as refused:
        error = str(refused)
    possible = len(shape) == len(stride) and all(size >= 0 for size in shape)
    elements = located(shape, stride, offset) if possible else iter(())
    dtype = library_of(tensor).layout(tensor).dtype.name
    return StrideFacts(
        storage=tensor.untyped_storage().nbytes() // tensor.element_size(), dtype=dtype, shape=shape,
        stride=stride, offset=offset, elements=math.prod(shape) if possible else 0, error=error,
        positions=tuple(position for _, position in itertools.islice(elements, READS)))


SEGMENTS = 96  #: pieces at most that a storage is described in
SHARERS = 8  #: tensors at most that are described
POSITIONS = 4096  #: places at most that a tensor's elements are looked at in
PLACES = 48  #: elements of a storage at most that are described one by one


@dataclass(frozen=True)
class Sharer:
    """A tensor that sees a storage, the base of others listed if ``is_base``.

    ``coverage[i]`` is the part (0 to 1) of segment i that it covers. ``reads[i]`` says when it reads element i of the
    storage: the numbers of those of its elements, counted in the order of their indices, that lie there. It is None
    where the storage is too large, or the tensor, or where its elements are not of the storage's ``itemsize``.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    is_base: bool
    requires_grad: bool
    identity: int
    coverage: tuple[float, ...]
    reads: tuple[tuple[int, ...], ...] | None


@dataclass(frozen=True)
class StorageFacts:
    """A storage: its number, its size, its address, and live tensors that see it.

    It is described in ``segments`` pieces of ``segment_bytes`` bytes, the last of which may be shorter;
    ``itemsize`` is that of the tensor asked about. ``sharers`` begins with that tensor, named ones come next;
    ``others`` counts those that are not listed. ``values`` are the storage's elements if there are no more than
    ``PLACES``: None stands for one that no listed tensor of that dtype sees, or that cannot be read now.
    """

    number: int
    device: str
    bytes: int
    itemsize: int
    address: int
    segments: int
    segment_bytes: int
    shared_memory: bool
    sharers: tuple[Sharer, ...]
    others: int
    values: tuple[Any, ...] | None


def storage_facts(tensor: Any, names: Mapping[int, str] | None = None, segments: int = SEGMENTS,
                  limit: int = SHARERS, values: bool = True) -> StorageFacts:
    """Describe a tensor's storage and ``limit`` tensors on it, named by ``id``; elements only with ``values``.

    The storage of a DTensor is that of this rank's part.
    """
    names, library, part = names or {}, library_of(tensor), part_of(tensor)
    if part is not tensor:
        names = {id(part): f"{names[id(tensor)]}.to_local()" if id(tensor) in names else "", **names}
        tensor = part
    look = library.layout(tensor)
    seen_by = [other for other in library.aliases(tensor, names) if other is not tensor]
    seen_by.sort(key=lambda other: id(other) not in names)
    seen_by.insert(0, tensor)
    listed = seen_by[:limit]
    records = [library.record(other, 0) for other in listed]
    bases = {id(record.base) for record in records}
    itemsize, nbytes = look.dtype.itemsize, library.storage_bytes(tensor)
    segment_bytes = max(1, -(-nbytes // itemsize // segments)) * itemsize
    first = library.address(tensor)
    places = nbytes // itemsize if nbytes <= PLACES * itemsize else 0
    sharers = []
    for other, record in zip(listed, records, strict=True):
        its = library.layout(other)
        sharers.append(Sharer(
            name=names.get(id(other), ""), dtype=its.dtype.name, shape=its.shape, stride=its.stride, offset=its.offset,
            is_base=id(other) in bases, requires_grad=record.requires_grad, identity=id(other),
            coverage=coverage(its, nbytes, segment_bytes),
            reads=_reads(its, places) if its.dtype.itemsize == itemsize else None))
    return StorageFacts(
        number=storage_number(tensor), device=look.device, bytes=nbytes, itemsize=itemsize,
        address=first - look.offset * itemsize if first else 0, segments=-(-nbytes // segment_bytes),
        segment_bytes=segment_bytes, shared_memory=library.is_shared(tensor), sharers=tuple(sharers),
        others=len(seen_by) - len(listed),
        values=_values(listed if values else (), look.dtype, places) if places else None)


def _reads(look: Layout, places: int) -> tuple[tuple[int, ...], ...] | None:
    """When each of the first places of the storage is read, None if there are too many elements to follow."""
    if not places or not look.strided or prod(look.shape) > POSITIONS:
        return None
    found = orders_of(place for _, place in _elements(look))
    return tuple(tuple(found.get(place, ())) for place in range(places))


def _elements(look: Layout) -> Iterator[tuple[tuple[int, ...], int]]:
    return located(look.shape, look.stride, look.offset)


def _values(tensors: Iterable[Any], dtype: Any, places: int) -> tuple[Any, ...]:
    """Return the elements of a storage as read through its tensors of a dtype."""
    found: dict[int, Any] = {}
    for tensor in tensors:
        look = library_of(tensor).layout(tensor)
        if look.dtype is dtype and look.strided and prod(look.shape) <= POSITIONS:
            new = {place: index for index, place in _elements(look) if place not in found}
            with suppress(RuntimeError):  # a device whose memory cannot be read
                found.update(zip(new, (cell.value for cell in cells(tensor, list(new.values()))), strict=True))
    return tuple(map(found.get, range(places)))


def located(shape: Sequence[int], stride: Sequence[int], offset: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Index and position in the storage of each element, in the order of the indices."""
    for index in product(*map(range, shape)):
        yield index, offset + sum(map(mul, index, stride))


def orders_of(positions: Iterable[int]) -> dict[int, list[int]]:
    """When each position is read, if they are read one after the other: the numbers of its reads, from 0."""
    found: dict[int, list[int]] = {}
    for order, position in enumerate(positions):
        found.setdefault(position, []).append(order)
    return found


def coverage(look: Layout, nbytes: int, segment_bytes: int) -> tuple[float, ...]:
    """Return which part (0 to 1) of each segment of a storage a tensor covers.

    The elements are runs of equal length, one for each sum of multiples of the strides. A stride of one element makes
    the runs longer. Where there are too many runs still, or where they run into each other, one is what the next stride
    spans, evenly filled.
    """
    size = look.dtype.itemsize
    edges = np.minimum(np.arange(0, nbytes + segment_bytes, segment_bytes), nbytes)
    if 0 in look.shape or not nbytes or not look.strided:
        return (float(not look.strided),) * (len(edges) - 1)
    span = filled = 1
    steps = _merged(look.stride, look.shape)
    while steps and (steps[0][0] <= span or prod(n for _, n in steps) > POSITIONS):
        step, n = steps.pop(0)
        filled, span = min(filled * n, span + step * (n - 1)), span + step * (n - 1)
    starts = np.zeros(1, np.int64)
    for step, n in steps:
        starts = (starts[:, None] + np.arange(n) * step).ravel()
    starts = (np.sort(starts) + look.offset) * size
    stops = np.minimum(starts + span * size, np.append(starts[1:], nbytes))  # where the next run begins, or the same
    begun = np.searchsorted(starts, edges)
    lengths, last = np.cumsum(np.append(0, stops - starts)), np.append(0, stops)
    before = lengths[begun] - np.maximum(0, last[begun] - edges)  # bytes covered before each edge
    covered = np.diff(before) * (filled / span) / np.diff(edges)
    return tuple(np.minimum(1.0, covered).tolist())


def _merged(strides: Sequence[int], shape: Sequence[int]) -> list[tuple[int, int]]:
    """Return strides and sizes with which the same places are reached: one for all strides that continue each other."""
    found: list[tuple[int, int]] = []
    for step, n in sorted((step, n) for step, n in zip(strides, shape, strict=True) if step and n > 1):
        for i, (shorter, count) in enumerate(found):
            if step % shorter == 0 and step <= shorter * count:
                found[i] = shorter, count + step // shorter * (n - 1)
                break
        else:
            found.append((step, n))
    return found
