"""Memory on the meta device: sizes without data."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._dtype import DType
from ..._layout import Ints
from ..._tensor import Tensor
from ..common.creation import creation_kernels

KERNELS: dict[str, Callable[..., Any]] = creation_kernels("meta")


def full(size: Ints, fill_value: Any, dtype: DType | None = None, device: Any = None) -> Tensor:
    """``torch.full``."""
    return KERNELS["empty"](size, dtype)


KERNELS["full"] = full
