"""CPU kernels of scans. Running values are kept in float64, as in PyTorch; those of half precision in float32."""
from __future__ import annotations

import cmath
import itertools
import math
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from ...._base import loops
from ...._storage import allocate
from ...common.blocks import by_slices, each_block
from ...common.elements import CALLS, number
from ...common.half import converted as as_dtype
from ..along import taken_along
from ..precision import bits, is_half, to_opmath
from ..rows import MOST, Prepared, of_rows
from . import AT_ONCE, CPU_KERNELS
from .extrema import line_starts, lines
from .pointwise import logaddexp
from .reduction import add, converted

#: BLOCK: elements of a block. FEW: elements that NumPy accumulates. WIDE: lines that repay a NumPy call for each step.
BLOCK, FEW, WIDE = 1 << 17, 1 << 12, 1 << 10
PASSES, SLOW = 8, 4  #: of NumPy, for a running extremum and where it is; and for a running sum of few
LOOPS: dict[np.ufunc, loops.ByDType] = {np.add: loops.cumsum, np.multiply: loops.cumprod}


def running(x: np.ndarray) -> np.dtype:
    """Return the dtype of the running value."""
    return loops.SINGLE if is_half(x) else np.dtype({"f": np.float64, "c": np.complex128}.get(x.dtype.kind, np.int64))


def accumulate(ufunc: np.ufunc, x: np.ndarray, axis: int, wide: np.dtype) -> np.ndarray:
    """Accumulate by NumPy. Sums start from 0, to which a leading -0 adds nothing; products from 1, which as a complex
    number changes signs of zeros.
    """
    if ufunc is np.multiply and wide.kind == "c" and x.size:
        x = x.astype(wide)
        first = x[(slice(None),) * axis + (slice(1),)]
        np.multiply(first, 1, first)
    out = ufunc.accumulate(x, axis, wide)
    return np.add(out, number(0, wide), out) if ufunc is np.add and wide.kind in "fc" else out


def accumulated(ufunc: np.ufunc) -> Prepared:
    """Return a row for ``op(self, dim, dtype)``."""

    def row(x: np.ndarray, dim: int, dtype: Any = None) -> Any:
        x, axis = lines(converted(x, dtype), dim)
        half = is_half(x)
        if not half or x.size <= FEW or LOOPS[ufunc].compiled(x.size, np.ascontiguousarray(x)) is None:
            x = to_opmath(x)
        wide = loops.SINGLE if half else running(x)
        kept = wide if wide.kind == "i" else x.dtype
        if x.size <= FEW:
            return accumulate(ufunc, x, axis, wide).astype(kept, copy=False)
        x = np.ascontiguousarray(x, wide if wide.kind == "i" else None)
        if ufunc is np.add and wide.kind == "c":  # both parts are summed
            return row(x.view(x.real.dtype).reshape(*x.shape, 2), axis).reshape(*x.shape[:-1], -1).view(x.dtype)
        out = allocate(x.shape, kept)
        if (loop := LOOPS[ufunc].compiled(x.size, x)) is not None:
            by_boxes(loop, bits(x), axis, bits(out))
        elif axis < x.ndim - 1 and x.size >= x.shape[axis] * WIDE:
            step_by_step(ufunc, np.moveaxis(x, axis, 0), np.moveaxis(out, axis, 0), wide)
        elif axis < x.ndim - 1 or wide is kept:
            np.copyto(out, accumulate(ufunc, x, axis, wide), casting="same_kind")
        else:
            length = x.shape[axis]
            source, target = (array.reshape(-1, length) for array in (x, out))
            each_block(lambda part: one_by_one(ufunc, source[part], target[part]), len(source),
                       max(BLOCK // length, 1), x.size)
        return out

    plain, integer = scalar_back(row), np.dtype(np.int64)

    def prepare(x: np.ndarray, dim: int, dtype: Any = None) -> Callable[[np.ndarray], Any]:
        return sure(x, dim, dtype) or (lambda x: plain(x, dim, dtype))

    def sure(x: np.ndarray, dim: int, dtype: Any = None) -> Callable[[np.ndarray], Any] | None:
        kept = x.dtype
        if x.dtype.kind in "biu" and dtype is None and 0 < x.size <= FEW and x.ndim:
            return lambda x: ufunc.accumulate(x, dim, integer)
        if x.size > BLOCK or (dtype is not None and dtype.np is not kept):
            return None
        if not x.ndim:
            result = integer if x.dtype.kind in "biu" and dtype is None else kept
            return (lambda x: x.astype(result)) if dim in (0, -1) else None
        wide, loop, shape, half = running(x), LOOPS[ufunc], x.shape, is_half(x)
        if kept.char not in "fdFDeE" or not -x.ndim <= dim < x.ndim:
            return None
        box, few = boxes(x, dim % x.ndim).shape, x.size < loops.FEW

        def run(x: np.ndarray) -> np.ndarray:
            if few or (by_loop := loop.compiled(SLOW * (x.size + CALLS), x)) is None:
                return accumulate(ufunc, x.astype(wide) if half else x, dim, wide).astype(kept)
            out = np.empty(shape, kept)
            by_loop(bits(x).reshape(box), bits(out).reshape(box), 0, box[2])
            return out

        return run

    return Prepared(of_rows(prepare), sure=sure)


def one_by_one(ufunc: np.ufunc, x: np.ndarray, out: np.ndarray) -> None:
    """Accumulate along lines, element by element, as NumPy does."""
    block = x.astype(running(x))
    out[...] = accumulate(ufunc, block, 1, block.dtype)


def step_by_step(ufunc: np.ufunc, x: np.ndarray, out: np.ndarray, wide: np.dtype) -> None:
    """Accumulate along the first dimension, all lines at once."""

    def work(part: slice) -> None:
        value = accumulate(ufunc, x[:1, part], 0, wide)[0]
        out[0, part] = value
        for values, result in zip(x[1:, part], out[1:, part], strict=True):
            ufunc(value, values, value)
            result[...] = value

    each_block(work, x.shape[1], max(2 * WIDE * len(x) * x.shape[1] // x.size, 1), x.size)


def boxes(x: np.ndarray, axis: int) -> np.ndarray:
    """Return a contiguous array as (outer, steps, inner) with the steps along an axis."""
    return x.reshape(math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1:]))


def by_boxes(loop: Callable[..., None], x: np.ndarray, axis: int, out: np.ndarray) -> None:
    """Accumulate by a loop, several outer or inner places at a time."""
    source, target = boxes(x, axis), boxes(out, axis)
    outer, steps, inner = source.shape
    if outer > 1:
        each_block(lambda part: loop(source[part], target[part], 0, inner), outer, max(BLOCK // (steps * inner), 1),
                   x.size)
    else:
        each_block(lambda part: loop(source, target, part.start, min(part.stop, inner)), inner, WIDE, x.size)


def scalar_back(row: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a row to treat a 0-d array as a line of one element, with 0-d results."""

    def call(x: np.ndarray, *args: Any) -> Any:
        result = row(x, *args)
        if x.ndim:
            return result
        return tuple(r.reshape(()) for r in result) if isinstance(result, tuple) else result.reshape(())

    return call


def extremum(ufunc: np.ufunc) -> Prepared:
    """Return the kernel of ``cummax`` or ``cummin``: the last of equal elements is found, and NaN persists."""

    def few(starts: tuple[np.ndarray, int], numbers: np.ndarray, axis: int) -> Callable[[np.ndarray], tuple[Any, Any]]:
        step, first = np.asarray(starts[1]), np.ascontiguousarray(np.broadcast_to(
            np.expand_dims(starts[0], axis), numbers.shape))
        shape, box = numbers.shape, boxes(numbers, axis).shape

        def run(x: np.ndarray) -> tuple[Any, Any]:
            wide = to_opmath(x)
            if (loop := loops.cumulative_extreme.compiled(PASSES * (x.size + CALLS), wide)) is not None:
                values, places = np.empty(shape, wide.dtype), np.empty(shape, np.int64)
                loop(wide.reshape(box), values.reshape(box), places.reshape(box), ufunc is np.minimum,
                     wide.dtype.kind == "i")
                return values if wide is x else as_dtype(values, x.dtype), places
            values = ufunc.accumulate(wide, axis)
            reached = wide == values
            if wide.dtype.kind == "f":
                reached |= wide != wide
            places = np.multiply(numbers, reached)
            np.maximum.accumulate(places, axis, None, places)
            if wide.dtype.kind == "f":  # of two zeros, the last one
                values = x.take(np.add(places if starts[1] == 1 else np.multiply(places, step), first))
            return values, places

        return run

    def prepare(x: np.ndarray, dim: int) -> Callable[[np.ndarray], tuple[Any, Any]]:
        shape, (line, axis) = x.shape, lines(x, dim)
        if not x.size or not x.ndim:
            return lambda x: (x, np.zeros(shape, np.int64))
        if line.shape[axis] == 1:
            return lambda x: (x.copy(), np.zeros(shape, np.int64))
        numbers = np.arange(line.shape[axis]).reshape((-1,) + (1,) * (line.ndim - axis - 1))
        if x.size <= MOST and (x.dtype.kind in "fiub" or is_half(x)) and x.flags.c_contiguous:
            return few(line_starts(shape, axis), np.ascontiguousarray(np.broadcast_to(numbers, shape)), axis)

        def run(x: np.ndarray) -> tuple[Any, Any]:
            x = np.ascontiguousarray(to_opmath(x)) if x.size > FEW else to_opmath(x)
            if x.dtype.kind == "b":  # whose numbers the loop takes
                x = x.astype(np.int32)
            if (loop := loops.cumulative_extreme.compiled(PASSES * x.size, x)) is not None:
                values, places = allocate(x.shape, x.dtype), allocate(x.shape, np.dtype(np.int64))
                of_boxes = [boxes(array, axis) for array in (x, values, places)]
                settings = ufunc is np.minimum, x.dtype.kind == "i"
                each_block(lambda part: loop(*[array[part] for array in of_boxes], *settings),
                           len(of_boxes[0]), max(BLOCK // of_boxes[0][0].size, 1), x.size)
                return values, places
            values = ufunc.accumulate(x, axis)
            reached = x == values
            if x.dtype.kind == "f" and (total := add(x, None)) != total:  # there may be NaN
                reached |= np.isnan(x)
            places = np.where(reached, numbers, 0)
            np.maximum.accumulate(places, axis, None, places)
            if x.dtype.kind == "f" and not values.all():  # of two zeros, the last one
                values = taken_along(x, places, axis)
            return values, places

        return run

    return Prepared(of_rows(prepare))


def diff(x: np.ndarray, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Prepare the differences of neighbours along a dimension of an array that is not large."""
    if n < 1 or prepend is not None or append is not None or not x.ndim or x.size > BLOCK or (
            x.dtype.char not in "bBhilqfd"):
        return None
    before: tuple[Any, ...] = (slice(None),) * (dim % x.ndim)
    later, earlier = (*before, slice(1, None)), (*before, slice(-1))
    return partial(reduce, lambda x, _: x[later] - x[earlier], range(n)) if n > 1 else lambda x: x[later] - x[earlier]


LINES = 32  #: from this many lines on, a NumPy step beats Python numbers


def logaddexp_of_numbers(x: complex, y: complex) -> complex:
    """Compute ``logaddexp`` of two complex numbers, thirty times as fast as NumPy on a single pair."""
    larger, smaller = (y, x) if y.real >= x.real else (x, y)
    ratio = cmath.exp(smaller - larger) if cmath.isfinite(larger) and cmath.isfinite(smaller) else -1
    if ratio == -1:  # or a number is not finite
        return complex(logaddexp(np.asarray(y), np.asarray(x)))  # the second of two zeros decides the result
    if abs(ratio) >= 0.5:
        return larger + cmath.log(1 + ratio)
    real = math.log1p(ratio.real * (2 + ratio.real) + ratio.imag * ratio.imag) / 2
    return larger + complex(real, math.atan2(ratio.imag, 1 + ratio.real))


SPREAD = 600.0  #: largest spread of logarithms whose exponentials double precision holds


def by_sums(x: np.ndarray) -> bool:
    """Compute ``logcumsumexp`` of complex numbers along the first dimension, in place.

    Takes logarithms of sums of exponentials, shifted by the largest: few passes, and sums as precise as their parts.
    Returns False, without a change, if the numbers are too far apart, if parts cancel, or for infinities.

    A logarithm is unique up to whole turns. A step of ``logaddexp`` ends within a quarter turn of the larger operand.
    So turns are counted from the last element that is as large as the sum before it.
    """
    top = x.real.max(0)
    if not (np.isfinite(x).all() and (top - x.real.min(0) < SPREAD).all()):
        return False
    sums = np.exp(x - top)
    peaks = np.maximum.accumulate(np.abs(sums), 0)
    np.add.accumulate(sums, 0, out=sums)
    if (np.abs(sums) < 1e-6 * peaks).any():
        return False
    np.log(sums, out=sums)
    sums.real += top
    phase, turn = sums.imag, 2 * np.pi
    turns = np.rint((x.imag - phase) / turn)
    starts = np.ones(x.shape, bool)
    np.less_equal(sums.real[:-1], x.real[1:], out=starts[1:])
    steps = np.zeros(x.shape)
    steps[1:] = np.rint((phase[:-1] - phase[1:]) / turn)
    steps[starts] = 0
    np.add.accumulate(steps, 0, out=steps)
    places = np.arange(len(x)).reshape((-1,) + (1,) * (x.ndim - 1))
    last = np.maximum.accumulate(np.where(starts, places, 0), 0)
    phase += turn * (steps + np.take_along_axis(turns - steps, last, 0))
    x[...] = sums
    return True


def logcumsumexp(x: np.ndarray, dim: int) -> Any:
    wide, (x, axis) = running(x), lines(to_opmath(x), dim)
    if not x.size:
        return x
    if x.dtype.kind == "f":
        def summed(part: np.ndarray) -> np.ndarray:
            found = np.logaddexp.accumulate(part, axis, wide)
            found += 0  # as of sums, the first of which is that of one element and nothing
            return found.astype(x.dtype, copy=False)

        return by_slices(summed, x, axis=0 if axis else 1) if x.ndim > 1 else summed(x)
    out = np.array(np.moveaxis(x, axis, 0), np.complex128, order="C")  # a copy, whose lines are views
    if by_sums(out):
        return np.moveaxis(out, 0, axis)
    first = out[:1]
    first[...] = logaddexp(first, np.asarray(complex(-math.inf)))  # plus zero, which has no phase
    if out[:1].size < LINES:
        for line in np.moveaxis(out.reshape(len(out), -1), 0, 1):
            line[:] = list(itertools.accumulate(line.tolist(), logaddexp_of_numbers))
        return np.moveaxis(out, 0, axis)
    for i in range(1, len(out)):
        out[i] = logaddexp(out[i], out[i - 1])
    return np.moveaxis(out, 0, axis)


def logarithms(x: np.ndarray, dim: int) -> Callable[[np.ndarray], Any]:
    """Prepare ``logcumsumexp``; that of few numbers is one of NumPy's accumulations."""
    wide, kept, half = running(x), x.dtype, is_half(x)
    if (kept.char not in "fd" and not half) or not 0 < x.size <= FEW or not x.ndim:
        return lambda x: plain_logarithms(x, dim)

    def few(x: np.ndarray) -> np.ndarray:
        found = np.logaddexp.accumulate(x.astype(loops.SINGLE) if half else x, dim, wide)
        found = np.add(found, number(0, wide), found)  # as of sums: one element, and nothing
        return as_dtype(found, kept) if half else found.astype(kept)

    return few


plain_logarithms = scalar_back(logcumsumexp)
AT_ONCE.add(diff)
CPU_KERNELS.update({
    "cumsum": accumulated(np.add),
    "cumprod": accumulated(np.multiply),
    "logcumsumexp": Prepared(of_rows(logarithms)),
    "cummax": extremum(np.maximum),
    "cummin": extremum(np.minimum),
})
