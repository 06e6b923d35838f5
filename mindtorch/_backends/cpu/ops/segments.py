"""CPU kernels of reductions of consecutive rows."""
from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ...._base import loops
from ..precision import is_half
from ..rows import MOST, taking
from . import AT_ONCE

#: Most segments whose ends Python looks at; numbers up to which half precision holds all integers.
SEGMENTS, EXACT = 1 << 6, 1 << 8
#: What combines the elements of a segment, and what it starts from.
SEGMENT_REDUCTIONS = {
    "max": (np.maximum, -np.inf), "min": (np.minimum, np.inf), "sum": (np.add, 0), "mean": (np.add, 0),
    "prod": (np.multiply, 1), "amax": (np.maximum, -np.inf), "amin": (np.minimum, np.inf)}


@taking(5)
def segment_reduce(data: np.ndarray, how: str, lengths: Any = None, indices: Any = None, offsets: Any = None,
                   axis: int = 0, unsafe: bool = False, initial: Any = None) -> Callable[..., Any] | None:
    """Prepare the reduction of few consecutive rows each."""
    given, half = lengths if offsets is None else offsets, is_half(data)
    if given.ndim != 1 or not 0 < given.size <= SEGMENTS or not (data.dtype.char in "fd" or half) or not data.size:
        return None
    dtype = loops.SINGLE if half else data.dtype
    (ufunc, start), count, shape = SEGMENT_REDUCTIONS[how], len(data), data.shape[1:]
    start, empty, numbers = start if initial is None else initial, initial is None, np.arange(given.size)
    number = np.asarray(start, dtype)
    most = EXACT if half else MOST // (data.size // count)

    def run(data: np.ndarray, how: str, lengths: Any = None, indices: Any = None,
            offsets: Any = None) -> np.ndarray | None:
        if offsets is None:
            sizes, first = lengths.tolist(), 0
        else:
            ends = offsets.tolist()
            sizes, first = [end - begin for begin, end in pairwise(ends)], ends[0]
        total = sum(sizes)
        if min(sizes, default=0) < 0 or first < 0 or total > most or not (
                first + total <= count if unsafe or offsets is not None else total == count):
            return None
        rows = data[first:first + total].astype(dtype, copy=False)
        if sizes and 0 not in sizes:
            out = ufunc(ufunc.reduceat(rows, [0, *accumulate(sizes[:-1])], 0), number)
        else:
            out = np.full((len(sizes), *shape), start, dtype)
            ufunc.at(out, numbers[:len(sizes)].repeat(sizes), rows)
        if half:
            out = out.astype(data.dtype).astype(dtype)  # rounded before it is divided
        if how == "mean":
            wide = np.array(sizes, dtype).reshape(-1, *[1] * len(shape))
            out /= np.maximum(wide, 1)
            if empty and 0 in sizes:
                out[wide.reshape(-1) == 0] = np.nan
        return out.astype(data.dtype, copy=False)

    return run


AT_ONCE.add(segment_reduce)
