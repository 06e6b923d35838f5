"""CPU kernels of sorting and selection by order. NaN is larger than all numbers; equal elements keep their order."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...._base import loops
from ...common.blocks import LARGE, by_slices, each_block
from ..along import taken_along
from ..precision import is_half, to_opmath
from ..rows import Prepared
from . import CPU_KERNELS
from .extrema import line_starts, lines, selected
from .reduction import add, maximum, minimum

#: Elements from which on numbering them repays its passes.
PACKED = 1 << 10
#: Elements of a line from which on a radix sort repays its tables.
LONG = 1 << 11
#: So few elements of a line are kept in order while the others are looked at.
SHORT = 1 << 5


def order(x: np.ndarray, axis: int, descending: bool = False) -> np.ndarray:
    """Return the indices that sort stably along an axis."""
    return along_slices(lambda part, axis: order_of(to_opmath(part), axis, descending), x, axis)


def along_slices(choose: Callable[[np.ndarray, int], np.ndarray], x: np.ndarray, axis: int,
                 removed: bool = False) -> np.ndarray:
    """Apply a function along an axis, which it may remove, slice by slice along another."""
    axis %= x.ndim
    if x.ndim < 2:
        return choose(x, axis)
    found: np.ndarray = by_slices(lambda part: choose(part, axis), x, axis=0 if axis else 1,
                                  at=0 if axis or removed else 1)
    return found


def order_of(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """Return the indices of ``order`` on one thread, by NumPy's radix sort, or by its SIMD sort of packed numbers."""
    if x.size >= PACKED and (found := ranks_of(x)) is not None:
        ranks, largest = found
        if descending:
            ranks = largest - ranks
        length = x.shape[axis]
        if largest < 1 << 16 and length > LONG:
            return ranks.astype(np.uint16).argsort(axis, "stable")
        shift = length.bit_length()
        if largest.bit_length() + shift < 64:
            ranks <<= shift  # the place below the rank: there are no ties
            ranks |= np.arange(length).reshape(-1, *[1] * (x.ndim - axis - 1))
            ranks.sort(axis)
            ranks &= (1 << shift) - 1
            return ranks
    if not descending:
        return x.argsort(axis, "stable")
    backwards: Any = (slice(None),) * axis + (slice(None, None, -1),)  # reversed before and after
    return (x.shape[axis] - 1 - x[backwards].argsort(axis, "stable"))[backwards]


def ranks_of(x: np.ndarray) -> tuple[np.ndarray, int] | None:
    """Return int64 numbers from 0 that are ordered as the elements, and a bound of them; None for dtypes that have no
    such numbers, or that NumPy sorts by radix.
    """
    if x.dtype.kind in "iu" and x.itemsize > 2:
        low, high = int(minimum(x, None)), int(maximum(x, None))
        if high - low >= 1 << 63:
            return None
        return (x.astype(np.int64) - low if x.itemsize < 8 else (x - x.dtype.type(low)).view(np.int64)), high - low
    if x.dtype != np.float32:
        return None
    bits = (x + np.float32(0)).view(np.int32)  # of two zeros, neither is larger
    bits ^= (bits >> 31) & 0x7FFFFFFF
    bits[np.isnan(x)] = 0x7FFFFFFF
    return bits.astype(np.int64) + (1 << 31), (1 << 32) - 1


def sort(x: np.ndarray, dim: int = -1, descending: bool = False) -> tuple[Any, Any]:
    along, axis = lines(x, dim)
    index = order(along, axis, descending)
    return taken_along(along, index, axis).reshape(x.shape), index.reshape(x.shape)


def topk(x: np.ndarray, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Any, Any]:
    if not x.ndim:  # whatever k is
        return x, np.zeros((), np.int64)
    along, axis = lines(x, dim)
    wide = to_opmath(along).swapaxes(axis, -1)
    if 0 < k <= SHORT and x.size and (index := by_lines(wide, k, largest)) is not None:
        pass
    elif k == 1 and x.size and (  # NumPy takes NaN for the smallest, too
            largest or wide.dtype.kind in "iu" or (total := add(wide, None)) == total):
        index = np.asarray(wide.argmax(-1) if largest else wide.argmin(-1))[..., None]
    elif 0 < k < wide.shape[-1]:
        index = by_slices(lambda part: extreme(part, k, largest), wide) if wide.ndim > 1 else extreme(wide, k, largest)
        index = taken_along(index, order(taken_along(wide, index, -1), -1, largest), -1)
    else:
        index = order(wide, -1, largest)[..., :k]
    index = index.swapaxes(-1, axis)
    return taken_along(along, index, axis), index


def by_lines(x: np.ndarray, k: int, largest: bool) -> np.ndarray | None:
    """Return the indices of the k largest or smallest along the last axis, in order, by a loop; None without one."""
    matrix = np.ascontiguousarray(x).reshape(-1, x.shape[-1])
    if (loop := loops.top_of_lines.compiled(4 * x.size, matrix)) is None:
        return None
    index = np.empty((len(matrix), k), np.int64)
    each_block(lambda part: loop(matrix[part], index[part], largest), len(matrix),
               max(LARGE // 4 * len(matrix) // x.size, 1), x.size)
    return index.reshape(*x.shape[:-1], k)


def extreme(x: np.ndarray, k: int, largest: bool) -> np.ndarray:
    """Return the indices, in order, of the k largest or smallest along the last axis; ties by lowest index."""
    length = x.shape[-1]
    rank = length - k if largest else k - 1
    bound = np.partition(x, rank, -1)[..., rank, None]
    places = np.flatnonzero(~(x < bound) if largest else x <= bound)  # NaN is the largest
    if places.size * length == x.size * k:
        line, index = np.divmod(places.reshape(-1, k), length)
        if (line == np.arange(len(line))[:, None]).all():  # no line has ties at the bound
            return index.reshape(*x.shape[:-1], k)
    beyond, equal = x > bound if largest else x < bound, x == bound
    if x.size == length and x.dtype.kind in "iu":
        first = np.flatnonzero(beyond)
        ties = np.flatnonzero(equal)[:k - len(first)]
        return np.sort(np.concatenate([first, ties])).reshape(*x.shape[:-1], k)
    if x.dtype.kind == "f":
        nan, nan_bound = np.isnan(x), np.isnan(bound)
        beyond |= nan & ~nan_bound if largest else ~nan & nan_bound
        equal |= nan & nan_bound
    wanted = k - beyond.sum(-1, keepdims=True)
    chosen = beyond | equal & (np.cumsum(equal, -1) <= wanted)
    return np.nonzero(chosen)[-1].reshape(*x.shape[:-1], k)


def at_rank(x: np.ndarray, axis: int, rank: Any) -> np.ndarray:
    """Return, for each line, the index of the element of a rank: one rank for all lines, or one per line."""
    if isinstance(rank, int):
        return along_slices(lambda part, axis: order_of(to_opmath(part), axis, False).take(rank, axis), x, axis, True)
    found = order(x, axis)
    return taken_along(found, rank.reshape(*x.shape[:axis], 1, *x.shape[axis + 1:]), axis).squeeze(axis)


@Prepared
def kthvalue(x: np.ndarray, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """Prepare ``kthvalue``."""
    return selected(lambda line, axis: at_rank(line, axis, k - 1)).prepare(x, dim, keepdim)


def median(x: np.ndarray, axis: int) -> np.ndarray:
    """Find the lower median of each line, or its first NaN."""
    index = at_rank(x, axis, (x.shape[axis] - 1) // 2)
    if x.dtype.kind != "f" or (total := add(x, None)) == total:
        return index
    nan = np.isnan(x)
    return np.where(nan.any(axis), nan.argmax(axis), index)


def nanmedian(x: np.ndarray, axis: int) -> np.ndarray:
    if x.dtype.kind != "f" or (total := add(x, None)) == total:
        return at_rank(x, axis, (x.shape[axis] - 1) // 2)
    return at_rank(x, axis, np.maximum((x == x).sum(axis) - 1, 0) // 2)


def median_of_all(x: np.ndarray, ignore_nan: bool = False) -> Any:
    """Return the lower median of all elements; for none, NaN as C converts it."""
    flat = to_opmath(x).reshape(-1)
    nan = flat.dtype.kind == "f" and (total := add(flat)) != total
    numbers = flat[~np.isnan(flat)] if nan else flat.copy()
    if not numbers.size or (numbers.size < flat.size and not ignore_nan):
        return np.array(np.nan).astype(x.dtype)
    middle = (numbers.size - 1) // 2
    numbers.partition(middle)
    return numbers[middle]


def mode(x: np.ndarray, axis: int) -> np.ndarray:
    """Find the mode of each line: the last element of the first longest run in sorted order."""
    index = order(x, axis)
    run = taken_along(x, index, axis)
    if axis < x.ndim - 1:
        run = run.transpose(*range(axis), *range(axis + 1, x.ndim), axis)
    places = np.arange(run.shape[-1])
    starts = np.zeros(run.shape, np.int64)
    np.multiply(run[..., 1:] != run[..., :-1], places[1:], starts[..., 1:])
    longest = (places - np.maximum.accumulate(starts, -1)).argmax(-1)
    return taken_along(index, longest.reshape(*x.shape[:axis], 1, *x.shape[axis + 1:]), axis).squeeze(axis)


def few_sorted(x: np.ndarray, dim: int, descending: bool, k: int | None = None) -> Any:
    """Prepare the first elements of lines of a small array in stable order, and their indices; None for others."""
    half = is_half(x)
    if not 0 < x.size < PACKED or not -x.ndim <= dim < x.ndim or (x.dtype.char not in "fdlqihbB?" and not half):
        return None
    axis, in_rows = dim % x.ndim, x.flags.c_contiguous
    starts, step = line_starts(x.shape, axis)
    first, stride, last = np.expand_dims(starts, axis), np.asarray(step), np.asarray(x.shape[axis] - 1)
    rest: Any = (slice(None),) * axis
    part, backwards = (*rest, slice(k)), (*rest, slice(None, None, -1))
    first = np.ascontiguousarray(np.broadcast_to(first, x.shape)[part])

    def run(x: np.ndarray) -> tuple[Any, Any]:
        x = x if in_rows else x.copy()
        wide = x.astype(loops.SINGLE) if half else x
        if descending:  # reversed before and after, so that NaN comes first and equal elements keep their order
            index = np.subtract(last, wide[backwards].argsort(axis, "stable")[backwards][part], order="C")
        else:
            index = wide.argsort(axis, "stable")
            index = index if k is None else index[part].copy()
        return x.take(np.add(index if step == 1 else np.multiply(index, stride), first)), index

    return run


def sorting(x: np.ndarray, dim: int = -1, descending: bool = False) -> Any:
    """Prepare ``sort``."""
    if not x.ndim:
        return lambda x: (x.copy(), np.zeros((), np.int64))
    return few_sorted(x, dim, descending) or (lambda x: sort(x, dim, descending))


def highest(x: np.ndarray, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """Prepare ``topk``; of few numbers, by a stable sort."""
    return (few_sorted(x, dim, largest, k) if k else None) or (lambda x: topk(x, k, dim, largest, sorted))


CPU_KERNELS.add(kthvalue)
CPU_KERNELS.update({
    "topk": Prepared(highest),
    "sort": Prepared(sorting),
    "sort.stable": Prepared(lambda x, stable, dim=-1, descending=False: sorting(x, dim, descending)),
    "median": median_of_all,
    "median.dim": selected(median),
    "nanmedian": lambda x: median_of_all(x, True),
    "nanmedian.dim": selected(nanmedian),
    "mode": selected(mode),
})
