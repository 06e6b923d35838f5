"""Operands that broadcast along several dimensions with a short last one.

NumPy restarts its inner loop for each row. Operands that are repeated along the last dimensions first have long rows.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import groupby
from math import prod
from typing import Any

import numpy as np

from ..._base.layout import Ints

#: SHORT: most elements of a row that is worth repeating. LONG: least elements of a row that is long enough. LEAST:
#: elements of a result that is worth a look.
SHORT, LONG, LEAST = 16, 64, 1 << 11


@lru_cache(1 << 10)
def repeats_of(shapes: tuple[Ints, ...]) -> tuple[tuple[tuple[int, int], ...], ...] | None:
    """Return the axes along which operands of these shapes are repeated, and how many times; None if NumPy is as fast
    without.
    """
    ndim = max(map(len, shapes))
    aligned = [(1,) * (ndim - len(shape)) + shape for shape in shapes]
    shape = tuple(map(max, zip(*aligned, strict=True)))
    if prod(shape) < LEAST or 0 in map(prod, shapes):
        return None
    spread = [tuple([sizes[a] == 1 for sizes in aligned]) for a in range(ndim) if shape[a] > 1]  # by dimension
    sizes = iter([size for size in shape if size > 1])
    runs = [prod([next(sizes) for _ in group]) for _, group in groupby(spread)]  # which NumPy joins to one dimension
    if len(runs) < 3 or runs[-1] > SHORT:
        return None
    first, length = ndim, 1
    while length < LONG and first:
        first -= 1
        length *= shape[first]
    return tuple([tuple([(a, shape[a]) for a in range(first, ndim) if sizes[a] == 1 < shape[a]]) for sizes in aligned])


def with_long_rows(ufunc: Callable[..., Any], repeats: Sequence[Sequence[tuple[int, int]]], *arrays: Any) -> Any:
    """Compute a ufunc of operands that are repeated first."""
    ndim, operands = max([x.ndim for x in arrays]), []
    for x, steps in zip(arrays, repeats, strict=True):
        whole = x.reshape((1,) * (ndim - x.ndim) + x.shape)
        for axis, times in steps:
            whole = np.repeat(whole, times, axis)
        operands.append(np.ascontiguousarray(whole))
    return ufunc(*operands)
