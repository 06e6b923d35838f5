"""Tensors over memory that others made: NumPy arrays, buffers, DLPack."""
from __future__ import annotations

from typing import Any

import numpy as np

from .. import _device
from .._about import about
from .._backends.common.convert import to_device
from .._dtype import DType, from_numpy_dtype, get_default_dtype
from .._layout import contiguous_strides
from .._tensor import Tensor, from_array, tensor_method
from .data import tensor


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor over a NumPy array's memory (``torch.from_numpy``).

    Raises:
        TypeError: if it is no array, or of a dtype that no tensor has.
        ValueError: for negative strides, or strides that are no whole number of elements.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    dtype = from_numpy_dtype(array.dtype)
    size = dtype.itemsize
    strides = tuple(step // size for step in array.strides)
    plain = array if array.__class__ is np.ndarray else np.asarray(array)
    if array.flags.c_contiguous and (strides == contiguous_strides(array.shape) or not array.size):
        out = from_array(plain, dtype)
        out.untyped_storage().resizable = False
        return out
    if any(step < 0 for step in array.strides):
        raise about(ValueError("At least one stride in the given numpy array is negative, and tensors with negative "
                               "strides are not currently supported. (You can probably work around this by making a "
                               "copy of your array with array.copy().)"),
                    "negative strides", shape=array.shape, strides=array.strides)
    if any(step % size for step in array.strides):
        raise ValueError("given numpy array strides not a multiple of the element byte size. Copy the numpy array to "
                         "reallocate the memory.")
    count = 1 + sum((n - 1) * step for n, step in zip(array.shape, strides, strict=True))
    flat = np.lib.stride_tricks.as_strided(plain, (count,), (size,), writeable=array.flags.writeable)
    out = from_array(flat, dtype)
    storage = out.untyped_storage()
    storage.resizable = False
    out._set_layout(None, array.shape, strides, 0)
    return out


def as_tensor(data: Any, dtype: DType | None = None, device: Any = None) -> Tensor:
    """A tensor over the same data where that is possible, else a copy (``torch.as_tensor``)."""
    if isinstance(data, np.ndarray):
        out = from_numpy(data)
    elif isinstance(data, Tensor):
        out = data
    else:
        return tensor(data, dtype=dtype, device=device)
    return to_device(out, out._device if device is None and isinstance(data, Tensor)
                     else _device.resolve_device(device), dtype)


def asarray(obj: Any, *, dtype: DType | None = None, device: Any = None, copy: bool | None = None,
            requires_grad: bool = False) -> Tensor:
    """A tensor from anything that holds data, over the same memory where ``copy`` permits (``torch.asarray``).

    Raises:
        ValueError: if ``copy=False`` and a copy is needed.
    """
    if isinstance(obj, Tensor):
        source = obj if requires_grad else obj.detach() if obj.requires_grad else obj
    elif isinstance(obj, np.ndarray):
        source = from_numpy(obj)
    elif hasattr(obj, "__dlpack__"):
        source = from_dlpack(obj)
    elif isinstance(obj, (bytearray, memoryview)):
        source = frombuffer(obj, dtype=dtype or get_default_dtype())
    else:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return tensor(obj, dtype=dtype, device=device, requires_grad=requires_grad)
    out = to_device(source, source._device if device is None else device, dtype)
    if copy is False and out is not source:
        raise ValueError("can't alias tensor: a copy is needed for another dtype or device.")
    if copy and out is source:
        out = source.clone()
    return out.requires_grad_() if requires_grad and not out.requires_grad else out


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor over a buffer's memory; ``count`` is in elements, ``offset`` in bytes (``torch.frombuffer``).

    Raises:
        ValueError: if the buffer is too short, or its length is no multiple of the element size.
    """
    length = memoryview(buffer).nbytes
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} "
                         "bytes) minus 1")
    if count < 0 and (length - offset) % dtype.itemsize:
        raise ValueError(f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of "
                         f"element size ({dtype.itemsize})")
    if count > 0 and offset + count * dtype.itemsize > length:
        raise ValueError(f"requested buffer length ({count} * {dtype.itemsize} bytes) after offset ({offset} bytes) "
                         f"must not be greater than actual buffer length ({length} bytes)")
    stop = length - offset if count < 0 else count * dtype.itemsize
    data = np.frombuffer(buffer, np.uint8)[offset : offset + stop]
    return from_numpy(data.view(dtype.np)).requires_grad_(requires_grad)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array (``torch.from_dlpack``)."""
    out = from_numpy(np.from_dlpack(ext_tensor, copy=copy))
    return out if device is None else to_device(out, device)


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule over a tensor's memory."""
    return _dlpack(tensor)


@tensor_method("__dlpack__")
def _dlpack(self: Tensor, **options: Any) -> Any:
    """The protocol by which other libraries see this tensor's memory.

    Raises:
        BufferError: if the tensor requires grad, or has no host memory.
    """
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self._device.type != "cpu":
        raise BufferError(f"Can't export tensors on the device {self.device} to DLPack")
    return self._host("dlpack").__dlpack__(**{k: v for k, v in options.items() if v is not None})


@tensor_method("__dlpack_device__")
def _dlpack_device(self: Tensor) -> tuple[int, int]:
    """The kind and the number of the device, as DLPack counts: 1 is the CPU."""
    return 1, 0
