"""What a layout reads: which elements of a storage, in which order, which of them twice, which beyond its ends."""
from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .libraries import library_of
from .storage import located, orders_of

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
