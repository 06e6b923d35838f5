"""Memory on the CPU, filled."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._dtype import DType, bool_, get_default_dtype
from ..._errors import check_number
from ..._layout import Ints, check_sizes
from ..._storage import allocate
from ..._tensor import Tensor, from_array
from ..common.creation import creation_kernels


def full(size: Ints, fill_value: Any, dtype: DType | None = None, device: Any = None) -> Tensor:
    """``torch.full``. Raises RuntimeError for a complex number in a real dtype."""
    dtype = dtype or get_default_dtype()
    if isinstance(fill_value, complex):
        check_number(dtype, fill_value)
    array = allocate(check_sizes(size), dtype.np)
    if isinstance(fill_value, complex) and not dtype.is_complex:
        fill_value = bool(fill_value) if dtype is bool_ else fill_value.real
    array.fill(fill_value)
    return from_array(array, dtype)


KERNELS: dict[str, Callable[..., Any]] = {**creation_kernels("cpu"), "full": full}
