"""CPU kernels of indexing that read. ``bounded`` checks indices."""
from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.about import about
from ...._base.errors import check
from ...._base.layout import contiguous_strides
from ...._storage import allocate
from ...common.blocks import LARGE, SMALL, each_block
from ...common.half import NATIVE
from ..along import FEW, finder, starts
from ..precision import is_half, opmath
from ..rows import MOST, Prepared, taking
from . import AT_ONCE, CPU_KERNELS

Array = np.ndarray
lowest, highest = np.minimum.reduce, np.maximum.reduce  # type: Any, Any
Key = tuple[Any, ...]
Find = Callable[[Array], Array]
BEYOND = "index out of range in self"
UNSIGNED = {kind: np.dtype(kind.upper()) for kind in "bhilq"}  #: the dtypes of indices' bits, by letter
BITS: dict[int, Any] = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}  #: as which loops copy elements, by size


def are_below(index: Array, size: int) -> bool:
    """Return True if all of some indices are at least 0 and below a size; as unsigned numbers, negative ones are not.
    """
    return bool(highest(index.view(UNSIGNED.get(index.dtype.char, index.dtype)), None) < size)


def bounded(index: Array, size: int, error: type[Exception], message: str, negative: bool = False,
            kind: str = "index", dim: int = 0) -> Array:
    """Check indices into dimension ``dim`` of ``size`` elements; ``{}`` in the message is the first bad index.

    Raises:
        error: if one is out of bounds.
    """
    if index.size and not are_below(index, size):
        wrong = (index >= size) | (index < (-size if negative else 0))
        if negative and not wrong.any():
            return index
        first = index[wrong].flat[0]
        raise about(error(message.format(first)), kind, index=int(first), dim=dim, size=size)
    return index


def key_of(indices: Any) -> Key:
    """Return NumPy's index: NumPy broadcasts the indices, and places the result, as PyTorch does."""
    return tuple(slice(None) if index is None else index.astype(bool) if index.dtype == np.uint8 else index
                 for index in indices)


def nothing_chosen(x: Array, key: Key, error: IndexError) -> Array:
    """Return the empty result of out-of-bounds indices that select nothing. Raises IndexError if they select."""
    found = x[tuple(part if isinstance(part, slice) or part.dtype == bool else np.zeros_like(part) for part in key)]
    if found.size:
        index, dim, size = map(int, re.findall(r"-?\d+", str(error)))  # NumPy's error has only its message
        raise about(IndexError(str(error).replace("axis", "dimension")),
                    "index", index=index, dim=dim, size=size) from None
    return found


def index(x: Array, indices: Any) -> Array:
    key = key_of(indices)
    try:
        return where_true(x, key[0]) if len(key) == 1 and is_mask(key[0]) else x[key]
    except IndexError as error:
        return nothing_chosen(x, key, error)


def rows_at(x: Array, at: Array) -> Array:
    """Select rows at indices, negative ones from the end; large results in blocks. Raises IndexError if out of bounds.
    """
    if x.size * at.size < LARGE:  # an upper bound of the result's size
        return x.take(at, 0)
    count, size = len(x), x.size * at.size // max(len(x), 1)
    if size < LARGE or not x.flags.c_contiguous or lowest(at, None) < -count or highest(at, None) >= count:
        return x.take(at, 0)
    out = allocate((*at.shape, *x.shape[1:]), x.dtype)
    places, rows = at.reshape(-1), out.reshape(at.size, *x.shape[1:])
    each_block(lambda part: x.take(places[part], 0, rows[part], "wrap"),  # "raise" would buffer the result
               at.size, max(LARGE * at.size // size, 1), size)
    return out


#: From this many elements on, listing a mask's indices beats branching on it.
LISTED = 1 << 12


def is_mask(index: Any) -> bool:
    return index.__class__ is Array and index.dtype == bool


def where_true(x: Array, mask: Array) -> Array:
    """Return ``x[mask]``. Raises IndexError if the mask does not match the first dimensions."""
    if (mask.ndim == x.ndim and x.size < LISTED) or x.shape[:mask.ndim] != mask.shape or not x.size or (
            not x.flags.c_contiguous) or np.count_nonzero(mask) * 16 > mask.size * 15:  # most, between which it copies
        chosen: Array = x[mask]
        return chosen
    return x.reshape(-1, *x.shape[mask.ndim:]).compress(mask.reshape(-1), 0)


@partial(Prepared, count=3)
def index_select(x: Array, dim: int, at: Array) -> Callable[[Array, int, Array], Array]:
    """Prepare ``index_select`` of few indices."""
    shape = x.shape or (1,)
    find = finder((shape[dim],), 0, (at.size,) if x.ndim else ())
    if find is None or not x.size or x.size // shape[dim] * at.size >= LARGE:
        return selected
    flat = None if x.ndim == at.ndim == 1 else (-1,) if x.ndim else ()

    def few(x: Array, dim: int, at: Array) -> Array:
        try:
            places = find(at if flat is None else at.reshape(flat))
        except ValueError:  # out of bounds
            return selected(x, dim, at)
        return np.asarray(x.take(places, dim) if x.ndim else x.take(places))

    return few


def selected(x: Array, dim: int, at: Array) -> Array:
    if not x.ndim:
        bounded(at.reshape(-1), 1, IndexError, BEYOND, kind="index in self", dim=dim)
        return x
    if x.size and at.ndim == 1 and at.size and lowest(at) >= 0:
        with suppress(IndexError):  # NumPy finds an index that is too large, if there are elements to take
            return x.take(at, dim) if dim % x.ndim else rows_at(x, at)
    check(x.shape[dim] or not at.size or x.ndim == 1, "index_select(): self indexing axis dim should be positive")
    size = x.shape[dim]
    error, words = ((RuntimeError, f"INDICES element is out of DATA bounds, id={{}} axis_dim={size}")
                    if x.ndim > 1 and (dim % x.ndim == 1 or not x.size) else (IndexError, BEYOND))
    at = bounded(at.reshape(-1), size, error, words, kind="index in self", dim=dim)
    return np.take(x, at, axis=dim) if dim % x.ndim else rows_at(x, at)


def in_bounds(x: Array, dim: int, at: Array) -> Array:
    """Check indices along a dimension. Raises RuntimeError if one is out of bounds."""
    dim %= x.ndim
    size = x.shape[dim]
    return bounded(at, size, RuntimeError, f"index {{}} is out of bounds for dimension {dim} with size {size}", dim=dim)


def flat_elements(x: Array, dim: int, at: Array) -> Array:
    """Return the flat indices of elements at indices along a dimension of an array of this shape."""
    if (found := starts(x.shape, dim, at.shape)) is not None:
        step, others = found
        return ((at if step == 1 else at * step) + others).reshape(-1)
    steps = contiguous_strides(x.shape)
    places = at if steps[dim] == 1 else at * steps[dim]
    for d, (index, step) in enumerate(zip(np.ogrid[tuple(slice(n) for n in at.shape)], steps, strict=True)):
        if d != dim:
            places = places + index * step if places is at else np.add(places, index * step, out=places)
    return places.reshape(-1)


def grid(x: Array, dim: int, at: Array) -> tuple[Array, Key]:
    """Return the array and an index such that its elements are ``x`` at ``at`` along ``dim``.

    A 0-d array becomes 1-d. For a contiguous array, both are flat.
    """
    x, at = (x, at) if x.ndim and at.ndim else (x.reshape(-1), at.reshape(-1))
    dim %= x.ndim
    in_bounds(x, dim, at)
    if x.flags.c_contiguous:  # NumPy is faster with one flat index
        return x.reshape(-1), (flat_elements(x, dim, at),)
    key = list(np.ogrid[tuple(slice(n) for n in at.shape)])
    key[dim] = at
    return x, tuple(key)


def are_contiguous(*arrays: Array) -> bool:
    return all(array.flags.c_contiguous for array in arrays)


def are_lines(x: Array, dim: int, at: Array) -> bool:
    """Return True if indices select along the last dimension, other sizes are equal, and both arrays are contiguous."""
    return x.ndim == at.ndim > 1 and dim % x.ndim == x.ndim - 1 and x.shape[:-1] == at.shape[:-1] and (
        are_contiguous(x, at))


def are_boxes(x: Array, dim: int, at: Array) -> bool:
    """Return True if indices select along another dimension, other sizes are equal, and both arrays are contiguous."""
    dim %= x.ndim
    return dim < x.ndim - 1 and x.ndim == at.ndim and x.shape[:dim] == at.shape[:dim] and (
        x.shape[dim + 1:] == at.shape[dim + 1:] and are_contiguous(x, at))


def lines_of(x: Array) -> Array:
    return x.reshape(-1, x.shape[-1])


@partial(Prepared, count=3)
def gather(x: Array, dim: int, at: Array, sparse_grad: bool = False) -> Callable[[Array, int, Array], Array]:
    """Prepare ``gather``; few indices into an array that is contiguous, or soon copied, become flat indices."""
    find = finder(x.shape, dim, at.shape) if x.flags.c_contiguous or x.size <= MOST else None
    if find is None:
        return gathered

    def few(x: Array, dim: int, at: Array) -> Array:
        try:
            places = find(at)
        except ValueError:  # out of bounds
            return gathered(x, dim, at)
        return np.asarray(x.take(places))

    return few


def gathered(x: Array, dim: int, at: Array) -> Array:
    if not at.size:
        return np.empty(at.shape, x.dtype)
    if at.size > FEW and x.size <= 2 * at.size:  # contiguous ones, which loops take
        x, at = np.ascontiguousarray(x), np.ascontiguousarray(at, np.int64)
    if at.size > FEW and x.itemsize in BITS and are_boxes(x, dim, at) and (
            loop := loops.gather_down.compiled(at.size, x.view(BITS[x.itemsize]))) is not None:
        return gathered_down(loop, x, dim, at)
    if at.size > FEW and x.itemsize in BITS and are_lines(x, dim, at) and (
            loop := loops.gather.compiled(at.size, x.view(BITS[x.itemsize]))) is not None:
        return gathered_along(loop, x, dim, at)
    if at.size <= 2 * SMALL or at.ndim < 2 or not dim % at.ndim:
        x, key = grid(x, dim, at)
        return (x.take(key[0]) if len(key) == 1 else x[key]).reshape(at.shape)
    out = allocate(at.shape, x.dtype)

    def work(part: slice) -> None:  # its flat indices stay in the cache
        lines, key = grid(x[part], dim, at[part])
        out[part] = (lines.take(key[0]) if len(key) == 1 else lines[key]).reshape(at[part].shape)

    each_block(work, len(at), max(SMALL * len(at) // at.size, 1), at.size)
    return out


def gathered_along(loop: Callable[..., None], x: Array, dim: int, at: Array) -> Array:
    """Gather along the last dimension by a loop, several lines at a time."""
    out = allocate(at.shape, x.dtype)
    source, places, target = (lines_of(array) for array in (x.view(BITS[x.itemsize]), at, out.view(BITS[x.itemsize])))

    def of_lines(part: slice) -> None:
        loop(source[part], in_bounds(x, dim, places[part]), target[part])

    each_block(of_lines, len(source), max(SMALL * len(source) // at.size, 1), at.size)
    return out


def gathered_down(loop: Callable[..., None], x: Array, dim: int, at: Array) -> Array:
    """Gather by a loop, several outer indices at a time, or several rows if there is only one."""
    out = allocate(at.shape, x.dtype)
    boxes = prod(at.shape[:dim % x.ndim])
    source, places, target = (array.reshape(boxes, array.shape[dim], -1)
                              for array in (x.view(BITS[x.itemsize]), at, out.view(BITS[x.itemsize])))

    def of_boxes(part: slice) -> None:
        loop(source[part], in_bounds(x, dim, places[part]), target[part])

    def of_rows(part: slice) -> None:
        loop(source, in_bounds(x, dim, places[:, part]), target[:, part])

    count = boxes if boxes > 1 else at.shape[dim]
    each_block(of_boxes if boxes > 1 else of_rows, count, max(SMALL * count // at.size, 1), at.size)
    return out


def flat_positions(x: Array, at: Array) -> Array:
    message = f"out of range: tried to access index {{}} on a tensor of {x.size} elements."
    return bounded(at, x.size, IndexError, message, negative=True, kind="element index")


def take(x: Array, at: Array) -> Array:
    try:
        return np.asarray(x.take(at))  # NumPy counts negative indices from the end, too
    except IndexError:
        return x.reshape(-1)[flat_positions(x, at)]


def masked_select(x: Array, mask: Array) -> Array:
    return where_true(*np.broadcast_arrays(x, mask))


def clamped(x: Array, indices: list[Any]) -> Callable[[list[Any]], Key] | None:
    """Prepare NumPy's index of few integers, brought into the range of their dimensions; None for other indices."""
    sizes = x.shape[:len(indices)]
    if not x.size or any(at is None or at.dtype.kind != "i" or at.size > FEW for at in indices):
        return None
    bounds = [(np.asarray(-size), np.asarray(size - 1)) for size in sizes]
    return lambda indices: tuple([np.minimum(np.maximum(at, low), high)
                                  for at, (low, high) in zip(indices, bounds, strict=True)])


@taking(3)
def unsafe_masked_index(x: Array, mask: Array, indices: list[Any], fill: Any) -> Callable[..., Any] | None:
    """Prepare few elements at indices, and a number elsewhere."""
    key = clamped(x, indices)
    if key is None or x[key(indices)].shape != mask.shape or not (x.dtype.kind in NATIVE or is_half(x)):
        return None
    number = np.asarray(fill).astype(opmath(x.dtype)).astype(x.dtype)
    return lambda x, mask, indices: np.where(mask, x[key(indices)], number)


@taking(2)
def take_along_dim(x: Array, at: Array, dim: int | None = None) -> Callable[..., Any] | None:
    """Prepare ``take_along_dim``, broadcast; few indices become flat indices."""
    if dim is None:
        find = finder((x.size,), 0, at.shape)
        return None if find is None else partial(taken_flat, find)
    if not x.ndim or not x.size or not 0 < at.size <= FEW:
        return None
    dim %= x.ndim
    shape = *at.shape[:dim], x.shape[dim], *at.shape[dim + 1:]
    whole = np.broadcast_shapes(shape, x.shape)
    others = np.broadcast_to(np.arange(x.size).reshape(x.shape).take([0], dim), (*whole[:dim], at.shape[dim],
                                                                                *whole[dim + 1:]))
    if others.size > FEW:
        return None
    others, size = np.ascontiguousarray(others), np.asarray(x.shape[dim])
    step = np.asarray(prod(x.shape[dim + 1:]))
    return lambda x, at: x.take(np.add(np.multiply(np.remainder(at, size), step), others))


def taken_flat(find: Find, x: Array, at: Array) -> Array | None:
    try:
        return np.asarray(x.take(find(at).reshape(-1)))
    except ValueError:  # out of bounds
        return None


AT_ONCE.add(take_along_dim)
AT_ONCE["_unsafe_masked_index"] = unsafe_masked_index
CPU_KERNELS.add(index_select, gather, take, masked_select)
CPU_KERNELS["index.Tensor"] = index
