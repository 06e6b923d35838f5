"""CPU kernels of indexing. A name that ends in ``_`` marks a kernel that writes into its first array."""
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
from ...._base.determinism import alert_not_deterministic
from ...._base.errors import check
from ...._base.layout import contiguous_strides
from ...._dtype import from_numpy_dtype
from ...._storage import allocate
from ...common.blocks import LARGE, SMALL, each_block
from ...common.half import NATIVE, convert, part_for
from ..along import FEW, finder, starts
from ..fast_paths import held
from ..rows import MOST, Copied, Prepared, taking
from . import AT_ONCE, CPU_KERNELS
from .reduction import is_half, to_opmath

Array = np.ndarray
lowest, highest = np.minimum.reduce, np.maximum.reduce  # type: Any, Any
Key = tuple[Any, ...]
BEYOND = "index out of range in self"
UNSIGNED = {kind: np.dtype(kind.upper()) for kind in "bhilq"}  #: the dtypes of indices' bits, by letter
BITS: dict[int, Any] = {4: np.dtype(np.int32), 8: np.dtype(np.int64)}  #: as which loops copy elements, by size


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


# -- index and index_put -----------------------------------------------------------------------------------------------

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


def update_at(ufunc: Any, x: Array, key: Key, values: Any) -> None:
    """Combine values with the elements at an index, repeated indices included, as ``ufunc.at`` does."""
    if len(key) == 1 and x.ndim == 1 < getattr(key[0], "ndim", 0):
        # NumPy reads past the end of a vector of values that broadcasts to an index of several dimensions
        key, values = (key[0].reshape(-1),), np.broadcast_to(values, key[0].shape).reshape(-1)
    ufunc.at(x, key, values)


def rows_of_key(x: Array, key: Key) -> Array | None:
    """Return the rows that integers at the first dimensions select, counted in all rows of so many dimensions; None if
    the key has other parts, or integers out of bounds.
    """
    if not x.size or any(part.__class__ is not Array or part.dtype.kind != "i" or not part.size for part in key):
        return None
    rows: Any = None
    for part, size in zip(key, x.shape, strict=False):
        if not are_below(part, size):
            part = np.where(part < 0, part + size, part)
            if not are_below(part, size):
                return None
        rows = part if rows is None else rows * size + part
    return rows


def index_put_(x: Array, indices: Any, values: Array, accumulate: bool = False) -> None:
    key = key_of(indices)
    try:
        if not accumulate:
            x[key] = values
        elif (rows := rows_of_key(x, key)) is None:
            update_at(np.add, x, key, values)
        else:
            inner = x.shape[len(key):]
            total = np.ascontiguousarray(x).reshape(-1, *inner)
            combine(np.add, total, 0, rows.reshape(-1), np.broadcast_to(values, rows.shape + inner).reshape(-1, *inner))
            if not x.flags.c_contiguous:
                x[...] = total.reshape(x.shape)
    except IndexError as error:
        nothing_chosen(x, key, error)


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
            not x.flags.c_contiguous):
        chosen: Array = x[mask]
        return chosen
    return x.reshape(-1, *x.shape[mask.ndim:]).compress(mask.reshape(-1), 0)


# -- one dimension by a vector of indices ------------------------------------------------------------------------------

def front(x: Array, dim: int) -> Array:
    """Move ``dim`` to the front; give a 0-d array one dimension. Shares memory."""
    if not x.ndim:
        return x.reshape(1)
    return np.moveaxis(x, dim, 0) if dim else x


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
                    if x.ndim > 1 and dim % x.ndim == 1 else (IndexError, BEYOND))
    at = bounded(at.reshape(-1), size, error, words, kind="index in self", dim=dim)
    return np.take(x, at, axis=dim) if dim % x.ndim else rows_at(x, at)


def flat_rows(shape: tuple[int, ...], dim: int, at: Array) -> Array:
    """Return the flat indices of all elements at indices into a dimension of a contiguous array."""
    if (found := starts(shape, dim, (*shape[:dim], at.size, *shape[dim + 1:]))) is not None:
        step, others = found
        return (at.reshape(-1, *[1] * (len(shape) - dim - 1)) * step + others).reshape(-1)
    boxes, inner = np.arange(prod(shape[:dim])), prod(shape[dim + 1:])
    return np.asarray(((boxes[:, None, None] * shape[dim] + at[:, None]) * inner + np.arange(inner)).reshape(-1))


#: From this many elements on, a product with a sparse matrix beats ``np.add.at``.
MANY = 1 << 12


def add_rows(x: Array, at: Array, values: Array) -> None:
    """Add rows at indices, in their order, to contiguous ones, as a product with a sparse matrix of ones does."""
    from scipy.sparse._sparsetools import csc_matvecs  # slow to import; the public product adds to zeros alone

    csc_matvecs(len(x), at.size, x.size // len(x), np.arange(at.size + 1), at, np.ones(at.size, x.dtype),
                values.reshape(-1), x.reshape(-1))


PASSES = 8  #: of NumPy that take the time of ``ufunc.at``
#: What combines truth values as numbers.
AS_NUMBERS = {np.add: np.maximum, np.multiply: np.minimum}


def combine(ufunc: Any, x: Array, dim: int, at: Array, values: Array) -> None:
    """Combine values with elements along a dimension, in their order; without a ufunc, write them. Indices are within
    bounds: one for each value, or a vector of those along ``dim``.
    """
    if not values.size:
        return
    if x.dtype == bool:  # NumPy combines numbers five times as fast
        ufunc, x, values = AS_NUMBERS.get(ufunc, ufunc), x.view(np.uint8), values.view(np.uint8)
    shape, of_rows, loop = x.shape, at.ndim == 1, None
    total = x if x.flags.c_contiguous else np.ascontiguousarray(x)
    if values.size > FEW and (of_rows or shape[:dim] + shape[dim + 1:] == at.shape[:dim] + at.shape[dim + 1:]):
        values, at = np.ascontiguousarray(values, x.dtype), np.ascontiguousarray(at, np.int64)
        loop = (loops.at_rows if of_rows else loops.at_each)[ufunc.__name__ if ufunc else "copy"].compiled(
            PASSES * values.size, total, values)
    if loop is None and ufunc is np.add and of_rows and dim == 0 and x.ndim > 1 and (
            values.size >= MANY and x.dtype.char in "fd"):
        add_rows(total, at, values)
    elif loop is None:
        places = flat_rows(shape, dim, at) if of_rows else flat_elements(total, dim, at)
        if ufunc:
            ufunc.at(total.reshape(-1), places, values.reshape(-1))
        else:
            total.reshape(-1)[places] = values.reshape(-1)
    else:
        boxes = prod(shape[:dim])
        target, given = (array.reshape(boxes, array.shape[dim], -1) for array in (total, values))
        places = at if of_rows else at.reshape(given.shape)
        each_block(lambda part: loop(target[part], places if of_rows else places[part], given[part]), boxes,
                   max(LARGE * boxes // values.size, 1), values.size)
    if total is not x:
        x[...] = total


def added_up(values: Array, at: Array, count: int) -> Array:
    """Sum rows of ``values`` by their row index ``at`` into a matrix of ``count`` rows."""
    out = np.zeros((count, values.shape[1]), values.dtype)
    combine(np.add, out, 0, at, values)
    return out


def in_opmath(x: Array, compute: Callable[[Array], None]) -> None:
    """Let a function change an array in the dtype of the computation."""
    wide = to_opmath(x)
    compute(wide)
    if wide is not x:
        convert(wide, x)


def index_add_(x: Array, dim: int, at: Array, source: Array, alpha: Any = 1) -> None:
    if x.ndim > 1 and not x.size:  # ATen looks at no index here
        return
    x, source, dim = (x, source, dim % x.ndim) if x.ndim else (x.reshape(1), source.reshape(1), 0)
    size, inner = x.shape[dim], x.ndim < 2 or alpha != 1 or 0 < dim < x.ndim - 1  # where ATen adds slice by slice
    error, words = (IndexError, BEYOND) if inner else (
        RuntimeError, f"index {{}} is out of bounds for dimension {dim} with size {size}")
    at = bounded(at.reshape(-1), size, error, words, dim=dim)
    values = to_opmath(source if alpha == 1 else source * np.asarray(alpha).astype(x.dtype))
    in_opmath(x, lambda total: combine(np.add, total, dim, at, values))


def index_copy_(x: Array, dim: int, at: Array, source: Array) -> None:
    rows, dim = front(x, dim), dim % max(x.ndim, 1)
    message = f"index_copy_(): index {{}} is out of bounds for dimension {dim} with size {len(rows)}"
    rows[bounded(at.reshape(-1), len(rows), IndexError, message, dim=dim)] = front(source, dim)


def index_fill_(x: Array, dim: int, at: Array, value: Any) -> None:
    rows, dim = front(x, dim), dim % max(x.ndim, 1)
    if 0 in rows.shape[1:]:  # PyTorch checks no index of rows without elements
        return
    message = f"index {{}} is out of bounds for dimension {dim} with size {len(rows)}"
    at = bounded(at.reshape(-1), len(rows), IndexError, message, negative=True, dim=dim)
    rows[at] = np.asarray(value).astype(x.dtype)


def index_reduce_(x: Array, dim: int, at: Array, source: Array, reduce: str, include_self: bool = True) -> None:
    x, source, dim = (x, source, dim % x.ndim) if x.ndim else (x.reshape(1), source.reshape(1), 0)
    at = bounded(at.reshape(-1), x.shape[dim], IndexError, BEYOND, kind="index in self", dim=dim)
    if reduce == "prod":  # ATen rounds each product of half precision
        reduce_along(x, dim, at, source, reduce, include_self)
    else:
        in_opmath(x, lambda total: reduce_along(total, dim, at, to_opmath(source), reduce, include_self))


def extreme(largest: bool, dtype: np.dtype) -> Any:
    """Return the greatest or least number of a dtype, the identity of a minimum or maximum."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).max if largest else np.iinfo(dtype).min
    return largest if dtype.kind == "b" else dtype.type(np.inf if largest else -np.inf)


#: reduction: (ufunc, its identity by dtype)
REDUCTIONS: dict[str, tuple[Any, Callable[[np.dtype], Any]]] = {
    "sum": (np.add, lambda dtype: 0), "add": (np.add, lambda dtype: 0),
    "prod": (np.multiply, lambda dtype: 1), "multiply": (np.multiply, lambda dtype: 1),
    "mean": (np.add, lambda dtype: 0),
    "amax": (np.maximum, partial(extreme, False)), "amin": (np.minimum, partial(extreme, True)),
}


def reduce_along(x: Array, dim: int, at: Array, values: Array, reduce: str, include_self: bool) -> None:
    """Reduce values into elements along a dimension, as ``combine`` does; with ``include_self``, together with their
    old values.
    """
    ufunc, start = REDUCTIONS[reduce]
    places: Any = None
    if reduce == "mean" or not include_self:
        places = flat_rows(x.shape, dim, at) if at.ndim == 1 else flat_elements(x, dim, at)
    if not include_self:
        x[np.unravel_index(places, x.shape)] = start(x.dtype)
    combine(ufunc, x, dim, at, values)
    if reduce == "mean":
        average(x, np.bincount(places, minlength=x.size).reshape(x.shape), include_self)


def average(x: Array, count: Array, include_self: bool) -> None:
    """Divide sums by how many values were added, and one more with ``include_self``."""
    count += include_self
    count = np.maximum(count, 1)
    np.copyto(x, x // count if x.dtype.kind in "iu" else x / count, casting="unsafe")


# -- gather and scatter ------------------------------------------------------------------------------------------------

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
    """Prepare ``gather``; few indices into a contiguous array become flat indices."""
    find = finder(x.shape, dim, at.shape) if x.flags.c_contiguous else None
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
    if at.size > FEW and at.dtype != np.int64:  # which loops take
        at = at.astype(np.int64)
    if at.size > 2 * SMALL and x.itemsize in BITS and are_boxes(x, dim, at) and (
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


def scatter_(x: Array, dim: int, at: Array, src: Any, reduce: str | None = None, include_self: bool = True) -> None:
    if not at.size:
        return
    shape = at.shape or (1,)
    values = (src.reshape(src.shape or (1,))[tuple(slice(n) for n in shape)] if isinstance(src, Array) else
              np.asarray(src).astype(x.dtype))
    if reduce is None and not values.ndim:
        x, key = grid(x, dim, at)
        x[key] = values
        return
    x, at = (x, at) if x.ndim and at.ndim else (x.reshape(-1), at.reshape(-1))
    dim, at = dim % x.ndim, in_bounds(x, dim, at)
    if reduce is None:
        bits = BITS.get(x.itemsize, x.dtype)
        combine(None, x.view(bits), dim, at, values.view(bits))
        return
    values = to_opmath(np.broadcast_to(values, at.shape))
    in_opmath(x, lambda total: reduce_along(total, dim, at, values, reduce, include_self))


def scatter_add_(x: Array, dim: int, at: Array, src: Array) -> None:
    scatter_(x, dim, at, src, "add")


# -- flat positions and masks ------------------------------------------------------------------------------------------

def flat_positions(x: Array, at: Array) -> Array:
    message = f"out of range: tried to access index {{}} on a tensor of {x.size} elements."
    return bounded(at, x.size, IndexError, message, negative=True, kind="element index")


def take(x: Array, at: Array) -> Array:
    try:
        return np.asarray(x.take(at))  # NumPy counts negative indices from the end, too
    except IndexError:
        return x.reshape(-1)[flat_positions(x, at)]


def put_(x: Array, at: Array, source: Array, accumulate: bool = False) -> None:
    places = flat_positions(x, at.reshape(-1)) % max(x.size, 1)
    if accumulate:
        total = x.reshape(-1)
        combine(np.add, total, 0, places, source.reshape(-1))
        if not x.flags.c_contiguous:
            x[...] = total.reshape(x.shape)
    else:
        x = x if x.ndim else x.reshape(1)
        alert_not_deterministic("put_")
        x[np.unravel_index(places, x.shape)] = source.reshape(-1)


def masked_select(x: Array, mask: Array) -> Array:
    return where_true(*np.broadcast_arrays(x, mask))


def masked_scatter_(x: Array, mask: Array, source: Array) -> None:
    mask = np.broadcast_to(mask, x.shape)
    count = int(mask.sum())
    if source.size < count:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    x[mask] = source.reshape(-1)[:count]


def fill_(x: Array, value: Any) -> None:
    np.copyto(x, part_for(np.asarray(value), from_numpy_dtype(x.dtype)).astype(x.dtype))


def zero_(x: Array) -> None:
    x.fill(0)


# -- writes that are prepared ------------------------------------------------------------------------------------------

Find = Callable[[Array], Array]
SEVERAL = 1 << 6  #: values for which a loop that is there takes less than ``ufunc.at``


def from_end(find: Find | None, size: int) -> Find | None:
    """Return ``find`` for indices of which negative ones count from the end of so many elements."""
    def of_signed(at: Array) -> Array:
        try:
            return find(at)  # type: ignore[misc]
        except ValueError:
            return find(np.where(at < 0, at + size, at))  # type: ignore[misc]

    return find and of_signed


def put_at(x: Array, places: Array, values: Any) -> None:
    """Write values at flat places of a contiguous array."""
    x.reshape(-1)[places] = values


def combine_at(ufunc: Any, x: Array, places: Array, values: Array) -> None:
    """Combine few values with elements at places of a vector, in their order."""
    if values.size >= SEVERAL and values.size == places.size and (
            loop := loops.at_each[ufunc.__name__].compiled(PASSES * values.size, x, values)) is not None:
        loop(x.reshape(1, -1, 1), places.reshape(1, -1, 1), values.reshape(1, -1, 1))
    else:
        ufunc.at(x, places, values)


def reducing(reduce: str, dtype: np.dtype, wide: np.dtype, include_self: bool = True) -> Callable[..., None]:
    """Prepare ``reduce_along`` at flat places of a contiguous array, computed in a dtype that may be wider."""
    ufunc, start = REDUCTIONS[reduce]
    first, kept = None if include_self else start(wide), wide == dtype

    def run(x: Array, places: Array, values: Array) -> None:
        flat = x.reshape(-1)
        total = flat if kept else flat.astype(wide)
        if first is not None:
            total[places] = first
        combine_at(ufunc, total, places, values if kept else values.astype(wide))
        if reduce == "mean":
            average(total, np.bincount(places.reshape(-1), minlength=total.size), include_self)
        if total is not flat:
            convert(total, flat)

    return run


def opmath(dtype: np.dtype) -> np.dtype:
    """Return the dtype of the computation, as of ``to_opmath``."""
    wide: np.dtype = to_opmath(np.empty(0, dtype)).dtype
    return wide


def at_places(find: Find | None, write: Callable[[Array, Array, Any], None], shape: Any = None, key: Any = None,
              number: Any = None) -> Callable[..., Any] | None:
    """Prepare a write at indices along a dimension, of values or a number: at the places that ``find`` returns for
    indices of a shape.
    """
    def run(x: Array, dim: int, at: Array, values: Any = number) -> Any:
        try:
            places = find(at if shape is None else at.reshape(shape))  # type: ignore[misc]
        except ValueError:  # out of bounds
            return False
        return write(x, places, values if key is None else values[key])

    return None if find is None else run


def scatter_at(x: Array, dim: int, at: Array, src: Any, reduce: str | None = None,
               include_self: bool = True) -> Callable[..., Any] | None:
    """Prepare ``scatter_`` and its like for few indices."""
    find, key, number = finder(x.shape, dim, at.shape) if x.flags.c_contiguous else None, None, None
    write = put_at if reduce is None else reducing(reduce, x.dtype, opmath(x.dtype), include_self)
    if src.__class__ is not Array:
        number = np.broadcast_to(np.asarray(src).astype(x.dtype), at.shape if reduce else ())
    elif src.shape != at.shape:
        key = tuple([slice(n) for n in at.shape])
        if src.ndim != at.ndim:
            return None
    return at_places(find, write, key=key, number=number)


def at_rows(write: Callable[[Array, Array, Any], None], x: Array, dim: int, at: Array, source: Any,
            signed: bool = False) -> Callable[..., Any] | None:
    """Prepare a write of slices, or of a number, at few indices of a dimension."""
    shape = x.shape or (1,)
    dim %= len(shape)
    whole = *shape[:dim], at.size, *shape[dim + 1:]
    if not x.flags.c_contiguous or (source.__class__ is Array and source.shape not in (whole, ())):
        return None
    find, column = finder(shape, dim, whole), (*[1] * dim, -1, *[1] * (len(shape) - dim - 1))
    return at_places(from_end(find, shape[dim]) if signed else find, write,
                     None if column == (-1,) and at.ndim else column,
                     number=None if source.__class__ is Array else np.asarray(source).astype(x.dtype))


def index_add_at(x: Array, dim: int, at: Array, source: Array, alpha: Any = 1) -> Callable[..., Any] | None:
    """Prepare ``index_add_`` for few indices."""
    add, factor = reducing("add", x.dtype, opmath(x.dtype)), None if alpha == 1 else np.asarray(alpha).astype(x.dtype)
    return at_rows(add if factor is None else lambda x, places, values: add(x, places, values * factor),
                   x, dim, at, source)


def index_reduce_at(x: Array, dim: int, at: Array, source: Array, reduce: str,
                    include_self: bool = True) -> Callable[..., Any] | None:
    """Prepare ``index_reduce_`` for few indices."""
    wide = x.dtype if reduce == "prod" else opmath(x.dtype)
    return at_rows(reducing(reduce, x.dtype, wide, include_self), x, dim, at, source)


def put_in_row(x: Array, at: Array, source: Array, accumulate: bool = False) -> Callable[..., Any] | None:
    """Prepare ``put_`` for few indices."""
    find, write = from_end(finder((x.size,), 0, at.shape), x.size), (
        reducing("add", x.dtype, x.dtype) if accumulate else put_at)
    if find is None or not x.flags.c_contiguous:
        return None

    def run(x: Array, at: Array, source: Array) -> Any:
        try:
            places = find(at)
        except ValueError:  # out of bounds
            return False
        if not accumulate:
            alert_not_deterministic("put_")
        return write(x, places, source if source.shape == places.shape else source.reshape(places.shape))

    return run


def masked_scatter_in_order(x: Array, mask: Array, source: Array) -> Callable[..., Any] | None:
    """Prepare ``masked_scatter_``; the functional form may have a target that is broadcast to the mask."""
    shape = x.shape
    if np.broadcast_shapes(shape, mask.shape) != shape:
        return lambda *arrays: False
    if not x.flags.c_contiguous:
        return None

    def run(x: Array, mask: Array, source: Array) -> Any:
        places = (mask if mask.shape == shape else np.broadcast_to(mask, shape)).reshape(-1).nonzero()[0]
        if source.size < places.size:
            return False
        x.reshape(-1)[places] = source.reshape(-1)[:places.size]
        return None

    return run


def preparing(name: str, plain: Callable[..., None], prepare: Callable[..., Any], count: int = 4) -> None:
    """Add the rows of an in-place operator and of its functional form, which take so many leading arguments."""
    row = Prepared(prepare, count, plain)
    CPU_KERNELS[name] = row
    AT_ONCE[name.replace("_.", ".").removesuffix("_")] = Copied(row)


preparing("scatter_.src", scatter_, scatter_at)
preparing("scatter_.reduce", scatter_, scatter_at)
preparing("scatter_.value", scatter_, scatter_at, 3)
preparing("scatter_.value_reduce", scatter_, scatter_at, 3)
preparing("scatter_reduce_.two", scatter_, scatter_at)
preparing("scatter_add_", scatter_add_, partial(scatter_at, reduce="add"))
preparing("index_add_", index_add_, index_add_at)
preparing("index_reduce_", index_reduce_, index_reduce_at)
preparing("index_copy_", index_copy_, partial(at_rows, put_at))
preparing("index_fill_.int_Scalar", index_fill_, partial(at_rows, put_at, signed=True), 3)
preparing("index_fill_.int_Tensor", index_fill_, partial(at_rows, put_at, signed=True))
preparing("put_", put_, put_in_row, 3)
preparing("masked_scatter_", masked_scatter_, masked_scatter_in_order, 3)
@taking(4)
def index_select_backward(grad: Array, sizes: tuple[int, ...], dim: int, at: Array) -> Callable[..., Any] | None:
    """Prepare sums of a gradient at few indices, into zeros."""
    dtype = grad.dtype
    write = index_add_at(np.zeros(sizes, dtype), dim, at, grad) if prod(sizes) <= MOST else None

    def run(grad: Array, sizes: tuple[int, ...], dim: int, at: Array) -> Array | None:
        out = np.zeros(sizes, dtype)
        return None if write(out, dim, at, grad) is False else out  # type: ignore[misc]

    return write and run


@taking(2)
def masked_scatter_backward(grad: Array, mask: Array, sizes: tuple[int, ...]) -> Callable[..., Any] | None:
    """Prepare the elements of a gradient under a mask, in order, before zeros."""
    def run(grad: Array, mask: Array) -> Array:
        out: Array = np.zeros(sizes, grad.dtype)
        chosen = grad[mask]
        out.reshape(-1)[:chosen.size] = chosen
        return out

    return run if mask.shape == grad.shape else None


def fill(x: Array, value: Any) -> Callable[[Array], Array] | None:
    """Prepare an array like another that is not large, filled with a number that its dtype surely holds."""
    number = held(from_numpy_dtype(x.dtype), value) if x.size < SMALL else None

    def run(x: Array) -> Array:
        out = np.empty_like(x)
        out.fill(number)
        return out

    return None if number is None else run


def clamped(x: Array, indices: list[Any]) -> Callable[[list[Any]], Key] | None:
    """Prepare NumPy's index of few integers, brought into the range of their dimensions; None for other indices."""
    sizes = x.shape[:len(indices)]
    if not x.size or any(at is None or at.dtype.kind != "i" or at.size > FEW for at in indices):
        return None
    bounds = [(np.asarray(-size), np.asarray(size - 1)) for size in sizes]
    return lambda indices: tuple([np.minimum(np.maximum(at, low), high)
                                  for at, (low, high) in zip(indices, bounds, strict=True)])


@taking(3)
def index_put(x: Array, indices: list[Any], values: Array, accumulate: bool = False) -> Callable[..., Any] | None:
    """Prepare ``index_put`` for integers at the first dimensions."""
    count, inner = len(indices), x.shape[len(indices):]
    if not x.size or any(at is None or at.dtype.kind != "i" or not at.size for at in indices):
        return None
    sizes, shape = x.shape[:count], np.broadcast_shapes(*[at.shape for at in indices])
    whole, steps = (*shape, *inner), np.arange(prod(inner)).reshape(inner)
    length, few = np.asarray(steps.size), prod(whole) <= FEW

    def run(x: Array, indices: list[Array], values: Array) -> Array | None:
        out = x.copy()
        try:
            rows = np.ravel_multi_index(tuple(indices), sizes)
        except ValueError:  # negative, or out of bounds
            return None
        if not accumulate:
            out.reshape(-1, *inner)[rows] = values
        elif few:
            places = np.multiply(rows, length).reshape(shape + (1,) * len(inner)) + steps if inner else rows
            combine_at(np.add, out.reshape(-1), places, values)
        else:
            combine(np.add, out.reshape(-1, *inner), 0, rows.reshape(-1),
                    np.broadcast_to(values, whole).reshape(-1, *inner))
        return out

    return run


@taking(3)
def unsafe_masked_index(x: Array, mask: Array, indices: list[Any], fill: Any) -> Callable[..., Any] | None:
    """Prepare few elements at indices, and a number elsewhere."""
    key = clamped(x, indices)
    if key is None or x[key(indices)].shape != mask.shape or not (x.dtype.kind in NATIVE or is_half(x)):
        return None
    number = np.asarray(fill).astype(opmath(x.dtype)).astype(x.dtype)
    return lambda x, mask, indices: np.where(mask, x[key(indices)], number)


@taking(4)
def unsafe_masked_index_put_accumulate(x: Array, mask: Array, indices: list[Any],
                                       values: Array) -> Callable[..., Any] | None:
    """Prepare the sums of few values at indices where a mask holds."""
    key = clamped(x, indices)
    if key is None or not values.shape == mask.shape == x[key(indices)].shape or not (
            x.dtype.kind in NATIVE or is_half(x)):
        return None
    zero = np.zeros((), x.dtype)

    def run(x: Array, mask: Array, indices: list[Any], values: Array) -> Array:
        out = x.copy()
        update_at(np.add, out, key(indices), np.where(mask, values, zero))
        return out

    return run


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


AT_ONCE.add(index_select_backward, masked_scatter_backward, take_along_dim)
AT_ONCE.update({"index_put": index_put, "fill.Scalar": fill, "_unsafe_masked_index": unsafe_masked_index,
                "_unsafe_masked_index_put_accumulate": unsafe_masked_index_put_accumulate})
CPU_KERNELS.add(index_put_, index_select, gather, take, masked_select, zero_)
CPU_KERNELS.update({
    "index.Tensor": index,
    "fill_.Scalar": fill_,
    "fill_.Tensor": fill_,
})
