"""What is known of one tensor, as plain data. Collecting it never waits and never changes anything."""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._autograd.accumulate import AccumulateGrad
from .._dispatch.keys import INFERENCE, META, PIPELINE
from .._dtype import COMPLEX, FLOATING, DType
from .identity import known_storage, storage_number

SAMPLE = 100_000  #: elements at most that statistics look at
HISTORY = 6  #: nodes at most that are named


@dataclass(frozen=True)
class Statistics:
    """``minimum``, ``maximum``, ``mean`` and ``std`` of the finite elements (None where there are none; of
    absolute values if complex), and how many are zero, NaN or infinite, in ``sampled`` of ``total`` elements.
    """

    minimum: Any
    maximum: Any
    mean: float | None
    std: float | None
    zeros: int
    nans: int
    infinities: int
    sampled: int
    total: int


@dataclass(frozen=True)
class Cell:
    """One shown element: its index, its position in the storage (in elements), its address and its value."""

    index: tuple[int, ...]
    position: int
    address: int
    value: Any


@dataclass(frozen=True)
class Pending:
    """What a tensor without values waits for: an operator, and those ``before`` it in its queue.

    ``file`` and ``line`` recorded it; ``error`` says why the values will never come.
    """

    operator: str
    file: str
    line: int
    before: tuple[str, ...]
    error: str | None = None


@dataclass(frozen=True)
class TensorFacts:
    """A tensor's metadata. Strides and offset count elements, sizes with ``bytes`` in their name bytes.

    ``storage`` is the storage's number; ``base`` the name of the tensor that this one is a view of, '' if it
    has none in the namespace; ``history`` names the nodes from ``grad_fn`` on along their first inputs,
    ``HISTORY`` at most.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    device: str
    elements: int
    bytes: int
    contiguous: bool
    dense: bool
    overlapping: bool
    storage: int
    storage_bytes: int
    address: int
    is_view: bool
    base: str
    version: int | None
    requires_grad: bool
    is_leaf: bool
    history: tuple[str, ...]
    has_grad: bool
    inference: bool
    kind: str
    pending: Pending | None
    statistics: Statistics | None


def tensor_facts(tensor: Any, names: Mapping[int, str] | None = None) -> TensorFacts:
    """Everything that is known of a tensor without waiting: no flush, no synchronisation, no new storage.

    ``names`` gives tensors' names by their ``id`` (``names_of(namespace)``).
    """
    names = names or {}
    shape, stride = tuple(tensor.shape), tensor._strides()
    storage, array = known_storage(tensor), readable_array(tensor)
    elements = math.prod(shape)
    nbytes = elements * tensor._dtype.itemsize
    return TensorFacts(
        name=names.get(id(tensor), ""),
        dtype=tensor._dtype.name,
        shape=shape,
        stride=stride,
        offset=tensor._offset,
        device=str(tensor._device),
        elements=elements,
        bytes=nbytes,
        contiguous=tensor.is_contiguous(),
        dense=tensor._is_dense(),
        overlapping=bool(elements) and _may_overlap(shape, stride),
        storage=storage_number(tensor),
        storage_bytes=nbytes if storage is None else storage.nbytes(),
        address=0 if array is None or not elements else array.__array_interface__["data"][0],
        is_view=tensor._base is not None,
        base="" if tensor._base is None else names.get(id(tensor._base), ""),
        version=None if tensor._keys & INFERENCE else 0 if tensor._cell is None else tensor._cell[0],
        requires_grad=tensor.requires_grad,
        is_leaf=tensor._grad_fn is None,
        history=_history(tensor, names),
        has_grad=tensor._grad is not None,
        inference=bool(tensor._keys & INFERENCE),
        kind=type(tensor).__name__,
        pending=pending_of(tensor),
        statistics=None if array is None else statistics(array, tensor._dtype),
    )


def _history(tensor: Any, names: Mapping[int, str]) -> tuple[str, ...]:
    found: list[str] = []
    node = tensor._grad_fn
    while node is not None and len(found) < HISTORY:
        leaf = names.get(id(node.variable)) if isinstance(node, AccumulateGrad) else None
        found.append(leaf or node.name())
        node = next((edge[0] for edge in node._edges if edge is not None), None)
    return tuple(found)


def _may_overlap(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Whether two indices may mean one element: some stride is shorter than what the smaller strides span."""
    span = 0
    for step, size in sorted((st, n) for n, st in zip(shape, stride, strict=True) if n > 1):
        if step <= span:
            return True
        span += step * (size - 1)
    return False


def pending_of(tensor: Any) -> Pending | None:
    """What the tensor's values wait for, or None if they are there."""
    entry = tensor._pending
    if not tensor._keys & PIPELINE or entry is None:
        return None
    queue = entry.pipeline.pending
    before = queue[: queue.index(entry)] if entry in queue else ()
    file, line, _ = entry.site
    return Pending(entry.op.name, file, line, tuple(other.op.name for other in before), entry.error)


def readable_array(tensor: Any) -> np.ndarray | None:
    """The values if they can be read now, without waiting for anything."""
    return None if tensor._keys & (PIPELINE | META) else tensor._array


def sample(array: np.ndarray) -> np.ndarray:
    """The array, or at most ``SAMPLE`` of its elements: every so many-th index, fewer of long dimensions."""
    left, steps = SAMPLE, [1] * array.ndim
    if array.size > SAMPLE:
        for done, dim in enumerate(sorted(range(array.ndim), key=array.shape.__getitem__)):
            steps[dim] = -(-array.shape[dim] // max(1, int(left ** (1 / (array.ndim - done)))))
            left //= -(-array.shape[dim] // steps[dim])
    return array[tuple(slice(None, None, step) for step in steps)]


def statistics(array: np.ndarray, dtype: DType) -> Statistics:
    """Statistics of the values, or of an even sample of ``SAMPLE`` of them."""
    values = sample(array).ravel()
    if dtype.name == "bfloat16":
        values = values.astype(np.float32)
    elif dtype.category == COMPLEX:
        values = np.abs(values)
    finite, nans = values, 0
    if dtype.category >= FLOATING and not (is_finite := np.isfinite(values)).all():
        finite, nans = values[is_finite], int(np.isnan(values).sum())
    wide = finite.astype(np.float64)
    return Statistics(
        minimum=finite.min().item() if finite.size else None,
        maximum=finite.max().item() if finite.size else None,
        mean=float(wide.mean()) if finite.size else None,
        std=float(wide.std(ddof=1)) if finite.size > 1 else None,
        zeros=int(values.size - np.count_nonzero(values)),
        nans=nans,
        infinities=values.size - finite.size - nans,
        sampled=values.size,
        total=array.size,
    )


def cells(tensor: Any, indices: list[tuple[int, ...]]) -> list[Cell]:
    """The elements at these indices, with where they lie. Values are None where they cannot be read now."""
    array, stride, size = readable_array(tensor), tensor._strides(), tensor._dtype.itemsize
    start = 0 if array is None or not array.size else array.__array_interface__["data"][0]
    found = []
    for index in indices:
        position = tensor._offset + sum(i * st for i, st in zip(index, stride, strict=True))
        address = start + (position - tensor._offset) * size if start else 0
        found.append(Cell(index, position, address, None if array is None else array[index].item()))
    return found
