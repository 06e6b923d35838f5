"""CPU kernels of factories."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...._base import loops
from ...._dtype import FLOATING, DType, dtype_of_number, get_default_dtype
from ...common.half import number_in
from ...common.shapes import length
from ...random.numerics import affine
from ..rows import MOST, repeated, repeating
from . import AT_ONCE, CPU_KERNELS

BEYOND_FLOAT32, HALF = (1 << 29) - 1, 1 << 28  #: bits of a float64 beyond float32, and the highest of them
_REGISTER = 32  # bytes that ATen's kernel of arange fills at once


def arange(start: Any, end: Any, step: Any = 1, dtype: DType | None = None, *options: Any) -> np.ndarray:
    """Count exactly for integers, and as ATen does for floating point numbers.

    ATen fills two registers at a time and counts within each from its first element, rounded to the dtype. The
    remainder is counted from ``start``.
    """
    if all(isinstance(v, int) for v in (start, end, step)):
        return np.arange(start, end, step, dtype=np.int64)
    dtype = dtype or get_default_dtype()
    count = length(start, end, step, dtype)
    if dtype.category < FLOATING:
        counts = np.arange(count)
        counts *= int(step)
        counts += int(start)
        return counts
    steps: Any = np.arange(count, dtype=np.float32 if dtype.itemsize == 2 else np.float64)
    values = affine(steps, step, start)
    lanes = _REGISTER // dtype.itemsize
    vectors = values[:steps.size - steps.size % (2 * lanes)].reshape(-1, lanes)
    vectors[...] = vectors[:, :1].astype(dtype.np).astype(steps.dtype) + np.arange(lanes, dtype=steps.dtype) * step
    return values


EXACT = 1 << 23  #: integers that float32 holds, and whose products with float32 numbers are exact in float64
PASSES = 16  #: of NumPy over numbers that are multiplied, added and rounded once
LEAST = 2.0**-60  #: least step between numbers that are zero or normal in float32, apart from the ends


FEW = 1 << 5  #: up to this many elements, Python numbers beat several NumPy calls


def of_exact_sums(start: Any, end: Any, step: Any, steps: int, halfway: int) -> np.ndarray | None:
    """Compute ``spaced`` for a few float32 numbers; None unless float64 holds all sums exactly."""
    values, width = [], float(step)
    for counts, origin in ((range(halfway), float(start)), (range(halfway - steps + 1, 1), float(end))):
        for count in counts:
            product = count * width
            total = product + origin
            if total - product != origin or total - origin != product:
                return None
            values.append(total)
    return np.array(values, np.float32)


def rounded_once(start: Any, end: Any, step: Any, steps: int, halfway: int) -> np.ndarray | None:
    """Compute ``spaced`` for float32 in float64, whose products are exact.

    None if an inexact sum lies halfway between two float32 numbers: only then is the double rounding visible.
    """
    counts, shift = np.arange(steps), np.empty(steps)
    counts[halfway:] -= steps - 1
    shift[:halfway], shift[halfway:] = start, end
    products = counts * np.float64(step)
    sums = products + shift
    between = sums.view(np.int64) & BEYOND_FLOAT32 == HALF
    if between.any() and (between & ((sums - products != shift) | (sums - shift != products))).any():
        return None
    return sums.astype(np.float32)


def spaced(start: Any, end: Any, step: Any, steps: int) -> np.ndarray:
    """Count from both ends towards the middle, as ATen does, so that the last element is exactly ``end``; a single one
    is ``start``. Each element is rounded once, in half precision after each operation.
    """
    if steps == 1:
        return np.full(1, start)
    halfway = steps // 2
    values = of_both_ends(start, end, step, steps, halfway)
    if not end:  # ATen subtracts from the end, which changes the sign of zeros
        latter = values[halfway:]
        latter[latter == 0] = end - step * 0
    return values


def of_both_ends(start: Any, end: Any, step: Any, steps: int, halfway: int) -> np.ndarray:
    """Compute ``spaced``, apart from the signs of zeros."""
    if steps > MOST and (loop := loops.spaced.compiled(PASSES * steps, out := np.empty(steps, step.dtype))):
        loop(out, start, end, step)
        return out
    if step.dtype == np.float32 and steps <= EXACT and LEAST < abs(step) < np.inf:
        values = of_exact_sums(start, end, step, steps, halfway) if steps <= FEW else None
        values = rounded_once(start, end, step, steps, halfway) if values is None else values
        if values is not None:
            return values
    index = np.arange(steps)
    pieces = [(index[:halfway].astype(step.dtype), start), (index[halfway:] - (steps - 1), end)]
    if step.dtype.itemsize == 2:
        return np.concatenate([origin + step * index.astype(step.dtype) for index, origin in pieces])
    return np.concatenate([affine(index.astype(step.dtype), step, origin) for index, origin in pieces])


def linspace(start: Any, end: Any, steps: int, dtype: DType | None = None, *options: Any) -> np.ndarray:
    dtype = dtype or dtype_of_number(0.0 + start + end)
    if dtype.is_complex:
        result = np.empty(steps, dtype.np)
        for part in ("real", "imag"):
            setattr(result, part, linspace(getattr(start, part), getattr(end, part), steps, dtype.to_real()))
        return result
    first, last = ends(start, end, dtype)
    step = last - first if dtype.category == FLOATING else np.float64(last) - np.float64(first)
    return spaced(first, last, step / step.dtype.type(max(steps - 1, 1)), steps)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, dtype: DType | None = None,
             *options: Any) -> np.ndarray:
    dtype = dtype or dtype_of_number(0.0 + start + end)
    if dtype.is_complex:
        return np.power(np.asarray(base, dtype.np), linspace(start, end, steps, dtype))
    first, last = ends(start, end, dtype) if steps != 1 else (start, end)
    return np.power(float(base), spaced(first, last, np.float64(last - first) / max(steps - 1, 1), steps))


def ends(start: Any, end: Any, dtype: DType) -> tuple[Any, Any]:
    """Convert both ends to the dtype; negative numbers wrap around in an unsigned one."""
    if dtype.category < FLOATING:
        start, end = math.trunc(start), math.trunc(end)
    first, last = number_in(np.array([start, end]), dtype.np)
    return first, last


def eye(n: int, m: int, dtype: DType | None = None, *options: Any) -> np.ndarray:
    return np.eye(n, m, dtype=(dtype or get_default_dtype()).np)


def counting(count: int, of: Any, size_of: Any) -> Any:
    """Return a function that prepares a form of ``arange`` or ``eye`` of ``count`` numbers: copies of a result, whose
    size is ``size_of`` the numbers.
    """
    def prepare(*args: Any) -> Any:
        dtype, numbers = args[count] if len(args) > count else None, args[:count]
        return None if size_of(*numbers) > MOST else repeated(of(*numbers, dtype), dtype)

    return prepare


AT_ONCE.update({"arange": counting(1, lambda end, dtype: arange(0, end, 1, dtype), int),
                "arange.start": counting(2, lambda start, end, dtype: arange(start, end, 1, dtype),
                                         lambda start, end: end - start),
                "eye": counting(1, lambda n, dtype: eye(n, n, dtype), lambda n: n * n)})
CPU_KERNELS.add(repeating(linspace, 3), repeating(logspace, 4))
CPU_KERNELS.update({"arange.start_step": repeating(arange, 3), "eye.m": repeating(eye, 2)})
