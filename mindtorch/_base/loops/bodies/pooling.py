"""Maxima of windows."""
from __future__ import annotations

from typing import Any

from .division import as_is
from .half import HALVES
from .writing import FLOATS, i64, loop, u64


def loops_of(half: str = "") -> None:
    """Build the loop of numbers, or of the bits of half precision."""
    read = HALVES[half][0] if half else as_is
    name, of = f"_{half}" * bool(half), () if half else ("int32", "int64", *FLOATS)
    images = "uint16[:,:,:,::1]" if half else "T[:,:,:,::1]"

    @loop(images, *["int64[:,:,::1]"] * 2, "int64[::1]", images, "int64[:,:,:,::1]", of=of, name=f"maxima{name}")
    def maxima(x: Any, begin: Any, end: Any, step: Any, best: Any, found: Any) -> None:
        """Find the maxima of windows, and their flat places in volumes, unless ``found`` is empty. ``begin`` and
        ``end`` (volumes or 1, dimensions, windows) say which elements windows hold along each dimension, each
        ``step``-th. The first of equal elements counts, but the last NaN.
        """
        for n in range(len(x)):
            first, last = begin[n if len(begin) > 1 else 0], end[n if len(end) > 1 else 0]
            for i in range(best.shape[1]):
                for j in range(best.shape[2]):
                    for k in range(best.shape[3]):
                        chosen = x[n, u64(first[0, i]), u64(first[1, j]), u64(first[2, k])]
                        at, value = (first[0, i] * x.shape[2] + first[1, j]) * x.shape[3] + first[2, k], read(chosen)
                        a = first[0, i]
                        while a < last[0, i]:
                            b = first[1, j]
                            while b < last[1, j]:
                                c, start = first[2, k], (a * x.shape[2] + b) * x.shape[3]
                                while c < last[2, k]:
                                    other = x[n, u64(a), u64(b), u64(c)]
                                    if not read(other) <= value and (value == value or read(other) != read(other)):
                                        at, chosen, value = start + c, other, read(other)
                                    c += step[2]
                                b += step[1]
                            a += step[0]
                        best[n, i, j, k] = chosen
                        if len(found):
                            found[n, i, j, k] = at


@loop("T[:,::1]", *["int64[::1]"] * 4, *["int64[:,:,:]"] * 2, of=FLOATS)
def fractional_ends(samples: Any, order: Any, size: Any, kernel: Any, out: Any, begin: Any, end: Any) -> None:
    """Write where fractional windows begin and end, given each volume's samples, of which ``order`` says whose they
    are.
    """
    kind = samples.dtype.type
    for n in range(len(samples)):
        for d in range(len(size)):
            sample, last = samples[n, order[d]], size[d] - kernel[d]
            step = kind(last) / kind(out[d] - 1)
            for i in range(out[d]):
                start = last if i == out[d] - 1 else i64((kind(i) + sample) * step) - i64(sample * step)
                begin[n, d, i] = min(max(start, 0), last)
                end[n, d, i] = begin[n, d, i] + kernel[d]


for _half in ("", *HALVES):
    loops_of(_half)
