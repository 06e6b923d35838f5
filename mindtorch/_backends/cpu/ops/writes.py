"""CPU kernels of indexing that write into their first array. ``combine`` is their base."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.determinism import alert_not_deterministic
from ...._base.layout import never_overlaps
from ...._dtype import from_numpy_dtype
from ...common.blocks import LARGE, each_block
from ...common.half import convert, number_in, part_for
from ..along import FEW, starts
from ..precision import is_half, to_opmath
from . import CPU_KERNELS
from .indexing import (
    BEYOND, BITS, Array, Key, are_below, bounded, flat_elements, flat_positions, grid, in_bounds, key_of,
    nothing_chosen,
)


def update_at(ufunc: Any, x: Array, key: Key, values: Any) -> None:
    """Combine values with the elements at an index, repeated indices included, as ``ufunc.at`` does."""
    if len(key) == 1 and x.ndim == 1 < getattr(key[0], "ndim", 0):
        # NumPy reads past the end of a vector of values that broadcasts to an index of several dimensions
        key, values = (key[0].reshape(-1),), np.broadcast_to(values, key[0].shape).reshape(-1)
    ufunc.at(x, key, values)


def overlaps_itself(x: Array) -> bool:
    """Return whether two indices may share an element, as in expanded memory."""
    return not x.flags.c_contiguous and not never_overlaps(x.shape, x.strides)


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
        elif overlaps_itself(x) or (rows := rows_of_key(x, key)) is None:
            update_at(np.add, x, key, values)  # in place: each sum shows in all elements of the memory
        else:
            inner = x.shape[len(key):]
            total = np.ascontiguousarray(x).reshape(-1, *inner)
            combine(np.add, total, 0, rows.reshape(-1), np.broadcast_to(values, rows.shape + inner).reshape(-1, *inner))
            if not x.flags.c_contiguous:
                x[...] = total.reshape(x.shape)
    except IndexError as error:
        nothing_chosen(x, key, error)


def front(x: Array, dim: int) -> Array:
    """Move ``dim`` to the front; give a 0-d array one dimension. Shares memory."""
    if not x.ndim:
        return x.reshape(1)
    return np.moveaxis(x, dim, 0) if dim else x


def flat_rows(shape: tuple[int, ...], dim: int, at: Array) -> Array:
    """Return the flat indices of all elements at indices into a dimension of a contiguous array."""
    if (found := starts(shape, dim, (*shape[:dim], at.size, *shape[dim + 1:]))) is not None:
        step, others = found
        return (at.reshape(-1, *[1] * (len(shape) - dim - 1)) * step + others).reshape(-1)
    boxes, inner = np.arange(prod(shape[:dim])), prod(shape[dim + 1:])
    return np.asarray(((boxes[:, None, None] * shape[dim] + at[:, None]) * inner + np.arange(inner)).reshape(-1))


#: From this many elements on, a product with a sparse matrix beats ``np.add.at``.
MANY = 1 << 12


def add_rows(x: Array, at: Array, values: Array, factors: Array | None = None) -> None:
    """Add rows at indices, times the factors, in their order to contiguous ones, as a product with a sparse matrix of
    the factors does.
    """
    from scipy.sparse._sparsetools import csc_matvecs  # slow to import; the public product adds to zeros alone

    factors = np.ones(at.size, x.dtype) if factors is None else factors
    csc_matvecs(len(x), at.size, x.size // len(x), np.arange(at.size + 1), at, factors, values.reshape(-1),
                x.reshape(-1))


PASSES = 8  #: of NumPy that take the time of ``ufunc.at``
#: What combines truth values as numbers.
AS_NUMBERS = {np.add: np.maximum, np.multiply: np.minimum}


def as_loops_take(x: Array) -> Array:
    """Return an array, or the bits of half precision."""
    return x.view(np.uint16) if is_half(x) else x


def combine(ufunc: Any, x: Array, dim: int, at: Array, values: Array) -> None:
    """Combine values with elements along a dimension, in their order; without a ufunc, write them. Indices are within
    bounds: one for each value, or a vector of those along ``dim``.
    """
    if not values.size:
        return
    if ufunc is None and (bits := BITS.get(x.itemsize)):
        x, values = x.view(bits), values.view(bits)
    elif x.dtype == bool:  # NumPy combines numbers five times as fast
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
        target, given = (as_loops_take(array).reshape(boxes, array.shape[dim], -1) for array in (total, values))
        places = at if of_rows else at.reshape(given.shape)
        if values.size < LARGE:
            loop(target, places, given)
        else:
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
    values = to_opmath(source if alpha == 1 else source * number_in(alpha, x.dtype))
    in_opmath(x, lambda total: combine(np.add, total, dim, at, values))


def index_copy_(x: Array, dim: int, at: Array, source: Array) -> None:
    rows, dim = front(x, dim), dim % max(x.ndim, 1)
    message = f"index_copy_(): index {{}} is out of bounds for dimension {dim} with size {len(rows)}"
    at = bounded(at.reshape(-1), len(rows), IndexError, message, dim=dim)
    if dim and x.itemsize in BITS:
        combine(None, x, dim, at, source)
    else:
        rows[at] = front(source, dim)


def index_fill_(x: Array, dim: int, at: Array, value: Any) -> None:
    rows, dim = front(x, dim), dim % max(x.ndim, 1)
    if 0 in rows.shape[1:]:  # PyTorch checks no index of rows without elements
        return
    message = f"index {{}} is out of bounds for dimension {dim} with size {len(rows)}"
    at = bounded(at.reshape(-1), len(rows), IndexError, message, negative=True, dim=dim)
    rows[at] = number_in(value, x.dtype)


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
    of_rows, places = at.ndim == 1, at
    if not of_rows and (reduce == "mean" or not include_self):
        places = flat_elements(x, dim, at)
    if not include_self:
        if of_rows:
            front(x, dim)[at] = start(x.dtype)
        else:
            x.put(places, start(x.dtype))
    combine(ufunc, x, dim, at, values)
    if reduce == "mean":
        size, shape = (x.shape[dim], (-1, *[1] * (x.ndim - dim - 1))) if of_rows else (x.size, x.shape)
        average(x, np.bincount(places, minlength=size).reshape(shape), include_self)


def average(x: Array, count: Array, include_self: bool) -> None:
    """Divide sums by how many values were added, and one more with ``include_self``."""
    count += include_self
    count = np.maximum(count, 1)
    np.copyto(x, x // count if x.dtype.kind in "iu" else x / count, casting="unsafe")


def scatter_(x: Array, dim: int, at: Array, src: Any, reduce: str | None = None, include_self: bool = True) -> None:
    if not at.size:
        return
    shape = at.shape or (1,)
    values = (number_in(src, x.dtype) if not isinstance(src, Array) else src if src.shape == at.shape != () else
              src.reshape(src.shape or (1,))[tuple(slice(n) for n in shape)])
    if reduce is None and not values.ndim:
        x, key = grid(x, dim, at)
        x[key] = values
        return
    x, at = (x, at) if x.ndim and at.ndim else (x.reshape(-1), at.reshape(-1))
    dim, at = dim % x.ndim, in_bounds(x, dim, at)
    if reduce is None:
        combine(None, x, dim, at, values)
        return
    values = to_opmath(values if values.shape == at.shape else np.broadcast_to(values, at.shape))
    in_opmath(x, lambda total: reduce_along(total, dim, at, values, reduce, include_self))


def scatter_add_(x: Array, dim: int, at: Array, src: Array) -> None:
    scatter_(x, dim, at, src, "add")


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


CPU_KERNELS.add(index_put_, zero_)
CPU_KERNELS.update({"fill_.Scalar": fill_, "fill_.Tensor": fill_})
