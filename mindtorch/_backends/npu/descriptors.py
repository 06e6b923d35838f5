"""Handles of ACLNN: from values of Python's to ``aclTensor``, ``aclScalar`` and the like, and back to nothing."""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..._dispatch.dispatcher import TENSOR_TYPES
from ..._dtype import DType, dtype_named
from ..._tensor import Tensor
from . import provider
from .bindings import C_TYPES, Parameter
from .constants import ACL_FORMAT_NCDHW, ACL_FORMAT_NCHW, ACL_FORMAT_NCL, ACL_FORMAT_ND, DATA_TYPES
from .errors import check, recent_message

#: The functions that make handles, by kind, with their parameters in ``acl_meta.h``.
CREATORS: dict[str, list[str]] = {
    "Tensor": ["int64_t*", "uint64_t", "aclDataType", "int64_t*", "int64_t", "aclFormat", "int64_t*", "uint64_t",
               "void*"],
    "Scalar": ["void*", "aclDataType"],
    "IntArray": ["int64_t*", "uint64_t"],
    "BoolArray": ["bool*", "uint64_t"],
    "FloatArray": ["float*", "uint64_t"],
    "TensorList": ["aclTensor**", "uint64_t"],
    "ScalarList": ["aclScalar**", "uint64_t"],
}
#: The functions that make and destroy handles: what they return, what they take.
HANDLE_FUNCTIONS: dict[str, tuple[str, list[str]]] = {
    **{f"aclCreate{kind}": (f"acl{kind}*", takes) for kind, takes in CREATORS.items()},
    **{f"aclDestroy{kind}": ("aclnnStatus", [f"acl{kind}*"]) for kind in CREATORS},
    "aclDestroyAclOpExecutor": ("aclnnStatus", ["aclOpExecutor*"]),
    "aclSetRawTensorAddr": ("aclnnStatus", ["aclTensor*", "void*"]),
    "aclGetViewShape": ("aclnnStatus", ["aclTensor*", "int64_t**", "uint64_t*"]),
}

#: Functions that a release of CANN may lack: handles are then made for each call, and operators whose outputs are as
#: large as the data determines run on the CPU.
OPTIONAL = frozenset({"aclSetRawTensorAddr", "aclGetViewShape"})


def c_type(name: str) -> Any:
    """Return the ctypes type of a C type. Handles and all other pointers are addresses."""
    return C_TYPES.get(name, ctypes.c_void_p)


def prototype(address: int, returns: str, takes: list[str], short: bool = False) -> Callable[..., Any]:
    """Return the C function at an address. ``short`` ones keep the GIL: releasing it would cost more than they do."""
    make = ctypes.PYFUNCTYPE if short else ctypes.CFUNCTYPE
    return make(c_type(returns), *map(c_type, takes))(address)


#: The functions that destroy handles, by kind.
DESTROYERS = {kind: f"aclDestroy{kind}" for kind in CREATORS}


class _Functions(dict[str, Callable[..., Any]]):
    """The handle functions, found on first use."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        returns, takes = HANDLE_FUNCTIONS[name]
        function = self[name] = prototype(address_of(name), returns, takes, short=True)
        return function


def address_of(name: str) -> int:
    """Return the address of a C function. Raises RuntimeError if no library exports it."""
    address = provider.load().find(name)
    if not address:
        raise RuntimeError(f"{name} is in none of CANN's operator libraries: this release of CANN does not have it")
    return address


functions = _Functions()
data_types = {dtype_named(name): code for name, code in DATA_TYPES.items()}


class Handles(dict[int, Callable[[int], int]]):
    """Handles to destroy, with their destroyers, in the order of creation; ``tensors`` includes those in lists."""

    __slots__ = ("tensors",)

    def __init__(self) -> None:
        self.tensors: list[int] = []


@lru_cache(4096)
def int_array(values: tuple[int, ...]) -> tuple[int, Any]:
    """Return the address of a C array of int64, and the array, which has to live as long as the address is used."""
    array = (ctypes.c_int64 * max(len(values), 1))(*values)
    return ctypes.addressof(array), array


@lru_cache(4096)
def layout(shape: tuple[int, ...], stride: tuple[int, ...], room: int) -> tuple[int, int, int, int, int, Any]:
    """Return a descriptor's rank, format, addresses of sizes, strides and storage size, and these C arrays."""
    arrays = [int_array(values) for values in (shape, stride, (room,))]
    return len(shape), FORMATS.get(len(shape), ACL_FORMAT_ND), arrays[0][0], arrays[1][0], arrays[2][0], arrays


#: op-plugin's formats by number of dimensions, ND for all others: convolution and norms read them.
FORMATS = {3: ACL_FORMAT_NCL, 4: ACL_FORMAT_NCHW, 5: ACL_FORMAT_NCDHW}


def keep(handles: Handles, kind: str, handle: int | None) -> int:
    """Remember a new handle, so that it is destroyed once. Raises RuntimeError if it was not made."""
    if not handle or handle in handles:
        raise RuntimeError(f"aclCreate{kind} failed: {recent_message() or 'no message'}")
    handles[handle] = functions[DESTROYERS[kind]]
    return handle


def tensor_handle(tensor: Tensor, handles: Handles) -> int:
    """Make an ``aclTensor`` that describes a tensor: its sizes, strides and offset in the storage."""
    storage, dtype = tensor._storage, tensor._dtype
    assert storage is not None
    dims, form, sizes, strides, room, _ = layout(tensor.shape, tensor._strides(), storage._nbytes // dtype.itemsize)
    address = storage._memory.address  # type: ignore[union-attr]
    handle = functions["aclCreateTensor"](sizes, dims, data_types[dtype], strides, tensor._offset, form, room, 1,
                                          address)
    handles.tensors.append(keep(handles, "Tensor", handle))
    return handle


def scalar_handle(number: Any, handles: Handles) -> int:
    """Make an ``aclScalar`` of a Python number, in the widest dtype of its category."""
    if isinstance(number, Tensor):
        number = number.item()
    value: Any
    if isinstance(number, bool):
        value, dtype = ctypes.c_bool(number), "bool"
    elif isinstance(number, int):
        value, dtype = ctypes.c_int64(number), "int64"
    elif isinstance(number, complex):
        value, dtype = (ctypes.c_double * 2)(number.real, number.imag), "complex128"
    else:
        value, dtype = ctypes.c_double(number), "float64"
    return keep(handles, "Scalar", functions["aclCreateScalar"](ctypes.addressof(value), DATA_TYPES[dtype]))


def ints_handle(values: Any, handles: Handles) -> int:
    values = (values,) if isinstance(values, int) else tuple(values)
    address, _kept = int_array(values)
    return keep(handles, "IntArray", functions["aclCreateIntArray"](address, len(values)))


def _array_handle(kind: str, c_item: Any) -> Callable[[Any, Handles], int]:
    def make(values: Any, handles: Handles) -> int:
        array = (c_item * max(len(values), 1))(*values)
        return keep(handles, kind, functions["aclCreate" + kind](ctypes.addressof(array), len(values)))

    return make


def _list_handle(kind: str, item_handle: Callable[[Any, Handles], int]) -> Callable[[Any, Handles], int]:
    """Return a function that makes a list, which owns its items: destroying the list destroys them."""

    def make(values: Any, handles: Handles) -> int:
        own = Handles()
        try:
            items = [0 if value is None else item_handle(value, own) for value in values]
            array = (ctypes.c_void_p * max(len(items), 1))(*[item or None for item in items])
            handle = keep(handles, kind, functions["aclCreate" + kind](ctypes.addressof(array), len(items)))
        except BaseException:
            destroy(own)
            raise
        handles.tensors += own.tensors
        return handle

    return make


#: From a value to what the C function takes, by the kind of the table.
CONVERTERS: dict[str, Callable[[Any, Handles], Any]] = {
    **dict.fromkeys(("tensor", "out", "ref"), tensor_handle),
    **dict.fromkeys(("tensors", "outs"), _list_handle("TensorList", tensor_handle)),
    "scalar": scalar_handle, "scalars": _list_handle("ScalarList", scalar_handle),
    "ints": ints_handle, "bools": _array_handle("BoolArray", ctypes.c_bool),
    "floats": _array_handle("FloatArray", ctypes.c_float),
    **dict.fromkeys(("bool", "int", "int8", "int32", "int64", "uint64", "float", "double"), lambda number, _: number),
    "dtype": lambda dtype, handles: DATA_TYPES[dtype.name] if isinstance(dtype, DType) else dtype,
    "chars": lambda text, handles: text.encode(),
}


def converter(parameter: Parameter) -> Callable[[Any, Handles], Any]:
    """Return the conversion of a parameter's values to C, of None to a null pointer where that may be."""
    convert = CONVERTERS[parameter.kind]
    if not parameter.optional:
        return convert
    return lambda value, handles: None if value is None else convert(value, handles)


def key_of(value: Any) -> Any:
    """Return a key of a value as kernels see it: a tensor's layout, a number's type, the sign of a zero."""
    kind = value.__class__
    if kind in TENSOR_TYPES:
        return value._layout or value._layout_of_plans()
    if kind is list or kind is tuple:
        return kind, *map(key_of, value)
    return kind, repr(value) if kind is complex or (kind is float and not value) else value


def handle_key(value: Any) -> Any:
    """Return a key of the handle of a tensor or of a list of tensors: all that it describes, but the address."""
    if value is None:
        return None
    if value.__class__ in TENSOR_TYPES:
        return key_of(value), value._offset, value._storage._nbytes
    return tuple(map(handle_key, value))


def number_key(number: Any) -> Any:
    """Return a key of a number, or of a tensor's only element."""
    return key_of(number.item() if number.__class__ in TENSOR_TYPES else number)


#: From a value to the key of its handle, by the kind of the table; :func:`key_of` for all others.
KEYS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("tensor", "out", "ref", "tensors", "outs"), handle_key),
    "scalar": number_key, "scalars": lambda numbers: tuple(map(number_key, numbers)),
}


def destroy(handles: Handles) -> None:
    """Destroy handles, the last one first."""
    while handles:
        handle, free = handles.popitem()
        free(handle)


def view_shape(handle: int) -> tuple[int, ...]:
    """Return the sizes that a tensor's descriptor has now (``aclGetViewShape``)."""
    sizes, dims = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64()
    ask = functions["aclGetViewShape"]
    check(ask(handle, ctypes.addressof(sizes), ctypes.addressof(dims)), "aclGetViewShape")
    return tuple(sizes[: dims.value])
