"""Tensors from numbers, lists, arrays and sizes."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import _device
from ._dispatch.dispatcher import call_on
from ._dispatch.schemas import registry
from ._dtype import DType, bool_, complex64, complex128, from_numpy_dtype, get_default_dtype, int64
from ._tensor import Tensor, from_array
from ._storage import storage_of_array
from ._backends.common.convert import to_device
from ._size import Size


def _sizes(size: tuple[Any, ...]) -> tuple[int, ...]:
    """The size arguments of a factory: ``zeros(2, 3)`` or ``zeros((2, 3))``."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    return tuple(int(n) for n in size)


def empty(*size: Any, dtype: DType | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """An uninitialised tensor (``torch.empty``)."""
    where = _device.resolve_device(device)
    out = call_on(registry["empty"], where.type, _sizes(size), dtype or get_default_dtype(), where)
    return out.requires_grad_() if requires_grad else out


def full(size: Any, fill_value: Any, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor filled with a number (``torch.full``)."""
    where = _device.resolve_device(device)
    if dtype is None:
        dtype = bool_ if isinstance(fill_value, bool) else int64 if isinstance(fill_value, int) else get_default_dtype()
    out = call_on(registry["full"], where.type, _sizes((size,)), fill_value, dtype, where)
    return out.requires_grad_() if requires_grad else out


def zeros(*size: Any, dtype: DType | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros (``torch.zeros``)."""
    return full(_sizes(size), 0, dtype=dtype or get_default_dtype(), device=device, requires_grad=requires_grad)


def ones(*size: Any, dtype: DType | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones (``torch.ones``)."""
    return full(_sizes(size), 1, dtype=dtype or get_default_dtype(), device=device, requires_grad=requires_grad)


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor over a NumPy array's memory (``torch.from_numpy``).

    Raises:
        TypeError: if it is no array, or of a dtype that no tensor has.
        ValueError: for negative strides.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    dtype = from_numpy_dtype(array.dtype)
    if array.flags.c_contiguous:
        out = from_array(array if array.__class__ is np.ndarray else np.asarray(array), dtype)
        out.untyped_storage().resizable = False
        return out
    if any(step < 0 for step in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
            "supported. (You can probably work around this by making a copy of your array with array.copy().)"
        )
    span = 1 + sum((n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)) - 1 + array.itemsize
    flat = np.lib.stride_tricks.as_strided(array, (span // array.itemsize,), (array.itemsize,))
    out = from_array(flat, dtype)
    storage = out.untyped_storage()
    storage.resizable = False
    out._set_layout(storage, array.shape, tuple(step // array.itemsize for step in array.strides), 0)
    return out


def tensor(data: Any, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False,
           pin_memory: bool = False) -> Tensor:
    """A new tensor from numbers, nested lists or an array (``torch.tensor``): always a copy."""
    array = np.array(data)
    if dtype is None:
        dtype = from_numpy_dtype(array.dtype)
        if not isinstance(data, (np.ndarray, np.generic, Tensor)):
            dtype = {"float64": get_default_dtype(), "complex128": complex64 if get_default_dtype().itemsize < 8 else complex128}.get(dtype.name, dtype)
    out = from_array(np.ascontiguousarray(array.astype(dtype.np)).reshape(array.shape), dtype)
    out = to_device(out, _device.resolve_device(device))
    return out.requires_grad_() if requires_grad else out


__all__ = ["Size", "empty", "from_numpy", "full", "ones", "storage_of_array", "tensor", "zeros"]
