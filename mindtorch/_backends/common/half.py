"""float16 from and to float32, by integers: NumPy converts one element after the other.

Both have a sign, an exponent and a mantissa, of which float16 has the upper bits, with another bias of the exponent.
What that does not hold for (infinities, NaN, what overflows, and most of what is subnormal) is left to NumPy.
"""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._storage import allocate

#: Elements that are converted at a time: what is between stays in the cache. Fewer than FEW are NumPy's.
BLOCK, FEW = 1 << 16, 1 << 10
MANTISSA = 23 - 10  # how many more bits float32 has in the mantissa
BIAS = 127 - 15  # how much more float32 adds to the exponent
_EXPONENT, _SIGN = 0x7C00, 0x8000  # of an infinity or a NaN; of a negative number
_OVERFLOW, _SMALLEST = 0x477FF000, (BIAS + 1) << 23  # as float32: 65520, which rounds to infinity; 2 ** -14


def convert(x: np.ndarray, out: np.ndarray) -> None:
    """Write an array into another of the same shape, in that one's dtype. float16 is the nearest number, and of two as
    near the even one.
    """
    kernel = _KERNELS.get((x.dtype, out.dtype))
    if kernel is None or x.size < FEW or not (x.flags.c_contiguous and out.flags.c_contiguous):
        np.copyto(out, x, casting="unsafe")
        return
    x, out = x.reshape(-1), out.reshape(-1)
    for start in range(0, len(x), BLOCK):
        kernel(x[start:start + BLOCK], out[start:start + BLOCK])


def converted(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """An array in another dtype."""
    if x.size < FEW or (x.dtype, dtype) not in _KERNELS or not x.flags.c_contiguous:
        return x.astype(dtype)
    out = allocate(x.shape, dtype)
    convert(x, out)
    return out


def _widen(x: np.ndarray, out: np.ndarray) -> None:
    bits, wide = x.view(np.int16), out.view(np.int32)
    if bits.max() >= _EXPONENT or x.view(np.uint16).max() >= _EXPONENT | _SIGN:
        out[...] = x
        return
    wide[...] = bits  # the sign goes to all upper bits ...
    wide <<= MANTISSA
    wide &= -0x70002000  # ... and stays in the uppermost
    out *= np.float32(2.0**BIAS)  # which makes what is subnormal normal, too


def _narrow(x: np.ndarray, out: np.ndarray) -> None:
    bits = x.view(np.uint32)
    rounded = bits & 0x7FFFFFFF
    small = np.flatnonzero(rounded < _SMALLEST)  # zero, and what is subnormal in float16
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


_FLOAT, _HALF = np.dtype(np.float32), np.dtype(np.float16)
_KERNELS: dict[tuple[np.dtype, np.dtype], Callable[[np.ndarray, np.ndarray], None]] = {
    (_HALF, _FLOAT): _widen, (_FLOAT, _HALF): _narrow}
