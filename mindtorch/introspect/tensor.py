"""What is known of one tensor, as plain data. Collecting it never waits and never changes anything."""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._autograd.accumulate import AccumulateGrad
from .._dispatch.keys import AUTOGRAD, INFERENCE, META, PIPELINE, UNINITIALIZED
from .._dtype import COMPLEX, FLOATING, DType
from .._formats import channels_last, channels_last_3d
from .identity import known_storage, shape_of, storage_number
from .names import named_tensors
from .off_host import Pending, Source, sources

SAMPLE = 100_000  #: elements at most that statistics look at
PERIODS = 2 * 3 * 5 * 7 * 11 * 13  #: what often divides the length of something that repeats
FEW = 1 << 14  #: elements at most whose places are all worked out
BINS = 40  #: of a histogram
HISTORY = 6  #: nodes at most that are named


@dataclass(frozen=True)
class Statistics:
    """``minimum``, ``maximum``, ``mean`` and ``std`` of the finite elements (None where there are none; of
    absolute values if complex), and how many are zero, NaN or infinite, in ``sampled`` of ``total`` elements.
    ``histogram`` counts the finite elements in ``BINS`` equal steps from minimum to maximum; it is empty where all of
    them are alike, and for bools.
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
    histogram: tuple[int, ...]


@dataclass(frozen=True)
class Cell:
    """One shown element: its index, its position in the storage (in elements), its address and its value."""

    index: tuple[int, ...]
    position: int
    address: int
    value: Any


@dataclass(frozen=True)
class TensorFacts:
    """A tensor's metadata. Strides and offset count elements, sizes with ``bytes`` in their name bytes.

    ``storage`` is the storage's number; ``base`` the name of the tensor that this one is a view of, '' if it
    has none in the namespace; ``history`` names the nodes from ``grad_fn`` on along their first inputs,
    ``HISTORY`` at most; ``hooks`` counts those that see the tensor's gradient; ``refused`` is what a device said
    that does not let its memory be read, such as a lost one. The parameter of a lazy module that was not called yet is
    not ``materialized``: its shape, which is (0,) here, is not known yet.
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
    channels_last: bool
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
    hooks: int
    inference: bool
    materialized: bool
    kind: str
    pending: Pending | None
    statistics: Statistics | None
    refused: str


def tensor_facts(tensor: Any, names: Mapping[int, str] | None = None, values: bool = True) -> TensorFacts:
    """Describe a tensor without waiting: no flush, no synchronisation, no new storage.

    ``names`` gives tensors' names by their ``id`` (``names_of(namespace)``). Without ``values`` the elements are not
    looked at, and there are no statistics.
    """
    names = names or {}
    shape, stride = shape_of(tensor), tensor._strides()
    storage = known_storage(tensor)
    sampled, refused = _sample_or_reason(tensor) if values else (None, "")
    history = _history(tensor, names)
    elements = math.prod(shape)
    nbytes = elements * tensor._dtype.itemsize
    return TensorFacts(
        name=names.get(id(tensor), ""), dtype=tensor._dtype.name, shape=shape, stride=stride, offset=tensor._offset,
        device=str(tensor._device), elements=elements, bytes=nbytes, contiguous=tensor.is_contiguous(),
        channels_last=any(map(tensor.is_contiguous, (channels_last, channels_last_3d))), dense=tensor._is_dense(),
        overlapping=_overlap(shape, stride), storage=storage_number(tensor),
        storage_bytes=nbytes if storage is None else storage.nbytes(), address=address_of(tensor),
        is_view=tensor._base is not None, base="" if tensor._base is None else names.get(id(tensor._base), ""),
        version=None if tensor._keys & INFERENCE else tensor._version, requires_grad=tensor.requires_grad,
        is_leaf=not history, history=history, has_grad=tensor._grad is not None, hooks=_hooks(tensor),
        inference=bool(tensor._keys & INFERENCE), materialized=not tensor._keys & UNINITIALIZED,
        kind=type(tensor).__name__, pending=pending_of(tensor), refused=refused,
        statistics=None if sampled is None else statistics(sampled, tensor._dtype, elements))


def tensors_facts(namespace: Mapping[str, Any]) -> list[TensorFacts]:
    """Describe every tensor that the namespace names; those that share a storage stand next to each other.

    The tensors' elements are not looked at, so there are no statistics.
    """
    found = dict(named_tensors(namespace))
    names = {id(tensor): name for name, tensor in found.items()}
    facts = [tensor_facts(tensor, names, values=False) for tensor in found.values()]
    first: dict[int, int] = {}
    for row in facts:
        first.setdefault(row.storage, len(first))
    return sorted(facts, key=lambda row: first[row.storage])


def _history(tensor: Any, names: Mapping[int, str]) -> tuple[str, ...]:
    found: list[str] = []
    node = tensor._grad_fn
    base = tensor._base
    if (base is not None and base._keys & AUTOGRAD and tensor._creation_meta is None and tensor._view_func is None
            and tensor._attr_version != tensor._version_counter[0]):
        # It was written through its base, so asking for grad_fn makes this node.
        found, node = ["AsStridedBackward0"], base._grad_fn
    while node is not None and len(found) < HISTORY:
        leaf = names.get(id(node.variable)) if isinstance(node, AccumulateGrad) else None
        found.append(leaf or node.name())
        node = next((edge[0] for edge in node._edges if edge is not None), None)
    return tuple(found)


def _hooks(tensor: Any) -> int:
    inner = None if tensor._grad_fn is None else tensor._grad_fn._hooks
    of_node = None if inner is None else inner.tensor.get(tensor._output_nr)
    return sum(len(hooks) for hooks in (tensor._hooks, tensor._post_accumulate_hooks, of_node) if hooks)


def _overlap(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Whether two indices mean one element. Where that is hard to tell of many elements, the answer is yes."""
    span, crossed, elements = 0, False, math.prod(shape)
    steps = sorted((st, n) for n, st in zip(shape, stride, strict=True) if n > 1)
    for step, size in steps:
        crossed |= step <= span  # else each place is beyond all that the shorter strides reach
        span += step * (size - 1)
    if not elements or not crossed or elements > min(span + 1, FEW):
        return bool(elements) and crossed
    places = np.zeros(1, np.int64)
    for step, size in steps:
        places = np.add.outer(places, np.arange(size) * step).ravel()
    return len(np.unique(places)) < elements


def element_source(tensor: Any) -> Source | None:
    """How to look at a tensor's values; None if NumPy can read them where they are."""
    kind = tensor._device.type
    if kind == "npu" and kind not in sources:
        from .npu import NpuSource  # loads the device's runtime, which a program on the CPU does without

        sources[kind] = NpuSource()
    return sources.get(kind)


def pending_of(tensor: Any) -> Pending | None:
    """Return what the tensor's values wait for, or None if they are there or, on the meta device, never will be."""
    entry = tensor._pending
    if not tensor._keys & PIPELINE or entry is None:
        source = element_source(tensor)
        return None if source is None else source.pending(tensor)
    queue = entry.pipeline.pending
    before = queue[: queue.index(entry)] if entry in queue else ()
    file, line, _ = entry.site
    return Pending(entry.op.name, file, line, tuple(other.op.name for other in before), entry.error)


def values_without_waiting(tensor: Any) -> np.ndarray | None:
    """Return the values if they can be read now. They may be the tensor's memory, neither to be written nor kept."""
    if tensor._keys & (PIPELINE | META):
        return None
    source = element_source(tensor)
    return tensor._array if source is None else source.values(tensor)


def _sample_or_reason(tensor: Any) -> tuple[np.ndarray | None, str]:
    """What statistics are made of, if it can be read now, or why the device refuses it."""
    source = None if tensor._keys & (PIPELINE | META) else element_source(tensor)
    if source is None:
        return values_without_waiting(tensor), ""
    try:
        return source.sample(tensor), ""
    except RuntimeError as error:
        return None, str(error)


def address_of(tensor: Any) -> int:
    """Return the address of the first element, 0 where there is no memory."""
    array, storage = tensor._array, known_storage(tensor)
    if array is not None:
        return array.__array_interface__["data"][0] if array.size else 0
    start = 0 if storage is None else storage.data_ptr()
    return start + tensor._offset * tensor._dtype.itemsize if start and tensor.numel() else 0


def sample(array: np.ndarray) -> np.ndarray:
    """Return the array, or at most ``SAMPLE`` of its elements: indices in equal steps, fewer of long dimensions.

    What repeats every 2, 10 or 16 elements must not look as if all were the same: no step has such a factor.
    """
    left, steps = SAMPLE, [1] * array.ndim
    if array.size > SAMPLE:
        for done, dim in enumerate(sorted(range(array.ndim), key=array.shape.__getitem__)):
            steps[dim] = -(-array.shape[dim] // max(1, int(left ** (1 / (array.ndim - done)))))
            while math.gcd(steps[dim], PERIODS) > 1:
                steps[dim] += 1
            left //= -(-array.shape[dim] // steps[dim])
    return array[tuple(slice(None, None, step) for step in steps)]


def statistics(array: np.ndarray, dtype: DType, total: int | None = None) -> Statistics:
    """Compute statistics of values, or of an even sample of them; ``array`` may be a sample of ``total`` elements."""
    values = sample(array).ravel()
    with np.errstate(all="ignore"):
        if dtype.name == "bfloat16":
            values = values.astype(np.float32)
        finite, nans = values, 0
        if dtype.category >= FLOATING and not (is_finite := np.isfinite(values)).all():
            finite, nans = values[is_finite], int(np.isnan(values).sum())
        if dtype.category == COMPLEX:  # the magnitude of a finite number may be too large for a float
            finite = np.minimum(np.abs(finite.astype(np.complex128)), np.finfo(np.float64).max)
        numbers = finite.astype(np.float64)
        mean, std = _mean_and_std(numbers)
        histogram = () if dtype.name == "bool" else _histogram(numbers)
    return Statistics(
        minimum=finite.min().item() if finite.size else None, maximum=finite.max().item() if finite.size else None,
        mean=mean, std=std, zeros=int(values.size - np.count_nonzero(values)), nans=nans,
        infinities=values.size - finite.size - nans, sampled=values.size, total=array.size if total is None else total,
        histogram=histogram)


def _mean_and_std(values: np.ndarray) -> tuple[float | None, float | None]:
    """The mean and deviation of finite values, also where their sum or their squares are not finite."""
    if not values.size:
        return None, None
    largest = max(abs(values.min()), abs(values.max()))
    scale = 1.0 if 1e-150 < largest < 1e150 else largest or 1.0
    values = values / scale
    return float(values.mean() * scale), float(values.std(ddof=1) * scale) if values.size > 1 else None


def _histogram(values: np.ndarray) -> tuple[int, ...]:
    """How many values lie in each of ``BINS`` equal steps between the ends."""
    if not values.size or (low := values.min()) == (high := values.max()):
        return ()
    steps = (values / BINS - low / BINS) / (high / BINS / BINS - low / BINS / BINS)  # also where the range is infinite
    return tuple(np.bincount(np.minimum(steps, BINS - 1).astype(np.intp), minlength=BINS).tolist())


def cells(tensor: Any, indices: list[tuple[int, ...]]) -> list[Cell]:
    """Return the elements at these indices with their places. Values are None where they cannot be read now."""
    values, stride, size = _elements_without_waiting(tensor, indices), tensor._strides(), tensor._dtype.itemsize
    start = address_of(tensor)
    found = []
    for index, value in zip(indices, [None] * len(indices) if values is None else values, strict=True):
        steps = sum(i * st for i, st in zip(index, stride, strict=True))
        found.append(Cell(index, tensor._offset + steps, start + steps * size if start else 0, value))
    return found


def _elements_without_waiting(tensor: Any, indices: list[tuple[int, ...]]) -> list[Any] | None:
    source = None if tensor._keys & (PIPELINE | META) else element_source(tensor)
    if source is not None:
        return source.elements(tensor, indices)
    values = values_without_waiting(tensor)
    return None if values is None else [values[index].item() for index in indices]
