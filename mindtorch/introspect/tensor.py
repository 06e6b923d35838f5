"""Facts about one tensor, as plain data. Collecting them never waits and never changes anything."""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._base.layout import contiguous_strides, is_channels_last, is_contiguous, is_non_overlapping_and_dense
from .._dtype import COMPLEX, FLOATING, DType
from .libraries import library_of
from .names import named_tensors, storage_number
from .off_host import Pending
from .placed import placement_text
from .sampling import BUDGET, sampling, scan

FEW = 1 << 14  #: elements at most whose places are all worked out
BINS = 40  #: of a histogram
HISTORY = 6  #: nodes at most that are named
ACCUMULATE = "torch::autograd::AccumulateGrad"  #: the node of a leaf that has no name


@dataclass(frozen=True)
class Statistics:
    """``minimum`` and ``maximum`` of the finite elements (None if there are none; absolute values if complex), and
    counts of NaN and infinities, with the index of the first of each. They are of all elements if ``is_exact`` and
    ``examined == total``; else of the ``examined`` ones and the sample, and extremes that are not exact of the sample.

    ``mean``, ``std``, ``zeros`` and ``histogram`` are of ``sampled`` of the ``total`` elements, except that ``zeros``
    of bools counts the ``examined`` ones. ``histogram`` counts the finite ones in ``BINS`` equal steps from minimum to
    maximum, or each integer if all are integers less than ``BINS`` apart; empty for bools and where all are equal.
    """

    minimum: Any
    maximum: Any
    mean: float | None
    std: float | None
    zeros: int
    nans: int
    infinities: int
    first_nan: tuple[int, ...] | None
    first_infinite: tuple[int, ...] | None
    is_exact: bool
    examined: int
    sampled: int
    total: int
    histogram: tuple[int, ...]


class Cell(NamedTuple):
    """One shown element: its index, its position in the storage (in elements), its address and its value."""

    index: tuple[int, ...]  # type: ignore[assignment]  # in the place of the method of tuples
    position: int
    address: int
    value: Any


@dataclass(frozen=True)
class TensorFacts:
    """A tensor's metadata. Strides and offset count elements, sizes with ``bytes`` in their name bytes.

    ``storage`` is the storage's number; ``base`` the name of the tensor that this one is a view of, '' if it
    has none in the namespace; ``history`` names the nodes from ``grad_fn`` on along their first inputs,
    ``HISTORY`` at most; ``hooks`` counts those that see the tensor's gradient; ``refused`` is what a device said
    that does not let its memory be read, such as a lost one; ``without`` says what a tensor is that has no
    values or, where it is not ``strided``, neither strides nor a storage of its own. The parameter of a lazy module
    that was not called yet is not ``materialized``: its shape, which is (0,) here, is not known yet. ``placements``
    are those of a DTensor.
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
    without: str = ""
    strided: bool = True
    placements: str = ""


CARD = 0.5  #: seconds of this thread's own time for one tensor's card, which some 100,000,000 elements take


def tensor_facts(tensor: Any, names: Mapping[int, str] | None = None, values: bool = True,
                 seconds: float = CARD) -> TensorFacts:
    """Describe a tensor without waiting: no flush, no synchronisation, no new storage.

    ``names`` gives tensors' names by their ``id`` (``names_of(namespace)``). Without ``values`` the elements are not
    read, and there are no statistics; of those, extremes and NaN are searched for in all elements for ``seconds``.
    """
    names, library = names or {}, library_of(tensor)
    look, record = library.layout(tensor), library.record(tensor, HISTORY)
    sampled, refused = _sample_or_reason(tensor) if values else (None, "")
    # The name of a leaf says more than that its gradient is accumulated.
    history = tuple(node if isinstance(node, str) else names.get(id(node), ACCUMULATE) for node in record.history)
    elements = math.prod(look.shape)
    lying = look.shape, look.stride if look.strided else contiguous_strides(look.shape)
    return TensorFacts(
        name=names.get(id(tensor), ""), dtype=look.dtype.name, shape=look.sizes or look.shape,
        stride=look.stride, offset=look.offset, device=look.device, elements=elements,
        bytes=elements * look.dtype.itemsize, contiguous=is_contiguous(*lying), channels_last=is_channels_last(*lying),
        dense=is_non_overlapping_and_dense(*lying), overlapping=_overlap(*lying),
        storage=storage_number(tensor), storage_bytes=library.storage_bytes(tensor), address=library.address(tensor),
        is_view=record.base is not None, base="" if record.base is None else names.get(id(record.base), ""),
        version=record.version, requires_grad=record.requires_grad, is_leaf=not history, history=history,
        has_grad=library.grad(tensor) is not None, hooks=record.hooks, inference=record.inference,
        materialized=look.materialized, kind=type(tensor).__name__, pending=library.pending(tensor), refused=refused,
        without=look.without, strided=look.strided, placements=placement_text(tensor),
        statistics=None if sampled is None else statistics(sampled, look.dtype, elements, seconds))


def tensors_facts(namespace: Mapping[str, Any]) -> list[TensorFacts]:
    """Describe every named tensor without reading elements; those that share a storage are neighbours."""
    found = dict(named_tensors(namespace))
    names = {id(tensor): name for name, tensor in found.items()}
    facts = [tensor_facts(tensor, names, values=False) for tensor in found.values()]
    first: dict[int, int] = {}
    for row in facts:
        first.setdefault(row.storage, len(first))
    return sorted(facts, key=lambda row: first[row.storage])


def _overlap(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Return True if two indices may mean one element; exact where elements are few."""
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
    places.sort()
    return bool((places[1:] == places[:-1]).any())


def pending_of(tensor: Any) -> Pending | None:
    """Return the work that the values wait for; None if they are there or, on the meta device, never will be."""
    return library_of(tensor).pending(tensor)


def values_without_waiting(tensor: Any) -> np.ndarray | None:
    """Return the values if they can be read now. They may be the tensor's memory, neither to be written nor kept."""
    return library_of(tensor).values(tensor)


def _sample_or_reason(tensor: Any) -> tuple[np.ndarray | None, str]:
    """Return the values for statistics, or the reason why the device refuses to be read."""
    try:
        return library_of(tensor).sample(tensor), ""
    except RuntimeError as error:
        return None, str(error)


def statistics(array: np.ndarray, dtype: DType, total: int | None = None, seconds: float = BUDGET) -> Statistics:
    """Compute statistics of an even sample; extremes, NaN and infinities of all, as ``seconds`` suffice."""
    total = array.size if total is None else total
    values = array[sampling(array.shape)].ravel()
    with np.errstate(all="ignore"):
        found = scan(array, dtype.name, seconds)
        is_whole = found.examined == total
        if dtype.name == "bfloat16":
            values = values.astype(np.float32)
        finite, nans = values, 0
        if dtype.category >= FLOATING and not (is_finite := np.isfinite(values)).all():
            finite, nans = values[is_finite], int(np.isnan(values).sum())
        infinities = values.size - finite.size - nans
        if dtype.category == COMPLEX:  # the magnitude of a finite number may be too large for a float
            finite = np.minimum(np.abs(finite.astype(np.complex128)), np.finfo(np.float64).max)
        is_exact = is_whole and (dtype.category != COMPLEX or values.size == total)
        ends = [found.minimum, found.maximum] if is_exact and dtype.category != COMPLEX else [
            *([finite.min(), finite.max()] if finite.size else [None, None])]
        numbers = finite.astype(np.float64)
        mean, std = _mean_and_std(numbers)
        low, high = (None if end is None else end.item() for end in ends)
        histogram = () if dtype.name == "bool" else _histogram(numbers, low, high)
    zeros = found.zeros if dtype.name == "bool" else int(values.size - np.count_nonzero(values))
    return Statistics(
        minimum=low, maximum=high, mean=mean, std=std, zeros=zeros, nans=max(found.nans, nans),
        infinities=max(found.infinities, infinities), first_nan=found.first_nan if array.size == total else None,
        first_infinite=found.first_infinite if array.size == total else None, is_exact=is_exact,
        examined=found.examined, sampled=values.size, total=total, histogram=histogram)


def _mean_and_std(values: np.ndarray) -> tuple[float | None, float | None]:
    """Return the mean and deviation of finite values, even if their sum or squares overflow."""
    if not values.size:
        return None, None
    largest = max(abs(values.min()), abs(values.max()))
    scale = 1.0 if 1e-150 < largest < 1e150 else largest or 1.0
    values = values / scale
    return float(values.mean() * scale), float(values.std(ddof=1) * scale) if values.size > 1 else None


def _histogram(values: np.ndarray, low: Any, high: Any) -> tuple[int, ...]:
    """Count values in ``BINS`` equal steps between the ends, or each integer where they are few."""
    if not values.size or low == high:
        return ()
    low, high = np.float64(low), np.float64(high)
    if high - low < BINS and (values == np.rint(values)).all():  # such as labels: each has a step of its own
        return tuple(np.bincount((values - low).astype(np.intp), minlength=int(high - low) + 1).tolist())
    steps = (values / BINS - low / BINS) / (high / BINS / BINS - low / BINS / BINS)  # also where the range is infinite
    return tuple(np.bincount(np.minimum(steps, BINS - 1).astype(np.intp), minlength=BINS).tolist())


def cells(tensor: Any, indices: list[tuple[int, ...]]) -> list[Cell]:
    """Return the elements at these indices with their places. Values are None where they cannot be read now."""
    library = library_of(tensor)
    values, look, start = library.elements(tensor, indices), library.layout(tensor), library.address(tensor)
    found = []
    for index, value in zip(indices, [None] * len(indices) if values is None else values, strict=True):
        steps = sum(i * st for i, st in zip(index, look.stride, strict=True))
        address = start + steps * look.dtype.itemsize if start else 0
        found.append(Cell(index, look.offset + steps, address, value))
    return found
