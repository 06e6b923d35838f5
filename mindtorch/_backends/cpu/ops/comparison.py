"""CPU kernels of comparisons, tests, logic, bits, minimum and maximum, and selection."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

import numpy as np
from numpy._core.umath import clip  # type: ignore[attr-defined]  # the ufunc

from ...._base.errors import check_number
from ...._dtype import from_numpy_dtype
from ...._storage import allocate
from ...common.blocks import LARGE, compute, each_block
from ...common.elements import Looped, by_loop, element, number
from ...common.half import number_in, part_for
from ..rows import Prepared
from . import CPU_KERNELS


def shift(side: Callable[..., Any], x: Any, count: Any) -> Any:
    """Shift by bits. A negative count, or one of all bits or more, leaves 0, or the sign for a right shift."""
    x = np.asarray(x)
    bits = x.dtype.itemsize * 8
    if isinstance(count, int):
        if side is np.left_shift and 0 <= count < bits:  # which NumPy computes number by number
            return np.multiply(x, np.asarray(1 << count).astype(x.dtype))
        count = x.dtype.type(count if 0 <= count < bits else bits)
    return side(x, count)


def everywhere(value: bool) -> Callable[[Any], Any]:
    """Return the function of an array whose result is one truth value for each element."""
    def filled(x: Any) -> Any:
        out = np.empty(x.shape, bool)
        out.fill(value)
        return out

    return filled


def of_kinds(kinds: str, function: Callable[[Any], Any], value: bool) -> Callable[[Any], Any]:
    """Return a test that has one value for all numbers but those of some kinds of dtype."""
    known = everywhere(value)
    return lambda x: function(x) if x.dtype.kind in kinds else known(x)


#: From this many elements on, ``np.clip``, with its slower call, beats two ufuncs.
MANY = 1 << 12
#: Bounds of a line of integers, and elements for which making it pays.
LINE, LINES = 1 << 10, 1 << 15


def extreme(ufunc: np.ufunc, bound: Any, x: Any) -> Any:
    """Return the maximum or minimum of a bound and an array. Of integers, NumPy has SIMD loops for two arrays only."""
    if x.__class__ is not np.ndarray or x.size < LINES or x.dtype.kind not in "iu" or np.ndim(bound) or (
            not x.flags.c_contiguous):
        return ufunc(bound, x)
    out, line = allocate(x.shape, x.dtype), np.full(LINE, bound, x.dtype)
    source, target = x.reshape(-1), out.reshape(-1)
    whole = x.size // LINE * LINE
    lines, into = source[:whole].reshape(-1, LINE), target[:whole].reshape(-1, LINE)
    each_block(lambda at: ufunc(lines[at], line, out=into[at]), len(lines), LARGE // LINE, x.size)
    ufunc(source[whole:], bound, out=target[whole:])
    return out


def clamp(x: Any, low: Any = None, high: Any = None) -> Any:
    """Clamp between bounds. Of two zeros, NumPy returns the second operand's, here the input's, as ATen does."""
    if low is not None:
        x = extreme(np.maximum, low, x)
    return x if high is None else extreme(np.minimum, high, x)


def at_most(x: Any, high: Any) -> Any:
    return clamp(x, None, high)


def clamped(x: Any, low: Any = None, high: Any = None, out: Any = None) -> Any:
    """Clamp between numbers; floats by one ufunc, with infinite bounds if need be, unless that takes longer."""
    few = x.size < MANY
    if x.dtype.char not in "fd" if few else x.dtype.kind != "f" and (low is None or high is None or x.size >= LINES):
        found = clamp(x, low, high)
        return found if out is None else np.positive(found, out)
    if x.dtype.kind != "f":
        low, high = x.dtype.type(low), x.dtype.type(high)  # raises for one that it does not hold
    low, high = element(-inf if low is None else low, x.dtype), element(inf if high is None else high, x.dtype)
    if few:
        return np.asarray(clip(x, low, high, out))
    return compute(clip, allocate(x.shape, x.dtype) if out is None else out, x, low, high)


def clamping(places: tuple[int, ...], dtype: np.dtype, size: int, *rest: Any) -> Callable[..., Any] | None:
    """Return the function of floats and their bounds, which are the operands of ``clip`` at these places; or None."""
    if dtype.char not in "fd" or rest:
        return None
    least, most = (number(bound, dtype) for bound in (-inf, inf))
    if places == (2,):
        return lambda x, high: clip(x, least, high)
    return lambda x, low=None, high=None: clip(x, least if low is None else low, most if high is None else high)


def between(x: Any, low: Any = None, high: Any = None) -> Any:
    """Clamp between bounds in one step of a chain."""
    return clip(x, -inf if low is None else low, inf if high is None else high)


#: The integer type of each item size, to view numbers as bits.
INTEGERS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def nan_to_num(x: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Any:
    if x.dtype.kind == "c":
        out = np.empty_like(x)
        out.real, out.imag = nan_to_num(x.real, nan, posinf, neginf), nan_to_num(x.imag, nan, posinf, neginf)
        return out
    out, dtype = x.copy(), x.dtype
    if dtype.kind in "biu":
        return out
    if dtype.itemsize == 2:  # by bits, since NumPy compares half precision slowly
        infinite, sign = np.asarray(inf, dtype).view(np.uint16), np.uint16(0x8000)
        x = x.view(np.uint16)
        size = x & ~sign
        some = np.count_nonzero(size >= infinite)
        if some:
            found = [size > infinite, x == infinite, x == infinite | sign]
    elif some := (total := np.add.reduce(x, None)) - total != 0:
        found = [np.isnan(x), x == inf, x == -inf]
    if some:  # else all numbers are finite
        largest = np.nextafter(dtype.type(inf), dtype.type(0))
        for where, value in zip(found, (nan or 0.0, largest if posinf is None else posinf,
                                        -largest if neginf is None else neginf), strict=True):
            np.copyto(out, number_in(value, dtype), where=where)
    return out


def filling(x: np.ndarray, value: Any) -> np.ndarray:
    """Return a fill value in the dtype of the target. The value of a tensor is only checked here."""
    dtype = from_numpy_dtype(x.dtype)
    if isinstance(value, np.ndarray):
        check_number(dtype, value.item())
    return part_for(np.asarray(value), dtype).astype(x.dtype)


NUMBERS = (int, float)
#: Elements of a block of a selection, so that its bits and its result stay in the cache.
PART = 1 << 15


def chosen(condition: Any, x: Any, y: Any) -> Any:
    """Select as ``np.where`` does; large arrays by bitwise operations, since NumPy's branches are unpredictable.
    One of both may be a number.
    """
    if x.__class__ in NUMBERS:  # a number too large raises
        x = y.dtype.type(x)
    elif y.__class__ in NUMBERS:
        y = x.dtype.type(y)
    if condition.size < MANY:
        return np.where(condition, x, y)
    if (condition.dtype != bool or x.dtype != y.dtype or x.itemsize not in INTEGERS
            or not condition.flags.c_contiguous or any(
                a.ndim and (a.shape != condition.shape or not a.flags.c_contiguous) for a in (x, y))):
        return np.where(condition, x, y)
    integer = np.dtype(INTEGERS[x.itemsize])
    out = allocate(condition.shape, integer)
    bits, target = condition.reshape(-1).view(np.int8), out.reshape(-1)
    first, second = (a.reshape(-1).view(integer) for a in (x, y))

    def work(at: slice) -> None:
        for start in range(at.start, min(at.stop, len(target)), PART):
            part = slice(start, min(start + PART, at.stop))
            a, b, result = first if first.size == 1 else first[part], second if second.size == 1 else second[part], (
                target[part])
            np.copyto(result, np.negative(bits[part]))  # all bits of a selected element, or none
            np.bitwise_and(result, a ^ b, result)
            np.bitwise_xor(result, b, result)

    each_block(work, len(target), LARGE // 2, len(target))
    return out.view(x.dtype)


def masked_fill_(x: Any, mask: Any, value: Any) -> None:
    np.copyto(x, filling(x, value), where=mask)


@partial(Prepared, count=2)
def masked_fill(x: np.ndarray, mask: np.ndarray, value: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Prepare a copy in which a number is where a mask holds."""
    number = filling(x, value)
    return few_filled(number) if x.size < MANY and mask.shape == x.shape else lambda x, mask: chosen(mask, number, x)


def few_filled(number: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return the function that fills a copy of few numbers where a mask of their shape holds."""
    def run(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
        out = x.copy()
        np.putmask(out, mask, number)
        return out

    return run


#: Rows for a tensor, and for a number, on the left.
BITS = {
    f"bitwise_{name}.{overload}": row
    for name, row in (("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor),
                      ("left_shift", partial(shift, np.left_shift)), ("right_shift", partial(shift, np.right_shift)))
    for overload in ("Tensor", "Scalar_Tensor")
}

CPU_KERNELS.add(nan_to_num, np.isnan, np.isinf, np.isfinite, np.logical_and, np.logical_or, np.logical_xor,
                np.logical_not, np.maximum, np.minimum, np.fmax, np.fmin)
def heaviside(x: np.ndarray, values: np.ndarray) -> Any:
    """Return 0 for negative numbers, 1 for positive ones, and ``values`` for zeros."""
    if x.dtype.kind == "b":
        return np.logical_or(x, values)
    return np.where(np.equal(x, 0), values, np.greater(x, 0).astype(x.dtype))


CPU_KERNELS.update({
    "eq.Tensor": np.equal,
    "ne.Tensor": np.not_equal,
    "lt.Tensor": np.less,
    "le.Tensor": np.less_equal,
    "gt.Tensor": np.greater,
    "ge.Tensor": np.greater_equal,
    "isposinf": of_kinds("fV", lambda x: np.equal(x, np.inf), False),
    "isneginf": of_kinds("fV", lambda x: np.equal(x, -np.inf), False),
    "isreal": of_kinds("cV", lambda x: np.equal(x.imag, 0), True),
    **BITS,
    "bitwise_not": np.invert,
    "clamp": Looped(clamped, True, partial(clamping, (1, 2)), between),
    "clamp.Tensor": clamp,
    "clamp_min": Looped(clamped, True, partial(clamping, (1, 2)), between),
    "clamp_max": Looped(lambda x, high, out=None: clamped(x, None, high, out), True, partial(clamping, (2,)),
                        lambda x, high: between(x, None, high)),
    "clamp_min.Tensor": clamp,
    "clamp_max.Tensor": at_most,
    "heaviside": by_loop("heaviside", heaviside),
    "where.self": chosen,
    "masked_fill.Scalar": masked_fill,
    "masked_fill.Tensor": lambda x, mask, value: masked_fill(x, mask, value),
    "masked_fill_.Scalar": masked_fill_,
    "masked_fill_.Tensor": masked_fill_,
})
