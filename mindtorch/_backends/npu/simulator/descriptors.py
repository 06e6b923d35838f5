"""ACLNN's descriptors (acl/acl_meta.h): tensors, scalars, arrays and lists, and the C functions that make them.

Each function carries its C declaration; ``library.py`` makes C function pointers from these.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from math import prod
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from ...._dtype import dtype_named
from ..constants import ACL_ERROR_INVALID_PARAM, ACLNN_ERR_PARAM_INVALID, ACLNN_ERR_PARAM_NULLPTR, DTYPE_NAMES
from . import errors, handles, watch
from .errors import Fault
from .memory import Memory

F = TypeVar("F", bound=Callable[..., Any])

#: C functions of the operator libraries that are not operators: the declaration, and the function.
FUNCTIONS: dict[str, tuple[str, Callable[..., Any]]] = {}


def declared(declaration: str) -> Callable[[F], F]:
    """Export a function under its C declaration."""

    def export(function: F) -> F:
        FUNCTIONS[declaration.split("(")[0].split()[-1]] = declaration, function
        return function

    return export


class _NumpyTypes(dict[int, np.dtype]):
    """NumPy's dtype of an aclDataType, looked up when first used: bfloat16 needs ml_dtypes."""

    def __missing__(self, code: int) -> np.dtype:
        if code not in DTYPE_NAMES:
            raise Fault(ACLNN_ERR_PARAM_INVALID, f"aclDataType {code} is not supported")
        found = self[code] = dtype_named(DTYPE_NAMES[code]).np
        return found


NUMPY = _NumpyTypes()


class AclTensor:
    """An aclTensor over memory: ``stride`` and ``offset`` count elements, ``strides`` bytes; its address is fixed."""

    __slots__ = ("address", "arrays", "code", "data", "dtype", "format", "gone", "is_contiguous", "numel", "offset",
                 "shape", "storage", "stride", "strides", "views")
    label = "aclTensor"

    def __init__(self, shape: tuple[int, ...], code: int, stride: tuple[int, ...], offset: int, format: int,
                 storage: tuple[int, ...], data: int | None):
        self.shape, self.code, self.stride, self.offset, self.format = shape, code, stride, offset, format
        self.storage = storage
        self.dtype = dtype = NUMPY[code]
        size = dtype.itemsize
        self.strides = tuple([step * size for step in stride])
        self.numel = prod(shape)
        #: whether the elements follow each other without gaps, in the order of the indices
        self.is_contiguous = has_no_gaps(shape, stride)
        self._lie_at(data or 0)

    def _lie_at(self, data: int) -> None:
        self.data = data
        self.address = data + self.offset * self.dtype.itemsize  #: where the first element is
        self.gone: str | None = None  #: what became of it, and where, as the sanitizer knows
        self.views: dict[int, np.ndarray] = {}  #: of the elements, by the identity of the buffer under them

    def at(self, data: int) -> AclTensor:
        """Return the same description of other memory."""
        moved = AclTensor.__new__(AclTensor)
        moved.shape, moved.code, moved.stride, moved.offset, moved.format = (
            self.shape, self.code, self.stride, self.offset, self.format)
        moved.storage, moved.dtype, moved.strides, moved.numel, moved.is_contiguous = (
            self.storage, self.dtype, self.strides, self.numel, self.is_contiguous)
        moved._lie_at(data)
        return moved

    def transposed(self) -> AclTensor:
        """Return the tensor with its last two dimensions exchanged; itself if it has fewer."""
        if len(self.shape) < 2:
            return self
        shape, stride = ((*numbers[:-2], numbers[-1], numbers[-2]) for numbers in (self.shape, self.stride))
        return AclTensor(shape, self.code, stride, self.offset, self.format, self.storage, self.data)

    def extent(self) -> tuple[int, int]:
        """Return the addresses of the first byte of the elements and of the one after their last byte."""
        low = high = self.address
        for size, step in zip(self.shape, self.strides, strict=True):
            if step < 0:
                low += (size - 1) * step
            else:
                high += (size - 1) * step
        return low, high + self.dtype.itemsize

    def view(self, memory: Memory, buffer: Any) -> np.ndarray:
        """Return the elements as an array over one of the device's buffers; ValueError if outside of it."""
        if buffer is not None:
            try:
                found = self.views[id(buffer)] = np.ndarray(self.shape, self.dtype, buffer, self.address - memory.base,
                                                            self.strides)
                return found
            except (TypeError, ValueError):
                pass
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        low, high = self.extent()
        raise ValueError(f"{low:#x} to {high:#x} is not in the device's memory")


def has_no_gaps(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    expected = 1
    for size, step in zip(reversed(shape), reversed(stride), strict=True):
        if size != 1 and step != expected:
            return 0 in shape
        expected *= size
    return True


class AclScalar:
    """An aclScalar: a NumPy scalar."""

    __slots__ = ("value",)
    label = "aclScalar"

    def __init__(self, value: Any):
        self.value = value


class AclIntArray:
    """An aclIntArray, aclBoolArray or aclFloatArray: a tuple of numbers."""

    __slots__ = ("value",)
    label = "aclIntArray"

    def __init__(self, value: tuple[Any, ...]):
        self.value = value


class AclBoolArray(AclIntArray):
    __slots__ = ()
    label = "aclBoolArray"


class AclFloatArray(AclIntArray):
    __slots__ = ()
    label = "aclFloatArray"


class AclTensorList:
    """An aclTensorList, a list of tensors, or None. It owns them, and destroys them with it."""

    __slots__ = ("handles", "members")
    label = "aclTensorList"
    of: type = AclTensor

    def __init__(self, members: Any):
        self.handles = [member or None for member in members]
        self.members = [member for member in self.handles if member is not None]
        for member in self.members:
            handles.get(member, self.of, ACL_ERROR_INVALID_PARAM)

    @property
    def value(self) -> Any:
        """The tensors as they are now."""
        return [member and handles.get(member, self.of, ACL_ERROR_INVALID_PARAM) for member in self.handles]


class AclScalarList(AclTensorList):
    """An aclScalarList: a tuple of NumPy scalars."""

    __slots__ = ()
    label = "aclScalarList"
    of = AclScalar

    @property
    def value(self) -> Any:
        """The scalars."""
        return tuple([handles.get(member, AclScalar, ACL_ERROR_INVALID_PARAM).value for member in self.members])


DESCRIPTORS: tuple[Any, ...] = (AclTensor, AclScalar, AclIntArray, AclBoolArray, AclFloatArray, AclTensorList,
                                AclScalarList)


# -- making and destroying -------------------------------------------------------------------------------------------


@declared("aclTensor* aclCreateTensor(int64_t*, uint64_t, aclDataType, int64_t*, int64_t, aclFormat, int64_t*, "
          "uint64_t, void*)")
def create_tensor(dims: Any, rank: int, code: int, stride: Any, offset: int, format: int, storage: Any,
                  storage_rank: int, data: int | None) -> int:
    return handles.add(read_tensor(dims, rank, code, stride, offset, format, storage, storage_rank, data))


def read_tensor(dims: Any, rank: int, code: int, stride: Any, offset: int, format: int, storage: Any, storage_rank: int,
                data: int | None) -> AclTensor:
    """Build a descriptor from its C arguments. Without strides it is contiguous."""
    shape = tuple(dims[:rank])
    steps = tuple(stride[:rank]) if stride else contiguous(shape)
    return AclTensor(shape, code, steps, offset, format, tuple(storage[:storage_rank]), data)


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a contiguous tensor."""
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))


@declared("aclScalar* aclCreateScalar(void*, aclDataType)")
def create_scalar(value: int | None, code: int) -> int:
    if value is None:
        raise Fault(ACLNN_ERR_PARAM_NULLPTR, "aclCreateScalar: value is null")
    dtype = NUMPY[code]
    return handles.add(AclScalar(np.frombuffer(ctypes.string_at(value, dtype.itemsize), dtype)[0]))


def _arrays(kind: type[AclIntArray], convert: Callable[[Any], Any]) -> Callable[[Any, int], int]:
    def create(values: Any, size: int) -> int:
        return handles.add(kind(tuple([convert(value) for value in values[:size]])))

    return create


declared("aclIntArray* aclCreateIntArray(int64_t*, uint64_t)")(_arrays(AclIntArray, int))
declared("aclBoolArray* aclCreateBoolArray(bool*, uint64_t)")(_arrays(AclBoolArray, bool))
declared("aclFloatArray* aclCreateFloatArray(float*, uint64_t)")(_arrays(AclFloatArray, float))
declared("aclTensorList* aclCreateTensorList(aclTensor**, uint64_t)")(
    lambda members, size: handles.add(AclTensorList(members[:size])))
declared("aclScalarList* aclCreateScalarList(aclScalar**, uint64_t)")(
    lambda members, size: handles.add(AclScalarList(members[:size])))


def _destroyer(kind: Any) -> Callable[[int | None], int]:
    def destroy(handle: int | None) -> int:
        thing: Any = handles.remove(handle, kind, ACLNN_ERR_PARAM_INVALID)
        for member in getattr(thing, "members", ()):
            handles.remove(member, kind.of, ACLNN_ERR_PARAM_INVALID)
        return 0

    return destroy


for kind in DESCRIPTORS:
    declared(f"aclnnStatus aclDestroy{kind.__name__[3:]}({kind.label}*)")(_destroyer(kind))


# -- asking ----------------------------------------------------------------------------------------------------------


def _asked(handle: int | None, kind: Any) -> Any:
    if handle is None:
        raise Fault(ACLNN_ERR_PARAM_NULLPTR, f"a null pointer where a {kind.label} belongs")
    return handles.get(handle, kind, ACLNN_ERR_PARAM_INVALID)


def _numbers(attribute: str) -> Callable[[int | None, Any, Any], int]:
    """Make a C function that returns some of a tensor's numbers, in an array that lives as long, and their count."""

    def ask(handle: int | None, numbers: Any, size: Any) -> int:
        tensor = _asked(handle, AclTensor)
        values = getattr(tensor, attribute)
        array = (ctypes.c_int64 * max(len(values), 1))(*values)
        if not hasattr(tensor, "arrays"):
            tensor.arrays = {}
        tensor.arrays[attribute] = array
        numbers[0], size[0] = ctypes.addressof(array), len(values)
        return 0

    return ask


declared("aclnnStatus aclGetViewShape(aclTensor*, int64_t**, uint64_t*)")(_numbers("shape"))
declared("aclnnStatus aclGetViewStrides(aclTensor*, int64_t**, uint64_t*)")(_numbers("stride"))
declared("aclnnStatus aclGetStorageShape(aclTensor*, int64_t**, uint64_t*)")(_numbers("storage"))


def _answer(kind: type, find: Callable[[Any], int]) -> Callable[[int | None, Any], int]:
    """Make a C function that returns one number of a descriptor."""

    def ask(handle: int | None, result: Any) -> int:
        result[0] = find(_asked(handle, kind))
        return 0

    return ask


declared("aclnnStatus aclGetViewOffset(aclTensor*, int64_t*)")(_answer(AclTensor, attrgetter("offset")))
declared("aclnnStatus aclGetDataType(aclTensor*, aclDataType*)")(_answer(AclTensor, attrgetter("code")))
declared("aclnnStatus aclGetFormat(aclTensor*, aclFormat*)")(_answer(AclTensor, attrgetter("format")))
declared("aclnnStatus aclGetRawTensorAddr(aclTensor*, void**)")(_answer(AclTensor, attrgetter("data")))
for kind in (AclIntArray, AclBoolArray, AclFloatArray, AclTensorList, AclScalarList):
    size = _answer(kind, lambda thing: len(thing.value))
    declared(f"aclnnStatus aclGet{kind.__name__[3:]}Size({kind.label}*, uint64_t*)")(size)


@declared("aclnnStatus aclSetRawTensorAddr(aclTensor*, void*)")
def set_raw_tensor_addr(handle: int | None, address: int | None) -> int:
    """Point an aclTensor at other memory; invalidates what was planned with it."""
    before = _asked(handle, AclTensor)
    handles.objects[handle] = before.at(address or 0)  # type: ignore[index]
    if watch.active is not None:
        watch.active.tensor_moved(before)
    return 0


# -- the library -----------------------------------------------------------------------------------------------------


declared("aclnnStatus aclnnInit(char*)")(lambda config: 0)
declared("aclnnStatus aclnnFinalize()")(lambda: 0)


@declared("char* aclGetRecentErrMsg()")
def recent_error_message() -> int | None:
    return errors.recent_message()


@declared("size_t aclDataTypeSize(aclDataType)")
def data_type_size(code: int) -> int:
    return NUMPY[code].itemsize if code in DTYPE_NAMES else 0
