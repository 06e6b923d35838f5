"""Figures of large tensors: an even sample for costly ones, a scan of all elements for extremes, NaN and infinities."""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from time import thread_time
from typing import Any, NamedTuple

import numpy as np

SAMPLE = 100_000  #: elements at most in a sample
PERIODS = 2 * 3 * 5 * 7 * 11 * 13  #: likely factors of the length of a repeating pattern
PIECE = 1 << 16  #: elements scanned at once: they fit into the cache between the passes
BUDGET = 0.015  #: seconds of this thread's own time that a scan may take
SIXTEEN = {"float16": 0x7C00, "bfloat16": 0x7F80}  #: infinity as bits, by dtype


def sampling(shape: Sequence[int]) -> tuple[slice, ...]:
    """Return indices of all elements, or of ``SAMPLE`` at most: in equal steps, fewer along long dimensions.

    No step has a factor of ``PERIODS``, so a pattern that repeats every 2, 10 or 16 elements is sampled evenly.
    """
    left, steps = SAMPLE, [1] * len(shape)
    if math.prod(shape) > SAMPLE:
        for done, dim in enumerate(sorted(range(len(shape)), key=shape.__getitem__)):
            steps[dim] = -(-shape[dim] // max(1, int(left ** (1 / (len(shape) - done)))))
            while math.gcd(steps[dim], PERIODS) > 1:
                steps[dim] += 1
            left //= -(-shape[dim] // steps[dim])
    return tuple(slice(None, None, step) for step in steps)


class Scan(NamedTuple):
    """Figures of the first ``examined`` elements of an array in memory order: extremes of the finite ones (None if
    there are none, or for complex numbers), counts of NaN and infinities, and the index of the first of each. ``zeros``
    counts False among bools.
    """

    minimum: Any
    maximum: Any
    nans: int
    infinities: int
    first_nan: tuple[int, ...] | None
    first_infinite: tuple[int, ...] | None
    zeros: int
    examined: int


def scan(array: np.ndarray, name: str, seconds: float = BUDGET) -> Scan:
    """Examine all elements of an array of the dtype ``name``, or as many as time allows."""
    repeated = tuple(slice(1 if not step else None) for step in array.strides)  # expanded: each element lies there once
    once = array[repeated]
    times = array.size // max(once.size, 1)
    order = sorted(range(once.ndim), key=lambda dim: -abs(once.strides[dim]))
    found, end = _Found(once.shape, order, once.dtype), thread_time() + seconds
    for start, piece in _pieces(once.transpose(order)):
        if found.examined and thread_time() > end:
            break
        found.take(start, piece, name)
    low, high = found.extremes
    nans, infinities, zeros, examined = (count * times for count in (*found.counts, found.zeros, found.examined))
    return Scan(low, high, nans, infinities, found.index(found.first[0]), found.index(found.first[1]), zeros, examined)


def _pieces(array: np.ndarray, start: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Cut an array into pieces of ``PIECE`` elements at most, each with the index at which it starts."""
    if not array.size:
        return
    if array.ndim > 1 and array[0].size > PIECE:
        for i, part in enumerate(array):
            yield from _pieces(part, (*start, i))
    elif array.ndim:
        step = PIECE // array[0].size
        yield from (((*start, i), array[i : i + step]) for i in range(0, len(array), step))
    else:
        yield start, array


class _Found:
    """The figures of the pieces so far. ``first`` holds places, which grow with the index."""

    def __init__(self, shape: tuple[int, ...], order: list[int], dtype: np.dtype):
        self.shape, self.dtype = shape, dtype
        steps = [math.prod(shape[dim + 1:]) for dim in range(len(shape))]
        self.steps = [steps[dim] for dim in order]
        self.is_in_order = order == sorted(order)
        self.examined, self.zeros, self.counts = 0, 0, [0, 0]
        self.first: list[int | None] = [None, None]
        self.extremes: tuple[Any, Any] = (None, None)

    def take(self, start: tuple[int, ...], piece: np.ndarray, name: str) -> None:
        """Add a piece."""
        self.examined += piece.size
        if piece.dtype.kind == "b":
            zeros = piece.size - int(np.count_nonzero(piece))
            self.zeros += zeros
            self._extend(np.bool_(not zeros), np.bool_(zeros < piece.size))
        elif piece.dtype.kind in "iu":
            self._extend(piece.min(), piece.max())
        elif not (self._bits(piece, SIXTEEN[name]) if name in SIXTEEN else self._floats(piece)):
            self._locate_all(start, piece.astype(np.float32) if name in SIXTEEN else piece)

    def _locate_all(self, start: tuple[int, ...], values: np.ndarray) -> None:
        """Add a piece with a NaN or an infinity."""
        finite, nan = np.isfinite(values), np.isnan(values)
        self._locate(0, start, nan)
        bad = values.size - np.count_nonzero(finite)
        if bad > np.count_nonzero(nan):
            self._locate(1, start, ~(finite | nan))
        if bad < values.size and values.dtype.kind != "c":
            some = values[np.unravel_index(int(finite.argmax()), finite.shape)]
            numbers = np.where(finite, values, some)
            self._extend(numbers.min(), numbers.max())

    def _floats(self, piece: np.ndarray) -> bool:
        """Add a piece of floating-point numbers if all are finite, and return whether they are."""
        if piece.dtype.kind == "c":
            return bool(np.isfinite(piece).all())
        low, high = piece.min(), piece.max()  # NaN if one is
        if is_finite := bool(np.isfinite(low) and np.isfinite(high)):
            self._extend(low, high)
        return is_finite

    def _bits(self, piece: np.ndarray, infinity: int) -> bool:
        """As `_floats`, for 16 bits, which NumPy compares slowly: as integers of the same order."""
        bits = piece.view(np.int16)
        order = bits >> 15
        order &= 0x7FFF
        order ^= bits
        low, high = int(order.min()), int(order.max())
        if is_finite := -infinity - 1 < low and high < infinity:
            self._extend(*(np.array(key ^ (key >> 15 & 0x7FFF), np.int16).view(self.dtype)[()] for key in (low, high)))
        return is_finite

    def _extend(self, low: Any, high: Any) -> None:
        before = self.extremes
        self.extremes = (low, high) if before[0] is None else (min(low, before[0]), max(high, before[1]))

    def _locate(self, which: int, start: tuple[int, ...], bad: np.ndarray) -> None:
        """Count the marked elements of a piece, and keep the first one's place."""
        count = int(np.count_nonzero(bad))
        self.counts[which] += count
        if not count or (self.is_in_order and self.first[which] is not None):
            return
        if self.is_in_order:
            inside: Any = np.unravel_index(int(bad.argmax()), bad.shape)
        else:
            inside = np.nonzero(bad)
        at = [*start, *[0] * (len(self.shape) - len(start))]
        for dim, where in enumerate(inside, max(len(start) - 1, 0)):
            at[dim] = at[dim] + where
        place = int(np.min(sum(where * step for where, step in zip(at, self.steps, strict=True))))
        self.first[which] = place if self.first[which] is None else min(place, self.first[which])  # type: ignore[type-var]

    def index(self, place: int | None) -> tuple[int, ...] | None:
        """Return the index of a place."""
        return None if place is None else tuple(map(int, np.unravel_index(place, self.shape))) if self.shape else ()
