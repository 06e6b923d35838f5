"""CPU kernels of what the library is written in."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

ROWS: dict[str, Callable[..., Any]] = {
    "add.Tensor": np.add,
    "mul.Tensor": np.multiply,
    "relu": lambda x: np.maximum(x, 0),
    "threshold_backward": lambda g, x, t: np.where(x > t, g, 0),
    "sum": lambda x, dtype=None: np.add.reduce(x, None, dtype.np if dtype else None),
    "sum.dim_IntList": lambda x, dim=None, keepdim=False, dtype=None: np.sum(x, dim, dtype.np if dtype else None, keepdims=keepdim),
    "ones_like": np.ones_like,
    "zeros_like": np.zeros_like,
}
