"""Programs against CANN's C interface on the simulator: what a test needs to write one without mindtorch's tensors."""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mindtorch._backends.npu import runtime, simulator
from mindtorch._backends.npu.bindings import PHASE_TWO, binding
from mindtorch._backends.npu.constants import (
    ACL_FORMAT_ND, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE, DATA_TYPES,
)
from mindtorch._backends.npu.descriptors import HANDLE_FUNCTIONS, prototype

acl = simulator.acl
rt = acl.rt


@contextmanager
def fresh_simulator(sanitizer: bool = False) -> Iterator[None]:
    """A simulator on which nothing has happened yet, initialised, with device 0 set; afterwards it is as it was."""
    was_on, devices = simulator.sanitizer(), simulator.device_count()
    runtime.finalize()
    simulator.reset()
    simulator.sanitizer(False)
    simulator.sanitizer(sanitizer)
    assert acl.init() == 0 and rt.set_device(0) == 0
    try:
        yield
    finally:
        simulator.reset()
        simulator.device_count(devices)
        simulator.sanitizer(False)
        simulator.sanitizer(was_on)


def got(results: tuple[Any, ...]) -> Any:
    """What a call of pyACL returns besides its code, which must be 0."""
    *values, code = results
    assert code == 0, message()
    return values[0] if len(values) == 1 else values


@cache
def c_function(name: str) -> Callable[..., Any]:
    """A function of the operator libraries that is not an operator."""
    returns, takes = HANDLE_FUNCTIONS[name]
    address = simulator.find(name)
    assert address is not None
    return prototype(address, returns, takes)


@cache
def phases(op: str) -> tuple[Callable[..., int], Callable[..., int]]:
    """The two functions of an operator."""
    one, two = simulator.find(f"{op}GetWorkspaceSize"), simulator.find(op)
    assert one is not None and two is not None
    return prototype(one, "aclnnStatus", binding(op).phase_one), prototype(two, "aclnnStatus", PHASE_TWO)


def message() -> str:
    """What aclGetRecentErrMsg says."""
    address = simulator.find("aclGetRecentErrMsg")
    assert address is not None
    text = ctypes.CFUNCTYPE(ctypes.c_char_p)(address)()
    return "" if text is None else text.decode()


def int64s(values: tuple[int, ...]) -> Any:
    """A C array, which has to live for as long as its address is used."""
    return (ctypes.c_int64 * len(values))(*values)


@dataclass(frozen=True)
class Array:
    """A tensor in device memory: strides and offset count elements, ``storage`` is what the descriptor says of it."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype
    stride: tuple[int, ...]
    offset: int = 0
    storage: int = 0

    def view(self, shape: tuple[int, ...], stride: tuple[int, ...], offset: int = 0) -> Array:
        return Array(self.address, shape, self.dtype, stride, offset, self.storage)

    def handle(self) -> int:
        """A new aclTensor."""
        shape, stride, storage = map(int64s, (self.shape, self.stride, (self.storage,)))
        handle = c_function("aclCreateTensor")(
            ctypes.addressof(shape), len(shape), DATA_TYPES[self.dtype.name], ctypes.addressof(stride), self.offset,
            ACL_FORMAT_ND, ctypes.addressof(storage), 1, self.address,
        )
        assert handle, message()
        return handle

    def read(self) -> np.ndarray:
        """The storage's elements, as they are now: the caller has waited for them."""
        values = np.empty(self.storage, self.dtype)
        code = rt.memcpy(values.ctypes.data, values.nbytes, self.address, values.nbytes, ACL_MEMCPY_DEVICE_TO_HOST)
        assert code == 0, message()
        return values.reshape(self.shape) if values.size == np.prod(self.shape) else values


def empty(*shape: int, dtype: str = "float32") -> Array:
    """A tensor that nothing has written."""
    kind, count = np.dtype(dtype), int(np.prod(shape))
    address = got(rt.malloc(max(count, 1) * kind.itemsize, 0))
    stride = tuple(int(np.prod(shape[i + 1:])) for i in range(len(shape)))
    return Array(address, shape, kind, stride, 0, count)


def array(values: Any, dtype: str = "float32") -> Array:
    """A tensor with these values."""
    host = np.ascontiguousarray(values, dtype)
    made = empty(*host.shape, dtype=dtype)
    assert rt.memcpy(made.address, host.nbytes, host.ctypes.data, host.nbytes, ACL_MEMCPY_HOST_TO_DEVICE) == 0
    return made


def free(*arrays: Array) -> None:
    for one in arrays:
        assert rt.free(one.address) == 0


def scalar(value: float) -> int:
    """A new aclScalar."""
    number: Any = ctypes.c_int64(value) if isinstance(value, int) else ctypes.c_double(value)
    handle = c_function("aclCreateScalar")(
        ctypes.addressof(number), DATA_TYPES["int64" if isinstance(value, int) else "float64"]
    )
    assert handle
    return handle


def tensor_list(arrays: list[Array]) -> int:
    """A new aclTensorList."""
    members = (ctypes.c_void_p * len(arrays))(*[one.handle() for one in arrays])
    handle = c_function("aclCreateTensorList")(ctypes.addressof(members), len(arrays))
    assert handle
    return handle


def int_array(values: tuple[int, ...]) -> int:
    """A new aclIntArray."""
    numbers = int64s(values)
    handle = c_function("aclCreateIntArray")(ctypes.addressof(numbers), len(numbers))
    assert handle
    return handle


#: By a parameter's kind: how its handle is made and destroyed.
HANDLES: dict[str, tuple[Callable[[Any], int], str]] = {
    "tensor": (Array.handle, "aclDestroyTensor"),
    "out": (Array.handle, "aclDestroyTensor"),
    "ref": (Array.handle, "aclDestroyTensor"),
    "scalar": (scalar, "aclDestroyScalar"),
    "ints": (int_array, "aclDestroyIntArray"),
    "tensors": (tensor_list, "aclDestroyTensorList"),
    "outs": (tensor_list, "aclDestroyTensorList"),
}


@contextmanager
def arguments(op: str, values: tuple[Any, ...]) -> Iterator[list[Any]]:
    """C arguments of an operator's first phase; the handles are destroyed at the end."""
    made: list[tuple[str, int]] = []
    given = []
    for parameter, value in zip(binding(op).parameters, values, strict=True):
        if parameter.kind in HANDLES and value is not None:
            make, destroy = HANDLES[parameter.kind]
            value = make(value)
            made.append((destroy, value))
        given.append(value)
    try:
        yield given
    finally:
        for destroy, handle in made:
            assert c_function(destroy)(handle) == 0, message()


def plan(op: str, given: list[Any]) -> tuple[int, int, int | None]:
    """The first phase: its code, the workspace's size in bytes and the executor."""
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    code = phases(op)[0](*given, ctypes.addressof(size), ctypes.addressof(executor))
    return code, size.value, executor.value


def launch(op: str, *values: Any, stream: int = 0) -> int:
    """Both phases; a workspace stays allocated. Returns the code of the first one that fails, or 0."""
    with arguments(op, values) as given:
        code, size, executor = plan(op, given)
        if code:
            return code
        workspace = got(rt.malloc(size, 0)) if size else None
        return phases(op)[1](workspace, size, executor, stream)


def add(one: Array, other: Array, out: Array, stream: int = 0) -> int:
    """``out = one + other`` on a stream."""
    return launch("aclnnAdd", one, other, 1, out, stream=stream)


def scale(one: Array, factor: float, out: Array, stream: int = 0) -> int:
    """``out = one * factor`` on a stream."""
    return launch("aclnnMuls", one, factor, out, stream=stream)
