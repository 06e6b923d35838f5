"""What programs call: operators on arrays, and the memory that views lie in."""
from __future__ import annotations

from typing import Any

import numpy as np

from .._dispatch.dispatcher import TENSOR_TYPES
from .._dispatch.keys import NONCONTIGUOUS
from .._dispatch.registry import Operator
from .._dtype import DTYPES, RARE, DType
from .._layout import contiguous_strides
from .._storage import storage_of_array
from .._tensor import Tensor, from_array

ndarray = np.ndarray
BY_NUMPY: dict[Any, DType] = {dtype.np: dtype for dtype in (*RARE.values(), *DTYPES.values()) if dtype.np is not None}


def tensor_of(array: np.ndarray) -> Tensor:
    """A tensor over an array's memory."""
    dtype = BY_NUMPY[array.dtype]
    out = from_array(array, dtype)
    if not array.flags.c_contiguous:
        out._stride = tuple([step // dtype.itemsize for step in array.strides])
        out._keys |= NONCONTIGUOUS
        whole = array
        while whole.base is not None and whole.base.__class__ is ndarray:
            whole = whole.base
        place = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        flat = whole.view() if whole.flags.c_contiguous else whole.T
        out._storage = storage_of_array(flat)
        out._offset = place // dtype.itemsize
        out._version_counter = [0, out._storage]
    return out


def with_layout(array: np.ndarray, dtype: DType, stride: tuple[int, ...]) -> Tensor:
    """A fresh tensor over an array that a program made, with the strides that were recorded."""
    out = from_array(array, dtype)
    if stride != contiguous_strides(array.shape):
        out = tensor_of(array) if not array.flags.c_contiguous else out
        out._stride = stride
        out._keys |= NONCONTIGUOUS
    return out


def strided(array: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """A contiguous array expanded to a shape; strides count bytes."""
    try:
        return np.ndarray(shape, array.dtype, array, 0, strides)
    except ValueError:  # bfloat16 has no buffers
        return np.broadcast_to(array, shape)


class Extern:
    """An operator, called on arrays in the place of tensors."""

    __slots__ = ("op",)

    def __init__(self, op: Operator) -> None:
        self.op = op

    def __call__(self, *args: Any) -> Any:
        result = self.op.call(*[wrapped(arg) for arg in args])
        if result.__class__ is Tensor:
            return result._array
        return tuple([item._array if item.__class__ in TENSOR_TYPES else item for item in result]) if isinstance(
            result, (list, tuple)) else result

    def __repr__(self) -> str:
        return f"aten::{self.op.name}"


def wrapped(value: Any) -> Any:
    """An argument with tensors in the place of arrays."""
    kind = value.__class__
    if kind is ndarray:
        return tensor_of(value)
    if kind is list:
        return [wrapped(item) for item in value]
    return value
