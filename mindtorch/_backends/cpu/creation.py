"""Memory on the CPU: the kernels from which every tensor is made."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._dispatch.dispatcher import registry
from ..._dispatch.keys import CPU
from ..._dispatch.registry import Kernel, Operator
from ..._dtype import DType, bool_, get_default_dtype
from ..._storage import allocate
from ..._tensor import Tensor, empty_tensor, from_array
from ..._errors import check_number
from ..._layout import Ints, Spec, check_sizes, contiguous_strides


def empty(size: Ints, dtype: DType | None = None, device: Any = None) -> Tensor:
    """``torch.empty``."""
    dtype = dtype or get_default_dtype()
    return from_array(allocate(check_sizes(size), dtype.np), dtype)


def empty_strided(
    size: Ints, stride: Ints, dtype: DType | None = None, layout: Any = None, device: Any = None
) -> Tensor:
    """``torch.empty_strided``."""
    size = check_sizes(size)
    return empty_tensor(
        Spec(size, dtype or get_default_dtype(), None if stride == contiguous_strides(size) else stride)
    )


def full(size: Ints, fill_value: Any, dtype: DType | None = None, device: Any = None) -> Tensor:
    """``torch.full``.

    Raises:
        RuntimeError: for a complex number in a real dtype.
    """
    dtype = dtype or get_default_dtype()
    if isinstance(fill_value, complex):
        check_number(dtype, fill_value)
    array = allocate(check_sizes(size), dtype.np)
    if isinstance(fill_value, complex) and not dtype.is_complex:
        fill_value = bool(fill_value) if dtype is bool_ else fill_value.real
    array.fill(fill_value)
    return from_array(array, dtype)


ROWS: dict[str, Callable[..., Any]] = {"empty": empty, "empty_strided": empty_strided, "full": full}


def find(op: Operator, backend: int) -> Kernel | None:
    row = ROWS.get(op.name) if backend == CPU else None
    return None if row is None else Kernel(row, row)


registry.add_finder(find)
