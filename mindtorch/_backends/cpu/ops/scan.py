"""CPU kernels of scans. PyTorch keeps the running value in double precision, and so do these."""
from __future__ import annotations

import cmath
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...._storage import allocate
from ...common.blocks import each_block
from . import CPU_KERNELS
from .pointwise import logaddexp
from .reduction import converted, lines, to_opmath

#: Elements of a block.
BLOCK = 1 << 16


def running(x: np.ndarray) -> np.dtype:
    """The dtype of the running value."""
    return np.dtype({"f": np.float64, "c": np.complex128}.get(x.dtype.kind, np.int64))


def accumulated(ufunc: np.ufunc) -> Callable[..., Any]:
    """A row for ``op(self, dim, dtype)``."""

    def row(x: np.ndarray, dim: int, dtype: Any = None) -> Any:
        x, axis = lines(to_opmath(converted(x, dtype)), dim)
        wide = running(x)
        if x.size <= BLOCK or x.ndim == 1 or x.dtype.kind not in "fc":
            return ufunc.accumulate(x, axis, wide)
        out = allocate(x.shape, x.dtype)
        other = 1 if axis == 0 else 0  # what is wider than the input stays in the cache
        source, target = np.moveaxis(x, other, 0), np.moveaxis(out, other, 0)
        along = axis if axis > other else 1

        def work(part: slice) -> None:
            block = source[part].astype(wide)
            target[part] = ufunc.accumulate(block, along, out=block)

        each_block(work, len(source), max(BLOCK * len(source) // x.size, 1), x.size)
        return out

    return scalar_back(row)


def scalar_back(row: Callable[..., Any]) -> Callable[..., Any]:
    """A row that treats a 0-d array as a line of one element, and gives 0-d results for it."""

    def call(x: np.ndarray, *args: Any) -> Any:
        result = row(x, *args)
        if x.ndim:
            return result
        return tuple(r.reshape(()) for r in result) if isinstance(result, tuple) else result.reshape(())

    return call


def extremum(ufunc: np.ufunc) -> Callable[..., Any]:
    """The kernel of ``cummax`` and ``cummin``: the last of equal elements is found, and NaN, once met, stays."""

    def row(x: np.ndarray, dim: int) -> tuple[Any, Any]:
        if not x.size:
            return x, np.zeros(x.shape, np.int64)
        wide, axis = lines(to_opmath(x), dim)
        values = ufunc.accumulate(wide, axis)
        reached = wide == values
        if wide.dtype.kind == "f":
            reached |= np.isnan(wide)
        places = np.arange(wide.shape[axis]).reshape((-1,) + (1,) * (wide.ndim - axis - 1))
        return values, np.maximum.accumulate(np.where(reached, places, 0), axis)

    return scalar_back(row)


FEW = 32  #: of so many lines and more, a step of NumPy's is faster than Python's numbers


def logaddexp_of_numbers(x: complex, y: complex) -> complex:
    """``logaddexp`` of two complex numbers: of arrays, it takes thirty times as long for a single pair."""
    larger, smaller = (x, y) if x.real >= y.real else (y, x)
    ratio = cmath.exp(smaller - larger) if cmath.isfinite(larger) and cmath.isfinite(smaller) else -1
    if ratio == -1:  # and where a number is not finite
        return complex(logaddexp(np.asarray(x), np.asarray(y)))
    real = math.log1p(ratio.real * (2 + ratio.real) + ratio.imag * ratio.imag) / 2
    return larger + complex(real, math.atan2(ratio.imag, 1 + ratio.real))


def logcumsumexp(x: np.ndarray, dim: int) -> Any:
    x, axis = lines(to_opmath(x), dim)
    if x.dtype.kind == "f":
        return np.logaddexp.accumulate(x, axis, np.float64)
    out = np.array(np.moveaxis(x, axis, 0), np.complex128, order="C")  # of which lines are views
    out[:1][np.isnan(out[:1])] = complex(math.nan, math.nan)  # which adding the first to nothing makes of it
    if out[:1].size < FEW:
        for line in np.moveaxis(out.reshape(len(out), -1), 0, 1):
            line[:] = list(itertools.accumulate(line.tolist(), logaddexp_of_numbers))
        return np.moveaxis(out, 0, axis)
    for i in range(1, len(out)):
        out[i] = logaddexp(out[i - 1], out[i])
    return np.moveaxis(out, 0, axis)


CPU_KERNELS.update({
    "cumsum": accumulated(np.add),
    "cumprod": accumulated(np.multiply),
    "logcumsumexp": scalar_back(logcumsumexp),
    "cummax": extremum(np.maximum),
    "cummin": extremum(np.minimum),
})
