"""Conversion of float16 and bfloat16 from and to float32, by compiled loops or integer arithmetic: NumPy is slow here.

float16 and float32 both have a sign, an exponent and a mantissa; float16 keeps the mantissa's upper bits and has
another exponent bias. NumPy converts the exceptions (infinities, NaN, overflow, and most subnormal numbers). It also
converts bfloat16 if there are no compiled loops.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..._base import loops
from ..._dtype import BOOL, COMPLEX, DType, before_rounding
from ..._storage import allocate
from .blocks import LARGE, as_vectors, copy, each_block

#: BLOCK elements are converted at a time, so that temporaries stay in the cache. NumPy converts fewer than FEW, and
#: widens fewer than SOME of bfloat16.
BLOCK, FEW, SOME = 1 << 16, 1 << 10, 1 << 14
SLOW = 16  #: how much longer NumPy takes for an element than for one of float32
MANTISSA = 23 - 10  # how many more bits float32 has in the mantissa
BIAS = 127 - 15  # how much more float32 adds to the exponent
NATIVE = "biufc"  #: the kinds of NumPy's own dtypes
_EXPONENT, _SIGN = 0x7C00, 0x8000  # the bits of an infinity; the sign bit
_OVERFLOW, _SMALLEST = 0x477FF000, (BIAS + 1) << 23  # as float32: 65520, which rounds to infinity; 2 ** -14


def convert(x: np.ndarray, out: np.ndarray) -> None:
    """Write an array, broadcast, into another and convert it to that dtype. Rounds to nearest, ties to even."""
    way = None if x.size < FEW else _WAYS[x.dtype, out.dtype]
    vectors = None if way is None else as_vectors(x, out)
    if way is None or (vectors is None and (x.shape != out.shape or way is _WAYS.widening)):
        copy(out, x)
        return
    if vectors is None:  # as bits, a copy without gaps and one that has them take less than NumPy's conversion
        dense = x.view(way.source).copy("K").view(x.dtype)
        target = np.empty_like(dense, out.dtype)
        if as_vectors(dense, target) is None:
            copy(out, x)
            return
        convert(dense, target)
        np.copyto(out.view(way.target), target.view(way.target))
        return
    x, out = vectors
    loop = way.loop.compiled(SLOW * x.size)
    if loop is None:
        for start in range(0, len(x), BLOCK):
            way.by_numpy(x[start:start + BLOCK], out[start:start + BLOCK])
        return
    x, out = x.view(way.source), out.view(way.target)
    if x.size < LARGE:
        loop(x, out)
    else:
        each_block(lambda part: loop(x[part], out[part]), x.size, LARGE, x.size)


def part_for(x: np.ndarray, dtype: DType) -> np.ndarray:
    """Return what is converted to a dtype: the real part of a complex array that becomes neither complex nor boolean,
    complex32 as complex64 for truth values, for which ml_dtypes takes integers; float64 as float32 for half precision;
    else the array.
    """
    kind = x.dtype.kind
    if dtype.category == BOOL:
        return x if kind in NATIVE or x.dtype.name != "complex32" else x.astype(np.complex64)
    return before_rounding(x.real if kind == "c" and dtype.category != COMPLEX else x, dtype.np)


def converted(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return an array in another dtype; integers in half precision from float32, as C++ converts them."""
    x, size = before_rounding(x, dtype), x.size
    if size >= FEW and dtype.char in "eE" and x.dtype.kind in "biu":
        x = x.astype(np.float32)
    if size < FEW or (way := _WAYS[x.dtype, dtype]) is None or (way is _WAYS.widening and size < SOME):
        return x.astype(dtype)
    if not x.flags.c_contiguous:
        out = np.empty_like(x, dtype)
    elif size < LARGE and (loop := way.loop.compiled(SLOW * size)) is not None:
        out = np.empty(x.shape, dtype)
        if way.source is np.uint16:
            loop(x.view(np.uint16), out)
        else:
            loop(x, out.view(np.uint16))
        return out
    else:
        out = allocate(x.shape, dtype)
    convert(x, out)
    return out


def number_in(number: Any, dtype: np.dtype) -> np.ndarray:
    """Return a number, or an array of one, in a dtype."""
    return before_rounding(np.asarray(number), dtype).astype(dtype)


def _widen(x: np.ndarray, out: np.ndarray) -> None:
    bits, wide = x.view(np.int16), out.view(np.int32)
    if bits.max() >= _EXPONENT or x.view(np.uint16).max() >= _EXPONENT | _SIGN:
        out[...] = x
        return
    wide[...] = bits  # sign-extended to the upper bits ...
    wide <<= MANTISSA
    wide &= -0x70002000  # ... and kept in the uppermost only
    out *= np.float32(2.0**BIAS)  # also normalises subnormal numbers


def _narrow(x: np.ndarray, out: np.ndarray) -> None:
    bits = x.view(np.uint32)
    rounded = bits & 0x7FFFFFFF
    small = np.flatnonzero(rounded < _SMALLEST)  # zero, and numbers subnormal in float16
    if rounded.max() >= _OVERFLOW or len(small) > len(x) // 8:
        np.copyto(out, x, casting="unsafe")
        return
    odd = rounded >> MANTISSA
    odd &= 1
    rounded += odd
    rounded -= (BIAS << 23) - (1 << MANTISSA - 1) + 1
    rounded >>= MANTISSA
    half = out.view(np.uint16)
    np.copyto(half, np.right_shift(bits, 16, out=odd), casting="unsafe")
    half &= _SIGN
    half |= rounded.astype(np.uint16)
    out[small] = x[small]


def _copy(x: np.ndarray, out: np.ndarray) -> None:
    np.copyto(out, x, casting="unsafe")


class Way(NamedTuple):
    """A conversion between dtypes: NumPy's function, and a compiled loop over views as ``source`` and ``target``."""

    by_numpy: Callable[[np.ndarray, np.ndarray], None]
    loop: loops.Loop
    source: Any
    target: Any


class _Ways(dict[tuple[np.dtype, np.dtype], Way | None]):
    """A cache of conversions by dtypes, looked up by name once: bfloat16 is only created when it is first used."""

    names: ClassVar = {
        ("float16", "float32"): Way(_widen, loops.widen_float16, np.uint16, np.float32),
        ("float32", "float16"): Way(_narrow, loops.narrow_float16, np.float32, np.uint16),
        ("bfloat16", "float32"): Way(_copy, loops.widen_bfloat16, np.uint16, np.float32),
        ("float32", "bfloat16"): Way(_copy, loops.narrow_bfloat16, np.float32, np.uint16),
    }

    #: The one that NumPy computes as fast as a copy.
    widening = names["bfloat16", "float32"]

    def __missing__(self, pair: tuple[np.dtype, np.dtype]) -> Way | None:
        self[pair] = way = self.names.get((pair[0].name, pair[1].name))
        return way


_WAYS = _Ways()


def ways_of(dtype: np.dtype, size: int) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return the conversions of vectors from a half-precision dtype, as ``uint16``, to float32, and back."""
    widening, narrowing = _WAYS[dtype, np.dtype(np.float32)], _WAYS[np.dtype(np.float32), dtype]
    assert widening is not None and narrowing is not None
    widen, narrow = widening.loop.compiled(size), narrowing.loop.compiled(size)
    if widen is None or narrow is None:
        return lambda x, out: convert(x.view(dtype), out), lambda x, out: convert(x, out.view(dtype))

    def narrow_any(x: np.ndarray, out: np.ndarray) -> None:
        narrow(x if x.dtype == np.float32 and x.flags.c_contiguous else np.ascontiguousarray(x, np.float32), out)

    return widen, narrow_any
