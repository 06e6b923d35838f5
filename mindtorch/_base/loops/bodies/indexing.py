"""Elements at indices, which are in bounds, and counts of numbers."""
from __future__ import annotations

from typing import Any

from .writing import loop, u64


@loop("int32[:,::1]", "int64[:,::1]", "int32[:,::1]")
def gather(x: Any, at: Any, out: Any) -> None:
    for row in range(len(at)):
        for i in range(at.shape[1]):
            out[row, i] = x[row, u64(at[row, i])]


@loop("int32[:,:,::1]", "int64[:,:,::1]", "int32[:,:,::1]")
def gather_down(x: Any, at: Any, out: Any) -> None:
    for k in range(len(at)):
        box, places, result = x[k], at[k], out[k]
        for row in range(len(places)):
            for i in range(places.shape[1]):
                result[row, i] = box[u64(places[row, i]), u64(i)]


@loop("float32[:,::1]", "int64[:,::1]", "float32[:,::1]")
def scatter_add(out: Any, at: Any, values: Any) -> None:
    for row in range(len(at)):
        for i in range(at.shape[1]):
            out[row, u64(at[row, i])] += values[row, i]


@loop("float32[:,::1]", "int64[::1]", "float32[:,::1]")
def index_add(out: Any, at: Any, values: Any) -> None:
    for row in range(len(at)):
        line, added = out[u64(at[row])], values[row]
        for i in range(len(line)):
            line[i] += added[i]


@loop("int64[::1]", "int64[:,::1]")
def count(x: Any, out: Any) -> None:
    """Count each number, in ``FOLDS`` arrays in turn, so that increments do not wait for each other."""
    first, second, third, fourth = out[0], out[1], out[2], out[3]
    whole = len(x) & ~3
    for i in range(0, whole, 4):
        first[u64(x[i])] += 1
        second[u64(x[i + 1])] += 1
        third[u64(x[i + 2])] += 1
        fourth[u64(x[i + 3])] += 1
    for i in range(whole, len(x)):
        first[u64(x[i])] += 1
