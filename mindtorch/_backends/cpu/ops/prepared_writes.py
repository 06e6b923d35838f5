"""Writes at few indices, in place or into copies, prepared once per plan: their places are flat indices."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.determinism import alert_not_deterministic
from ...._base.layout import Ints
from ...._dtype import before_rounding, from_numpy_dtype
from ...common.blocks import SMALL
from ...common.half import NATIVE, convert, number_in
from ..along import FEW, finder
from ..fast_paths import held
from ..precision import is_half, opmath
from ..rows import MOST, Copied, Prepared, order_of, taking
from . import AT_ONCE, CPU_KERNELS
from .indexing import Array, Find, are_below, clamped
from .writes import (
    PASSES, REDUCTIONS, as_loops_take, average, combine, index_add_, index_copy_, index_fill_, index_reduce_,
    masked_scatter_, put_, scatter_, scatter_add_, update_at,
)

SEVERAL = 1 << 10  #: values for which a loop that is there takes less than ``ufunc.at``


def from_end(find: Find | None, size: int) -> Find | None:
    """Wrap ``find`` to accept negative indices, which count from the end of so many elements."""
    def of_signed(at: Array) -> Array:
        try:
            return find(at)  # type: ignore[misc]
        except ValueError:
            return find(np.where(at < 0, at + size, at))  # type: ignore[misc]

    return find and of_signed


def put_at(x: Array, places: Array, values: Any) -> None:
    """Write values at flat places of a contiguous array."""
    x.reshape(-1)[places] = before_rounding(values, x.dtype)


def combine_at(ufunc: Any, x: Array, places: Array, values: Array) -> None:
    """Combine few values with elements at places of a vector, in their order."""
    if values.size >= SEVERAL and values.size == places.size and (
            loop := loops.at_each[ufunc.__name__].compiled(PASSES * values.size, x, values)) is not None:
        target, given = (x, values) if x.itemsize > 2 else (as_loops_take(x), as_loops_take(values))
        loop(target.reshape(1, -1, 1), places.reshape(1, -1, 1), given.reshape(1, -1, 1))
    elif values.shape == places.shape:
        ufunc.at(x, places.ravel(), values.ravel())
    else:
        update_at(ufunc, x, (places,), values)


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
        number = np.broadcast_to(number_in(src, x.dtype), at.shape if reduce else ())
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
                     number=None if source.__class__ is Array else number_in(source, x.dtype))


def index_add_at(x: Array, dim: int, at: Array, source: Array, alpha: Any = 1) -> Callable[..., Any] | None:
    """Prepare ``index_add_`` for few indices."""
    add, factor = reducing("add", x.dtype, opmath(x.dtype)), None if alpha == 1 else number_in(alpha, x.dtype)
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
    """Prepare ``masked_scatter_``."""
    shape = x.shape
    everywhere = None if mask.shape == shape else np.ones(shape, bool)

    def run(x: Array, mask: Array, source: Array) -> Any:
        if everywhere is not None:
            mask = np.logical_and(mask, everywhere)
        if source.size < x.size and source.size < np.count_nonzero(mask):
            return False
        return np.place(x, mask, source) if source.size else None

    return run


def permutation(x: Array) -> tuple[Ints, Ints] | None:
    """Return the order in which an array's dimensions are contiguous, and its inverse; None without one."""
    return order_of(x.shape, tuple([step // x.itemsize for step in x.strides]))


def in_order_of_memory(prepare: Callable[..., Any], plain: Callable[..., None]) -> Callable[..., Any]:
    """Wrap a preparation of writes along a dimension: where the target is contiguous in another order of its
    dimensions, all arrays are permuted, which changes neither the places nor the order of the writes to one.
    """
    def prepared(x: Array, dim: int, at: Array, *others: Any) -> Callable[..., Any] | None:
        if x.flags.c_contiguous or x.ndim < 2 or not x.size or (found := permutation(x)) is None:
            return prepare(x, dim, at, *others)
        order, back = found
        axis, size, settings = back[dim], x.shape[dim], others[1:]

        def permuted(array: Any) -> Any:
            return array.transpose(order) if array.__class__ is Array and array.ndim == len(order) else array

        write = prepare(permuted(x), axis, permuted(at), *map(permuted, others))

        def run(x: Array, dim: int, at: Array, *values: Any) -> Any:
            if write is not None:
                return write(x.transpose(order), axis, permuted(at), *map(permuted, values))
            return False if at.size and not are_below(at, size) else plain(
                x.transpose(order), axis, permuted(at), *map(permuted, values or others[:1]), *settings)

        return run

    return prepared


@taking(3)
def masked_scatter(x: Array, mask: Array, source: Array) -> Callable[..., Any] | None:
    """Prepare ``masked_scatter`` into a copy, broadcast to the mask."""
    shape = np.broadcast_shapes(x.shape, mask.shape)
    if shape == x.shape:
        return Copied(CPU_KERNELS["masked_scatter_"])(x, mask, source)
    write = masked_scatter_in_order(np.empty(shape, x.dtype), mask, source)

    def run(x: Array, mask: Array, source: Array) -> Array | None:
        out = np.empty(shape, x.dtype)
        out[...] = x
        return None if write(out, mask, source) is False else out  # type: ignore[misc]

    return run


def preparing(name: str, plain: Callable[..., None], prepare: Callable[..., Any], count: int = 4) -> None:
    """Add the rows of an in-place operator and of its functional form, which take so many leading arguments."""
    row = Prepared(in_order_of_memory(prepare, plain) if plain not in WHOLE else prepare, count, plain)
    CPU_KERNELS[name] = row
    AT_ONCE[name.replace("_.", ".").removesuffix("_")] = Copied(row)


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

    if number is None:
        return None
    bits = number_in(number, x.dtype)
    if bits.itemsize == 2:
        bits = bits.view(np.uint16)  # NumPy is slow to write half precision

    def run(x: Array) -> Array:
        out = np.empty_like(x)
        out.view(bits.dtype).fill(bits)
        return out

    return run


@taking(3)
def index_put(x: Array, indices: list[Any], values: Array, accumulate: bool = False) -> Callable[..., Any] | None:
    """Prepare ``index_put`` for integers at the first dimensions: of few elements at their places in memory."""
    count, inner, found = len(indices), x.shape[len(indices):], permutation(x)
    if not x.size or found is None or any(at is None or at.dtype.kind != "i" or not at.size for at in indices):
        return None
    sizes, shape = x.shape[:count], np.broadcast_shapes(*[at.shape for at in indices])
    whole, (order, back) = (*shape, *inner), found
    is_line, in_rows = count == len(shape) == 1, order == (*range(x.ndim),)
    if prod(whole) > FEW and (accumulate or not in_rows) and not (is_line or in_rows):
        return None
    memory, column = tuple([x.shape[d] for d in order]), (1,) * len(inner)
    others = [np.arange(n).reshape(-1, *column[d + 1:]) for d, n in enumerate(inner)]

    def few(out: Array, indices: list[Array], values: Array) -> None:
        parts = [*([at.reshape(at.shape + column) for at in indices] if inner else indices), *others]
        places = np.ravel_multi_index(tuple([parts[d] for d in order]), memory)
        flat = out.transpose(order).reshape(-1)
        if accumulate:
            combine_at(np.add, flat, places, values)
        else:
            flat[places] = values

    def many(out: Array, indices: list[Array], values: Array) -> None:
        rows = np.ravel_multi_index(tuple(indices), sizes)
        if not accumulate and in_rows:
            out.reshape(-1, *inner)[rows] = values
            return
        if values.shape != whole:
            values = np.broadcast_to(values, whole)
        if is_line:
            combine(np.add if accumulate else None, out.transpose(order), back[0], rows, values.transpose(order))
        else:
            combine(np.add, out.reshape(-1, *inner), 0, rows.reshape(-1), values.reshape(-1, *inner))

    write = few if prod(whole) <= FEW and (accumulate or not in_rows) else many

    def run(x: Array, indices: list[Array], values: Array) -> Array | None:
        out = x.copy("K")
        try:
            write(out, indices, values)
        except ValueError:  # an index is negative, or out of bounds
            return None
        return out

    return run


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


WHOLE = {put_, masked_scatter_}  #: which write along no dimension

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
AT_ONCE.add(index_select_backward, masked_scatter, masked_scatter_backward)
AT_ONCE.update({"index_put": index_put, "fill.Scalar": fill,
                "_unsafe_masked_index_put_accumulate": unsafe_masked_index_put_accumulate})
