"""Tensors over memory that others made: NumPy arrays, buffers, DLPack."""
from __future__ import annotations

import ctypes
import warnings
from enum import IntEnum
from typing import Any

import numpy as np

from .. import _device
from .._backends.common.convert import to_device
from .._base.about import about, check_flags
from .._base.layout import contiguous_strides
from .._dispatch.aten import lift_fresh as _lift_fresh
from .._dtype import DType, as_dtype, bfloat16, from_numpy_dtype, get_default_dtype
from .._storage import UntypedStorage
from .._tensor import Tensor, from_array, tensor_method
from .data import tensor


def from_numpy(array: np.ndarray) -> Tensor:
    """Return a tensor over a NumPy array's memory (``torch.from_numpy``). Raises TypeError if it is not an array, or of
    a dtype that no tensor has, and ValueError for negative strides, or strides that are not whole numbers of elements.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    if not array.flags.writeable:
        _warn_not_writable("NumPy array")
    return _lift_fresh(_from_array(array))


def _warn_not_writable(what: str) -> None:
    warnings.warn(f"The given {what} is not writable, and PyTorch does not support non-writable tensors. This means "
                  "that writing to this tensor is an error here, and has undefined results in PyTorch. You may want to "
                  f"copy the {what} to protect its data or make it writable before converting it to a tensor.",
                  stacklevel=3)


def _from_array(array: np.ndarray) -> Tensor:
    """Return a tensor over an array's memory, which may be read-only."""
    dtype, shape = from_numpy_dtype(array.dtype), array.shape
    size = dtype.itemsize
    strides = tuple([step // size for step in array.strides])
    plain = array.view(np.ndarray)  # the owner may give its own another shape
    if array.flags.c_contiguous and (strides == contiguous_strides(shape) or 0 in shape):
        out = from_array(plain, dtype)
        out.untyped_storage()._resizable = False
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
    storage._resizable = False
    out._set_layout(None, array.shape, strides, 0)
    return out


def as_tensor(data: Any, dtype: DType | None = None, device: Any = None) -> Tensor:
    """Return a tensor over the same data where that is possible, else a copy (``torch.as_tensor``)."""
    dtype = as_dtype("as_tensor", dtype)
    if isinstance(data, np.ndarray):
        out = from_numpy(data)
    elif isinstance(data, Tensor):
        out = data
    else:
        return tensor(data, dtype=dtype, device=device)
    return to_device(out, _device.chosen_device() or out._device if device is None else device, dtype)


def asarray(obj: Any, *, dtype: DType | None = None, device: Any = None, copy: bool | None = None,
            requires_grad: bool | None = None) -> Tensor:
    """Return a tensor from anything that holds data, over the same memory where ``copy`` permits (``torch.asarray``). A
    tensor keeps its history unless ``requires_grad`` is False.

    Raises:
        ValueError, RuntimeError: if ``copy=False`` and a copy is needed.
    """
    dtype = as_dtype("asarray", dtype)
    check_flags("asarray", True, copy=copy, requires_grad=requires_grad)
    if isinstance(obj, Tensor):
        source = obj.detach() if requires_grad is False and obj.requires_grad else obj
    elif isinstance(obj, np.ndarray):
        source = from_numpy(obj)
    elif hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        source = from_dlpack(obj)
    elif isinstance(obj, (bytearray, memoryview)):
        source = frombuffer(obj, dtype=dtype or get_default_dtype())
    else:
        if copy is False and isinstance(obj, np.generic):
            raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ")
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return tensor(obj, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    out = to_device(source, _device.chosen_device() or source._device if device is None else device, dtype)
    if copy is False and out is not source:
        raise ValueError(f"can't alias tensor from device '{source.device}' to '{out.device}'."
                         if source.device != out.device else
                         f"can't alias tensor with dtype '{source.dtype}' into dtype '{out.dtype}'.")
    if copy and out is source:
        out = source.clone()
    return out._require_grad(True) if requires_grad and not out.requires_grad else out


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """Return a 1-d tensor over a buffer's memory; ``count`` is in elements, ``offset`` in bytes (``torch.frombuffer``).
    Raises ValueError if the buffer is too short, or its length is not a multiple of the element size.
    """
    check_flags("frombuffer", requires_grad=requires_grad)
    try:
        length = memoryview(buffer).nbytes
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
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
    if not data.flags.writeable:
        _warn_not_writable("buffer")
    return _from_array(data.view(dtype.np))._require_grad(requires_grad)


def from_file(filename: str, shared: bool | None = None, size: int | None = 0, *, dtype: DType | None = None,
              layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """Return a vector of the first ``size`` elements of a file, which writes go to if ``shared`` (``torch.from_file``).
    Raises RuntimeError if the file is shorter and not ``shared``.
    """
    dtype = dtype or get_default_dtype()
    storage = UntypedStorage.from_file(filename, bool(shared), (size or 0) * dtype.itemsize)
    out: Any = from_array(np.empty(0, dtype.np), dtype)
    out.set_(storage)
    return to_device(out, _device.resolve_device(device))._require_grad(requires_grad)


class DLDeviceType(IntEnum):
    """Kinds of devices, as DLPack counts them (``torch.utils.dlpack.DLDeviceType``)."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


#: Where a capsule has the code of the dtype, by its name: in ``DLManagedTensor`` and in the versioned one.
_CODE_AT = {b"dltensor": 20, b"dltensor_versioned": 52}
_UINT, _BFLOAT = 1, 4  # codes of dtypes


class _Writable:
    """The writable memory of an array: NumPy takes it for read-only where an old capsule gives no flag."""

    def __init__(self, array: np.ndarray):
        self.array = array  # which owns the memory
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


class _Exported:
    """A capsule as an object with DLPack's protocol, for NumPy, which wants one."""

    def __init__(self, capsule: Any):
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLDeviceType.kDLCPU, 0


def _code_of(capsule: Any) -> Any:
    """Return a capsule's dtype code, which can be written: NumPy is given bfloat16 as integers."""
    python = ctypes.pythonapi
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = python.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
    for name, place in _CODE_AT.items():
        if python.PyCapsule_IsValid(capsule, name):
            return ctypes.c_uint8.from_address(python.PyCapsule_GetPointer(capsule, name) + place)
    raise RuntimeError("from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only "
                       "once, so you might have already constructed a tensor from it once.")


def _capsule_of(exporter: Any, copy: bool | None) -> Any:
    """Return an exporter's capsule, by the newest form of the protocol that it knows."""
    exporter.__dlpack_device__()  # raises for what is nowhere
    asked = {} if copy is None else {"copy": copy}
    for options in ({"max_version": (1, 0), **asked}, asked):
        try:
            return exporter.__dlpack__(**options)
        except TypeError:
            continue
    return exporter.__dlpack__()


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Return a tensor over the memory of another library's array, or of a DLPack capsule (``torch.from_dlpack``).
    ``copy`` True makes a copy, False forbids one. Raises RuntimeError if it is neither, or the capsule was used before,
    and ValueError if a device other than the array's is asked for, and ``copy`` is False.
    """
    capsule = _capsule_of(ext_tensor, copy) if hasattr(ext_tensor, "__dlpack__") else ext_tensor
    code, silent = _code_of(capsule), "versioned" not in repr(capsule)
    brain = code.value == _BFLOAT
    if brain:
        code.value = _UINT
    array = np.from_dlpack(_Exported(capsule))
    if silent and array.size:
        array = np.asarray(_Writable(array))
    out = _from_array(array.view(bfloat16.np) if brain else array)
    if device is None or _device.resolve_device(device) == out.device:
        return out
    if copy is False:
        raise ValueError(f"cannot move DLPack tensor from device {out.device} to {device} without copying. Set "
                         "copy=None or copy=True.")
    return to_device(out, device)


def to_dlpack(tensor: Tensor) -> Any:
    """Return a DLPack capsule over a tensor's memory (``torch.utils.dlpack.to_dlpack``)."""
    return _dlpack(tensor)


@tensor_method("__dlpack__")
def _dlpack(self: Tensor, *, stream: Any = -1, max_version: Any = None, dl_device: Any = None,
            copy: bool | None = None) -> Any:
    """Export the memory by DLPack; BufferError if it requires grad or is not on the host, TypeError for ``stream``."""
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self.is_conj():
        raise BufferError("Can't export tensors with the conjugate bit set")
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    to_host = dl_device is not None and dl_device[0] == DLDeviceType.kDLCPU
    if to_host and self._device.type == "npu" and copy is not False:
        return _dlpack(to_device(self, "cpu"), max_version=max_version)
    if self._device.type != "cpu" or not (to_host or dl_device is None):
        raise BufferError(f"Can't export tensors on the device {self._device} to DLPack"
                          f"{'' if dl_device is None else f' for the device {tuple(map(int, dl_device))}'}")
    array = self._host("dlpack")
    brain = self._dtype is bfloat16
    capsule = (array.view(np.uint16) if brain else array).__dlpack__(max_version=max_version, copy=copy)
    if brain:
        _code_of(capsule).value = _BFLOAT
    return capsule


@tensor_method("__dlpack_device__")
def _dlpack_device(self: Tensor) -> tuple[int, int]:
    """Return the device's kind and number in DLPack's numbering: 1 is the CPU, 12 an NPU."""
    if self.is_meta:
        raise ValueError(f"Unknown device type {self._device.type} for Dlpack")
    return (DLDeviceType.kDLCPU, 0) if self._device.type == "cpu" else (DLDeviceType.kDLExtDev, self._device.index or 0)


@tensor_method("__array_wrap__")
def _array_wrap(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
    """Convert a NumPy function's result back to a tensor; truth values are uint8, as in PyTorch."""
    return from_numpy(array.astype(np.uint8) if array.dtype == bool else array)
