"""Arithmetic that rounds as PyTorch's compiled kernels do: casts, the C library, fused multiply-add."""
from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

Floats = np.ndarray | float

_FLOATS = {
    "float16": (11, 65504.0, "c10::Half"),
    "bfloat16": (8, 3.3895313892515355e38, "c10::BFloat16"),
    "float32": (24, 3.4028234663852886e38, "float"),
    "float64": (53, 1.7976931348623157e308, "double"),
}
_SCALAR: dict[Any, Any] = {np.log: math.log, np.log1p: math.log1p, np.exp: math.exp, np.tan: math.tan}
_LARGEST_EXPONENT = 709.782712893384  # of math.exp, which raises where the C function returns infinity
_FLOAT32 = np.dtype(np.float32)
#: By dtype of words, of uniform numbers: the bits, as which numbers these are read, and what these count.
_UNIFORM = {words.dtype: (words, signed, step) for words, signed, step in (
    (np.array(2**24 - 1, np.uint32), np.int32, np.array(2.0**-24, np.float32)),
    (np.array(2**53 - 1, np.uint64), np.int64, np.array(2.0**-53)))}
_SPLITTER = 2.0**27 + 1  # halves a float64's 53 bits (Veltkamp)
_SAFE = 2.0**900  # splitting a larger number could overflow
#: The bits of float64 that float32 lacks, half of what its last bit counts, and less than a sum is rounded in so.
_LOST, _HALF, _TINY = np.int64(2**29 - 1), np.int64(2**28), 2.0**-50


@cache
def float_facts(dtype: np.dtype) -> tuple[int, float, str] | None:
    """Return a floating dtype's bits of precision, largest value and C++ name, cached; None for others."""
    return _FLOATS.get(dtype.name)


def compute_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype to compute in: float32 for half dtypes (``at::opmath_type``)."""
    return _FLOAT32 if dtype.itemsize == 2 else dtype


def unit_interval(words: np.ndarray) -> np.ndarray:
    """Convert uint32 words to float32, uint64 to float64 in [0, 1) (``at::transformation::uniform_real``)."""
    bits, signed, step = _UNIFORM[words.dtype]
    out = (words & bits).view(signed).astype(step.dtype)
    out *= step
    return out


def cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Convert as ``static_cast<scalar_t>``: by way of float32 to half dtypes, of int32 to small integers."""
    return values if values.dtype == dtype else _converted(values, dtype)


@np.errstate(over="ignore", invalid="ignore")
def _converted(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if dtype.itemsize == 2 and dtype.kind in "fV":  # V: ml_dtypes.bfloat16
        values = values.astype(np.float32, copy=False)
    elif values.dtype.kind == "f" and dtype.kind in "iu" and dtype.itemsize < 4:
        values = values.astype(np.int32)
    return values.astype(dtype)


@np.errstate(over="ignore")
def libm(function: np.ufunc, x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Compute ``function(x)`` of a float64 array, for a result in ``dtype``.

    NumPy's vector functions may differ from the C library's in the last bit. A narrower dtype does not show it; for
    float64 the C library itself is called, as in PyTorch's scalar kernels.
    """
    if dtype != np.float64:
        return function(x)
    if function is np.exp and x.max(initial=0) > _LARGEST_EXPONENT:
        finite = libm(function, np.minimum(x, _LARGEST_EXPONENT), dtype)
        return np.where(x > _LARGEST_EXPONENT, np.inf, finite)
    return np.fromiter(map(_SCALAR[function], x.tolist()), np.float64, x.size)


def affine(x: np.ndarray, scale: float, shift: float) -> np.ndarray:
    """Compute ``x * scale + shift`` in ``x``'s precision, rounded once, as compilers contract it (``std::fma``)."""
    shift = x.dtype.type(shift)
    if scale == 1:
        return x + shift
    scale = x.dtype.type(scale)
    product_is_exact = shift == 0 or math.frexp(scale)[0] == 0.5
    if product_is_exact or not abs(float(scale)) < _SAFE:
        return x * scale + shift
    if x.dtype == np.float32:
        product = x * np.float64(scale)
        total = product + np.float64(shift)
        if abs(shift) < _TINY or ((total.view(np.int64) & _LOST) == _HALF).any():  # which would be rounded twice
            total = _add_to_odd(product, np.float64(shift))
        return total.astype(np.float32)
    # Boldo and Melquiond, Emulation of FMA and correctly rounded sums (2008)
    product, product_error = _two_product(x, scale)
    partial, partial_error = _two_sum(shift, product_error)
    total, total_error = _two_sum(product, partial)
    return total + _add_to_odd(partial_error, total_error)


def _two_sum(a: Floats, b: Floats) -> tuple[Any, Any]:
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def _split(a: Floats) -> tuple[Any, Any]:
    scaled = a * _SPLITTER
    high = scaled - (scaled - a)
    return high, a - high


def _two_product(a: Floats, b: Floats) -> tuple[Any, Any]:
    product = a * b
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _add_to_odd(a: Floats, b: Floats) -> np.ndarray:
    """Return the float64 sum; if inexact, the neighbour with an odd last bit, so that it may be rounded again."""
    total, error = _two_sum(a, b)
    bits = total.view(np.int64)
    even = (error != 0) & (bits & 1 == 0)
    bits += np.where(even, np.where((error > 0) == (total > 0), 1, -1), 0)
    return total
