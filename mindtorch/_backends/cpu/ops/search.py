"""CPU kernels of search."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.errors import check
from ...._dtype import bool_, get_default_dtype
from ...common.blocks import BLOCK
from ...common.half import number_in, part_for
from ..precision import to_opmath
from ..rows import MOST, Prepared
from . import AT_ONCE, CPU_KERNELS
from .indexing import LISTED, where_true

# -- unique elements -----------------------------------------------------------------------------------------

def deduplicated(items: np.ndarray, order: np.ndarray | None = None, runs: bool = True,
                 counts: bool = True) -> tuple[Any, Any, Any]:
    """Return the first of each run of equal items, taken in ``order``; the run of each item; and the runs' lengths."""
    ordered, length = items if order is None else items.take(order, 0), len(items)
    starts = np.empty(length, bool)
    starts[:1] = True
    if items.ndim == 1:
        np.not_equal(ordered[1:], ordered[:-1], starts[1:])
    else:
        (ordered[1:] != ordered[:-1]).any(1, out=starts[1:])
    run = sizes = None
    if runs:
        run = starts.cumsum()
        run -= 1
        if order is not None:
            run[order] = run.copy()
    if counts:
        begins = starts.nonzero()[0]
        sizes = np.empty_like(begins)
        np.subtract(begins[1:], begins[:-1], sizes[:-1])
        sizes[-1:] = length - begins[-1:]
    return where_true(ordered, starts), run, sizes


MANY = 1 << 8  #: integers that are counted in less time than it takes to sort them


def counted(flat: np.ndarray, return_inverse: bool, return_counts: bool) -> tuple[Any, Any, Any]:
    """Return the sorted unique elements, the index of each item among them and their counts, if requested. Truth values
    and integers in a narrow range are counted instead of sorted.
    """
    if flat.dtype.kind == "b":
        true = np.count_nonzero(flat)
        counts = np.array((flat.size - true, true))
        values = counts.nonzero()[0]
        places = flat if len(values) == 2 else np.zeros(flat.size)
        return values.astype(bool), places.astype(np.int64), counts[values]
    if flat.dtype.kind in "iu" and flat.size > MANY and (
            span := int(flat.max()) - (low := int(flat.min()))) < 2 * flat.size:
        differences = np.subtract(flat, flat.dtype.type(low), dtype=flat.dtype)  # may wrap around
        places = differences.view(f"u{flat.dtype.itemsize}").astype(np.int64)
        counts = np.bincount(places, minlength=span + 1)
        present = np.flatnonzero(counts)
        values = present.astype(flat.dtype) + flat.dtype.type(low)
        inverse = (np.cumsum(counts > 0) - 1)[places] if return_inverse else places
        return values, inverse, counts[present]
    return deduplicated(flat, to_opmath(flat).argsort(kind="stable"), return_inverse, return_counts)


def of_elements(find: Callable[[np.ndarray, bool, bool], tuple[Any, Any, Any]]) -> Callable[..., Any]:
    """Return a row over all elements; outputs that were not requested are empty."""

    def row(x: np.ndarray, return_inverse: bool, return_counts: bool) -> tuple[Any, Any, Any]:
        flat = x.reshape(-1)
        values, run, counts = find(flat, return_inverse, return_counts)
        none = np.empty(0, np.int64)
        return values, run.reshape(x.shape) if return_inverse else none, counts if return_counts else none

    return row


def of_slices(order: Callable[[np.ndarray], Any]) -> Callable[..., Any]:
    """Return a row over the slices along a dimension."""

    def row(x: np.ndarray, dim: int) -> tuple[Any, Any, Any]:
        front = np.moveaxis(x, dim, 0)
        rows = front.reshape(len(front), -1) if x.size else front.reshape(0, 1)
        values, run, counts = deduplicated(rows, order(rows))
        return np.moveaxis(values.reshape(-1, *front.shape[1:]), 0, dim), run, counts

    return row


sorted_elements = of_elements(counted)
sorted_slices = of_slices(lambda rows: np.lexsort(to_opmath(rows).T[::-1]))
consecutive_elements = of_elements(lambda flat, *flags: deduplicated(flat, None, *flags))
consecutive_slices = of_slices(lambda rows: None)


def unique_consecutive(x: np.ndarray, return_inverse: bool = False, return_counts: bool = False,
                       dim: int | None = None) -> tuple[Any, Any, Any]:
    if dim is None:
        return consecutive_elements(x, return_inverse, return_counts)
    return consecutive_slices(x, dim)


# -- positions ----------------------------------------------------------------------------------------------

def searchsorted(sequence: np.ndarray, values: Any, out_int32: bool = False, right: bool = False,
                 side: str | None = None, sorter: np.ndarray | None = None) -> np.ndarray:
    """Search all values at once by bisection, in ATen's steps: they decide where NaN ends up."""
    values, right = to_opmath(beside(sequence, values)), right or side == "right"
    if sorter is not None:
        check(not sorter.size or (sorter.min() >= 0 and sorter.max() < sequence.shape[-1]),
              "torch.searchsorted(): sorter index out of range")
        sequence = np.take_along_axis(sequence, sorter, -1)
    sequence = to_opmath(sequence)
    for search in (bisected, searched):
        if (found := search(sequence, values, right)) is not None:
            return found
    n = sequence.shape[-1]
    flat = values.reshape(-1) if sequence.ndim == 1 else values
    low, high = np.zeros(flat.shape, np.int64), np.full(flat.shape, n, np.int64)
    passed = np.greater if right else np.greater_equal
    for _ in range(n.bit_length()):
        open_, middle = low < high, (low + high) // 2
        here = sequence.take(middle, mode="clip") if sequence.ndim == 1 else (
            np.take_along_axis(sequence, np.minimum(middle, n - 1), -1))
        stop = passed(here, flat)
        high = np.where(open_ & stop, middle, high)
        low = np.where(open_ & ~stop, middle + 1, low)
    return low.reshape(values.shape)


def beside(sequence: np.ndarray, value: Any) -> np.ndarray:
    """Return what is searched as an array; a number in the dtype that it and the sequence are promoted to."""
    if value.__class__ is np.ndarray:
        return value
    kind, dtype = sequence.dtype.kind, sequence.dtype
    if kind in "biu" and not isinstance(value, (int, np.integer)):
        dtype = get_default_dtype().np
    elif kind == "b" and not isinstance(value, bool):
        dtype = np.dtype(np.int64)
    return number_in(value, dtype)


PASSES = 8  #: of NumPy, for a step of the bisection


def searched(sequence: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray | None:
    """Search by a loop; None without one."""
    if not values.size or not sequence.size:
        return None
    rows = [sequence[None], values.reshape(1, -1)] if sequence.ndim == 1 else [
        a.reshape(-1, a.shape[-1]) for a in (sequence, values)]
    if sequence.dtype != values.dtype:
        common = np.result_type(sequence, values)
        rows = [a.astype(common, copy=False) for a in rows]
    lines, flat = rows if rows[0].flags.c_contiguous and rows[1].flags.c_contiguous else map(np.ascontiguousarray, rows)
    loop = loops.searchsorted.compiled(sequence.shape[-1].bit_length() * PASSES * (values.size + FEW), lines, flat)
    if loop is None:
        return None
    out = np.empty(flat.shape, np.int64)
    loop(lines, flat, out, right)
    return out.reshape(values.shape)


#: Most values that are searched in one line; how many numbers make it long, so that only a few steps are taken in it.
VALUES, LONG, STEPS = 1 << 9, 1 << 14, 1 << 5


def stepped(number_at: Callable[[int], Any], high: int, value: Any, right: bool) -> int:
    """Search a value by bisection, in ATen's steps."""
    low = 0
    while low < high:
        middle = (low + high) >> 1
        number = number_at(middle)
        if (number > value) if right else (number >= value):
            high = middle
        else:
            low = middle + 1
    return low


def bisected(line: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray | None:
    """Search few values in one line of their dtype. NumPy takes ATen's steps for a single one, unless there is NaN, and
    finds the same places in a line in order; None for other lines.
    """
    kind, size, count = line.dtype.char, line.size, values.size
    if values.dtype != line.dtype or line.ndim != 1 or not 0 < count <= VALUES:
        return None
    if kind in "bBhil":
        alike = count == 1 or (size < LONG and in_order(line))
    elif size < LONG:
        alike = kind in "fd" and (in_order(line) if count > 1 else (total := line.dot(line)) == total)
    elif kind in "fdeE" and count * size.bit_length() <= STEPS:
        number_at = line.item if line.dtype.kind != "V" else lambda at: float(line[at])
        found = [stepped(number_at, size, number, right) for number in to_opmath(values).ravel().tolist()]
        return np.array(found, np.int64).reshape(values.shape)
    else:
        return None
    return np.asarray(line.searchsorted(values, "right" if right else "left")) if alike else None


def in_order(line: np.ndarray) -> bool:
    """Return True if no number of a line is less than the one before, or NaN."""
    if line.size < 2:
        return bool(line.size and line[0] == line[0])
    rises = np.greater_equal(line[1:], line[:-1])
    return bool(rises[rises.argmin()])


def bucketize(values: Any, boundaries: np.ndarray, out_int32: bool = False, right: bool = False) -> np.ndarray:
    return searchsorted(boundaries, values, out_int32, right)


def nonzero(x: np.ndarray) -> np.ndarray:
    if not x.ndim:
        return np.empty((0, int(bool(x))), np.int64).T
    true = part_for(x, bool_).astype(bool, copy=False)  # NumPy finds truth values fastest
    if x.ndim == 1 or not LISTED <= x.size < 1 << 32:
        return np.array(true.nonzero()).T
    flat, found = true.reshape(-1), 0
    out = np.empty((x.ndim, np.count_nonzero(flat)), np.int64)
    for start in range(0, flat.size, BLOCK):
        places = flat[start:start + BLOCK].nonzero()[0].astype(np.uint32)  # which NumPy divides in half the time
        places += np.uint32(start)
        target = out[:, found:found + places.size]
        for d in range(x.ndim - 1, 0, -1):
            size = np.uint32(x.shape[d])
            before = places // size
            np.subtract(places, before * size, target[d])
            places = before
        target[0] = places
        found += places.size
    return out.T


def nonzero_static(x: np.ndarray, size: int, fill_value: int = -1) -> np.ndarray:
    out = np.empty((size, x.ndim), np.int64)
    if x.ndim:
        found = nonzero(x)
        out[:len(found)] = found[:size]
        out[len(found):] = fill_value
    return out


FEW = 1 << 10  #: most pairs for which comparing beats sorting


def isin(elements: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    x, among = to_opmath(np.asarray(elements)), to_opmath(np.asarray(test_elements))
    if x.size * among.size <= FEW:
        found = x == among.reshape(()) if among.size == 1 else np.logical_or.reduce(
            x[..., None] == among.reshape(-1), -1)
        return ~found if invert else found
    return np.isin(x, among, invert=invert)


def equal(left: np.ndarray, right: np.ndarray) -> Callable[[np.ndarray, np.ndarray], bool | None] | None:
    """Prepare the comparison of arrays of one dtype that are small, of many that differ early, or of two shapes."""
    if left.dtype != right.dtype:
        return None
    if left.shape != right.shape:
        return lambda left, right: False
    if not left.size or (left.ndim and left.size > MOST * len(left)):
        return None

    def few(left: np.ndarray, right: np.ndarray) -> bool:
        differ = np.not_equal(left, right)
        return not differ.item(differ.argmax())

    if left.size == 1:
        return lambda left, right: bool(left == right)
    if left.size <= MOST:
        return few
    head = slice(MOST * len(left) // left.size)
    return lambda left, right: None if few(left[head], right[head]) else False


AT_ONCE.add(Prepared(equal))
CPU_KERNELS.add(unique_consecutive, nonzero, nonzero_static)
CPU_KERNELS.update({
    "_unique2": lambda x, sorted=True, *flags: sorted_elements(x, *(*flags, False, False)[:2]),
    "unique_dim": lambda x, dim, *flags: sorted_slices(x, dim),
    "searchsorted.Tensor": searchsorted,
    "searchsorted.Scalar": searchsorted,
    "bucketize.Tensor": bucketize,
    "bucketize.Scalar": bucketize,
    "isin.Tensor_Tensor": isin,
    "isin.Tensor_Scalar": isin,
    "isin.Scalar_Tensor": isin,
})
