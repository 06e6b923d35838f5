"""Fast paths of operators on each tensor of a list."""
from __future__ import annotations

from typing import Any

from ...._base.quiet import quietly
from ..ops import CPU_KERNELS
from . import FAST_PATHS, PLAIN, Row


def count(general: Row) -> Row:
    """Add a number to floating point tensors, as optimizers do to count steps."""
    kernel = CPU_KERNELS["_foreach_add_.Scalar"]

    def fast(self: Any, scalar: Any) -> Any:
        for tensor in self:
            if tensor._dtype not in PLAIN:
                return general(self, scalar)
        if scalar.__class__ is not int and scalar.__class__ is not float:
            return general(self, scalar)
        quietly(kernel, [tensor._array for tensor in self], scalar)
        return self

    return fast


FAST_PATHS["_foreach_add_.Scalar"] = count
