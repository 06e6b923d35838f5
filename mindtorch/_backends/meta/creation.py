"""Memory on the meta device: sizes without data."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._device import META
from ..._dispatch.dispatcher import registry
from ..._dispatch.keys import META as META_KEY
from ..._dispatch.registry import Kernel, Operator
from ..._dtype import DType, get_default_dtype
from ..._tensor import Tensor, empty_tensor
from ..._layout import Ints, Spec, check_sizes, contiguous_strides


def empty(size: Ints, dtype: DType | None = None, device: Any = None) -> Tensor:
    """``torch.empty``."""
    return empty_tensor(Spec(check_sizes(size), dtype or get_default_dtype()), META)


def empty_strided(
    size: Ints, stride: Ints, dtype: DType | None = None, layout: Any = None, device: Any = None
) -> Tensor:
    """``torch.empty_strided``."""
    size = check_sizes(size)
    spec = Spec(size, dtype or get_default_dtype(), None if stride == contiguous_strides(size) else stride)
    return empty_tensor(spec, META)


def full(size: Ints, fill_value: Any, dtype: DType | None = None, device: Any = None) -> Tensor:
    """``torch.full``."""
    return empty(size, dtype)


ROWS: dict[str, Callable[..., Any]] = {"empty": empty, "empty_strided": empty_strided, "full": full}


def find(op: Operator, backend: int) -> Kernel | None:
    row = ROWS.get(op.name) if backend == META_KEY else None
    return None if row is None else Kernel(row, row)


registry.add_finder(find)
