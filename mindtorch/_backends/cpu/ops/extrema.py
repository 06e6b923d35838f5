"""CPU kernels of the least and greatest elements, and of their places. NaN wins."""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.layout import Ints
from ...common.blocks import LARGE, by_parts, each_block
from ...common.half import FEW as FEW_HALVES, converted as as_dtype
from ..along import finder, taken_along
from ..precision import Settled, is_half, to_opmath
from ..rows import MOST, Prepared, of_rows, taking
from . import AT_ONCE, CPU_KERNELS
from .reduction import (
    FEW, LINE, MANY, SOME, Reduce, along_lines, by_loop, by_pieces, maximum, minimum, ndarray, reduced,
)


def extremum(reduce: Any, find: Callable[..., np.ndarray]) -> Reduce:
    """Return a reduction to the extremum, where NaN wins. NumPy finds a line's index faster than its value."""
    lowest = reduce is minimum

    def found(x: np.ndarray, axis: Ints, keepdims: bool) -> Any:
        if x.size >= LARGE and len(axis) == x.ndim and x.flags.c_contiguous:
            if of_lines := by_loop(loops.extreme_of_lines, x, lowest):
                x = by_pieces(of_lines, x)
            else:
                x = by_parts(lambda part: reduce(part, keepdims=True), x.reshape(-1))
            x = x.reshape(-1, *[1] * (len(axis) - 1))
        elif x.size >= LARGE and 0 in axis:
            x = by_parts(lambda part: reduce(part, 0, keepdims=True), x)
        elif x.size >= MANY and x.dtype.kind == "f" and along_lines(x, axis):
            if of_lines := by_loop(loops.extreme_of_lines, x, lowest):
                values = of_lines(x)
            else:
                along = x.reshape(-1, x.shape[-1])
                values = along[np.arange(len(along)), find(along, 1)]
            return values.reshape((*x.shape[:-1], 1)[:x.ndim - 1 + keepdims])
        return reduce(x, axis, keepdims=keepdims)

    return found


#: Elements of half precision from which on integers take less time; and infinity's bits, by the dtype's letter.
AS_BITS, INFINITY = 1 << 9, {"e": 0x7C00, "E": 0x7F80}


def extreme_of_bits(lowest: bool, dtype: np.dtype) -> Settled:
    """Return the extremum of all elements of half precision. As integers with a sign, bits order positive numbers, and
    without one, all negative numbers above them, the other way around.
    """
    infinity = INFINITY[dtype.char]

    def run(x: np.ndarray) -> np.ndarray:
        unsigned = x.view(np.uint16)
        signed = unsigned.view(np.int16)
        top, far = int(maximum(signed, None)), int(maximum(unsigned, None))
        if top > infinity or far > infinity | 0x8000:
            found = 0x7FFF  # NaN
        elif lowest:
            found = far if far & 0x8000 else int(minimum(signed, None))
        else:
            found = top if top >= 0 else int(minimum(unsigned, None))
        return np.array(found, np.uint16).view(dtype)

    return run


def few_extreme(reduce: Any, find: Any) -> Callable[[np.ndarray, Ints, bool], Settled | None]:
    """Return a function that prepares the extremum of few numbers, of half precision as they are: of all of them, or of
    lines, at their indices, which NumPy finds in a third of the time.
    """
    def prepare(x: np.ndarray, axis: Ints, keepdims: bool) -> Settled | None:
        if x.size >= AS_BITS and is_half(x) and len(axis) == x.ndim and not keepdims:
            return extreme_of_bits(reduce is minimum, x.dtype)
        if x.size > (FEW if x.itemsize == 2 else SOME) or x.dtype.char not in "fdlihbB?eE":
            return None
        if not keepdims and len(axis) == x.ndim:
            return lambda x: (x := x.ravel())[find(x)]
        if not keepdims and axis == (x.ndim - 1,):
            starts = line_starts(x.shape, x.ndim - 1)[0]
            return lambda x: x.take(starts + find(x, -1))
        return lambda x: reduce(x, axis, None, None, keepdims)

    return prepare


def lines(x: np.ndarray, dim: int) -> tuple[np.ndarray, int]:
    """Return the array, with a 0-d one as a line, and the normalised axis."""
    return (x, dim % x.ndim) if x.ndim else (x.reshape(1), 0)


def selected(choose: Callable[[np.ndarray, int], np.ndarray]) -> Prepared:
    """Return a row for ``op(self, dim, keepdim)`` from a function that returns an index for each line."""

    kinds = "fdlqihbB" + "?" * (choose in (ndarray.argmax, ndarray.argmin))  # others are refused

    def prepare(x: np.ndarray, dim: int = -1, keepdim: bool = False) -> Settled:
        if not x.ndim:
            return lambda x: (x.copy(), np.zeros((), np.int64))
        return sure(x, dim, keepdim) or (lambda x: at(x, dim, choose(*lines(to_opmath(x), dim)), keepdim))

    def sure(x: np.ndarray, dim: int = -1, keepdim: bool = False) -> Settled | None:
        half = is_half(x)
        if not 0 < x.size <= MANY or (x.dtype.char not in kinds and not half) or not -x.ndim <= dim < x.ndim or (
                not x.flags.c_contiguous):
            return None
        axis = dim % x.ndim
        starts, step = line_starts(x.shape, axis)
        widen = ndarray.astype if x.size < FEW_HALVES else as_dtype
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1:])

        def few(x: np.ndarray) -> tuple[Any, Any]:
            index = choose(widen(x, loops.SINGLE) if half else x, axis)
            values = x.take(starts + index if step == 1 else starts + index * step)
            return (values.reshape(shape), index.reshape(shape)) if keepdim else (values, index)

        return few

    return Prepared(of_rows(prepare), sure=sure)


def at(x: np.ndarray, dim: int, index: np.ndarray, keepdim: bool) -> tuple[Any, Any]:
    """Return the values at one index per line, and the index, with or without that dimension."""
    along, axis = lines(x, dim)
    index = index.reshape((*along.shape[:axis], 1, *along.shape[axis + 1:]))
    shape = along.shape[:axis] + (1,) * keepdim + along.shape[axis + 1:] if x.ndim else ()
    return taken_along(along, index, axis).reshape(shape), index.reshape(shape)


@lru_cache(64)
def line_starts(shape: Ints, axis: int) -> tuple[np.ndarray, int]:
    """Return the cached starts of a contiguous array's lines and the step within them. Not to be written to."""
    places = np.arange(prod(shape)).reshape(shape)
    return np.asarray(places.take(0, axis)), prod(shape[axis + 1:])


def argument(find: Callable[..., Any]) -> Prepared:
    """Return the kernel of ``argmax`` or ``argmin``: the first of equal elements is found, and NaN wins."""

    def of_columns(x: np.ndarray, keepdim: bool) -> Any:
        loop = loops.extreme_in_columns.taking(x)
        if not loop:
            return find(x, 0, keepdims=keepdim)
        out = np.empty((1, *x.shape[1:])[not keepdim:], np.int64)
        matrix, target = x.reshape(len(x), -1), out.reshape(-1)
        each_block(lambda part: loop(matrix, target[part], find is ndarray.argmin, part.start),
                   len(target), max(LARGE // len(x), 1), x.size)
        return out

    def prepare(x: np.ndarray, dim: int | None = None, keepdim: bool = False) -> Settled:
        half = x.dtype.itemsize == 2 and x.dtype.kind not in "iu"
        if dim is None or not x.ndim:
            shape = (1,) * x.ndim if keepdim else ()
            if half and not keepdim:
                return lambda x: find(as_dtype(x, loops.SINGLE))
            return (lambda x: np.reshape(find(to_opmath(x)), shape)) if keepdim else find
        if dim in (0, -x.ndim) and x.size >= max(LARGE, LINE * len(x)):
            return lambda x: of_columns(to_opmath(x), keepdim)
        if half:
            return lambda x: find(to_opmath(x), dim, keepdims=keepdim)
        return (lambda x: find(x, dim, keepdims=keepdim)) if keepdim else (lambda x: find(x, dim))

    return Prepared(prepare)


@Prepared
def aminmax(x: np.ndarray, dim: int | None = None, keepdim: bool = False) -> Settled:
    """Prepare the least and the greatest element of each line."""
    least, greatest = (row.prepare(x, dim, keepdim) for row in (smallest, largest))
    return lambda x: (least(x), greatest(x))  # type: ignore[misc]


@taking(3)
def value_selecting_reduction_backward(grad: np.ndarray, dim: int, at: np.ndarray, sizes: tuple[int, ...],
                                       keepdim: bool) -> Callable[..., Any] | None:
    """Prepare zeros with a gradient at one index, or some, of each line."""
    shape = at.shape if keepdim or not sizes else (*at.shape[:dim % len(sizes)], 1, *at.shape[dim % len(sizes):])
    find = finder(sizes, dim, shape)

    def run(grad: np.ndarray, dim: int, at: np.ndarray) -> np.ndarray | None:
        out = np.zeros(sizes, grad.dtype)
        try:
            out.reshape(-1)[find(at.reshape(shape))] = grad.reshape(shape)  # type: ignore[misc]
        except ValueError:  # out of bounds
            return None
        return out

    return None if find is None or grad.shape != at.shape or prod(sizes) > MOST else run


largest, smallest = (reduced(extremum(*of), loops.extreme_of_lines, few_extreme(*of), widens=False)
                     for of in ((maximum, ndarray.argmax), (minimum, ndarray.argmin)))
AT_ONCE.add(value_selecting_reduction_backward)
CPU_KERNELS.add(aminmax)
CPU_KERNELS.update({
    "amax": largest,
    "amin": smallest,
    "max": largest,
    "min": smallest,
    "max.dim": selected(ndarray.argmax),
    "min.dim": selected(ndarray.argmin),
    "argmax": argument(ndarray.argmax),
    "argmin": argument(ndarray.argmin),
})
