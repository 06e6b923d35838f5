"""Running sums."""
from __future__ import annotations

from typing import Any

import numpy as np

from .writing import f32, f64, loop


@loop("float32[:,::1]", "float32[:,::1]")
def cumsum(x: Any, out: Any) -> None:
    """Sum up to each element of each row; the running sum is float64, as in PyTorch."""
    for row in range(len(x)):
        total = f64(0)
        for i in range(x.shape[1]):
            total += x[row, i]
            out[row, i] = f32(total)


@loop("float32[:,::1]", "float32[:,::1]", "int64", "int64")
def cumsum_down(x: Any, out: Any, start: Any, stop: Any) -> None:
    """Sum down some of the columns as ``cumsum`` does."""
    totals = np.zeros(stop - start)
    for row in range(len(x)):
        for i in range(len(totals)):
            totals[i] += x[row, start + i]
            out[row, start + i] = f32(totals[i])
