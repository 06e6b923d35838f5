"""The kernels of the simulated NPU: a function for each row of the binding table, by family.

A kernel takes the values of the row's parameters in order and writes into its outputs. Tensors are arrays over device
memory (lists of them for lists of tensors), scalars NumPy scalars, arrays of numbers tuples, dtypes mindtorch's; what
may be null may be None. Kernels whose outputs' shapes depend on the data return these shapes; the others return
nothing.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from . import creation, linalg, nn, pointwise, reduction, shape, windows


def quiet(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Run a kernel without NumPy's warnings: a device does not warn of infinities and NaN."""

    @wraps(kernel)
    def call(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return kernel(*args)

    return call


KERNELS: dict[str, Callable[..., Any]] = {
    name: quiet(kernel)
    for family in (pointwise, reduction, linalg, shape, creation, nn, windows)
    for name, kernel in family.KERNELS.items()
}
