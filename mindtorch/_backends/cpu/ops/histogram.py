"""CPU kernels of histograms and counts."""
from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.errors import check
from ...._dtype import from_numpy_dtype
from ...common.blocks import BLOCK
from ..precision import to_opmath
from . import CPU_KERNELS
from .creation import linspace

_LAST = 2**63 - 1  #: NumPy overflows for this value, and would write before its array


def bincount(x: np.ndarray, weights: np.ndarray | None = None, minlength: int = 0) -> np.ndarray:
    check(not x.size or x.min() >= 0, "bincount only supports 1-d non-negative integral inputs.")
    largest = int(x.max(initial=0))
    check(largest < _LAST, lambda: f"maximum value of input overflowed, it should be < {_LAST} but got {largest}")
    x, bins = x.astype(np.int64, copy=False), max(largest + 1, minlength)
    loop = loops.count.compiled(x.size) if weights is None and loops.FOLDS * bins <= x.size and (
        x.flags.c_contiguous) else None
    if loop is None:
        real = weights.real if weights is not None and weights.dtype.kind == "c" else weights
        return np.bincount(x, real if x.size else None, minlength)
    counts = np.zeros((loops.FOLDS, bins), np.int64)
    loop(x, counts)
    return counts.sum(0)


def check_finite(name: str, low: Any, high: Any) -> None:
    check(np.isfinite(low) and np.isfinite(high), lambda: f"{name} range of [{low}, {high}] is not finite")


def histc(x: np.ndarray, bins: int = 100, min: Any = 0, max: Any = 0) -> np.ndarray:
    """Count into bins of equal width; indices are computed, not searched."""
    x = to_opmath(x)
    low, high = (x.min(), x.max()) if min == max and x.size else (min, max)
    check_finite("torch.histc:", low, high)
    if low == high:  # all fall into the middle bin
        return np.bincount(np.full(np.count_nonzero(x == low), bins // 2), minlength=bins)
    low, high = x.dtype.type(low), x.dtype.type(high)
    found, flat, factor = np.zeros(bins, np.int64), x.reshape(-1), x.dtype.type(bins)
    for start in range(0, flat.size, BLOCK >> 2):
        part = flat[start:start + (BLOCK >> 2)]
        inside = part[(part >= low) & (part <= high)]
        places = ((inside - low) * factor / (high - low)).astype(np.int64)
        found += np.bincount(np.minimum(places, bins - 1), minlength=bins)
    return found


def equal_width(x: np.ndarray, bins: int, bounds: Any, dimension: int = 0) -> np.ndarray:
    """Return the edges of bins of equal width over a range, by default the data's."""
    x = to_opmath(x)
    low, high = bounds if bounds is not None else (x.min(), x.max()) if x.size else (0, 1)
    check_finite(f"torch.histogramdd: dimension {dimension}'s", low, high)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return linspace(low, high, bins + 1, from_numpy_dtype(x.dtype)).astype(x.dtype)


def counts(points: np.ndarray, bins: list[np.ndarray], weight: Any, density: bool) -> np.ndarray:
    """Count the points (rows) in each bin of a grid. A bin includes its left edge, the last one both."""
    columns, bins = list(to_opmath(points).T), [to_opmath(edges) for edges in bins]
    inside = reduce(np.logical_and, [
        (x >= edges[0]) & (x <= edges[-1]) for x, edges in zip(columns, bins, strict=True)])
    places = tuple(np.minimum(np.searchsorted(edges, x[inside], "right") - 1, len(edges) - 2)
                   for x, edges in zip(columns, bins, strict=True))
    out = np.zeros([len(edges) - 1 for edges in bins], columns[0].dtype)
    np.add.at(out, places, 1 if weight is None else weight.reshape(-1)[inside])
    if density:
        out /= out.sum()
        out /= reduce(np.multiply.outer, [np.diff(edges) for edges in bins])
    return out


def histogram_edges(x: np.ndarray, bins: np.ndarray, weight: Any = None, density: bool = False) -> tuple[Any, Any]:
    return counts(x.reshape(-1, 1), [bins], weight, density), bins


def histogram_count(x: np.ndarray, bins: int = 100, range: Any = None, weight: Any = None,
                    density: bool = False) -> tuple[Any, Any]:
    return histogram_edges(x, equal_width(x, bins, range), weight, density)


def bin_edges(x: np.ndarray, bins: Any, range: Any = None, weight: Any = None,
              density: bool = False) -> list[np.ndarray]:
    return [equal_width(x[..., i], count, None if range is None else range[2 * i: 2 * i + 2], i)
            for i, count in enumerate(bins)]


def from_bin_tensors(x: np.ndarray, bins: list[np.ndarray], weight: Any = None, density: bool = False) -> np.ndarray:
    if not bins:  # PyTorch counts nothing in a grid without dimensions
        return np.array(np.nan if density else 0, x.dtype)
    return counts(x.reshape(-1, x.shape[-1]), bins, weight, density)


CPU_KERNELS.add(bincount, histc)
CPU_KERNELS.update({
    "histogram.bins_tensor": histogram_edges,
    "histogram.bin_ct": histogram_count,
    "_histogramdd_bin_edges": bin_edges,
    "_histogramdd_from_bin_tensors": from_bin_tensors,
})
