"""The simulator's half of CANN that is C: function pointers with the headers' signatures, made when first looked up."""
from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from .. import bindings
from . import executors
from .executors import FUNCTIONS
from .exports import guarded

SCALARS: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "int": ctypes.c_int,
    "int8_t": ctypes.c_int8,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "aclDataType": ctypes.c_int32,
    "aclFormat": ctypes.c_int32,
    "aclnnStatus": ctypes.c_int32,
    "aclrtStream": ctypes.c_void_p,
}
PHASE_TWO = ("void*", "uint64_t", "aclOpExecutor*", "aclrtStream")

_made: dict[str, tuple[int, Any] | None] = {}
_lock = threading.Lock()


def find(name: str) -> int | None:
    """The address of a C function, or None if the simulator has none of this name. It stays valid for ever."""
    with _lock:
        if name not in _made:
            _made[name] = _make(name)
        found = _made[name]
    return None if found is None else found[0]


def _make(name: str) -> tuple[int, Any] | None:
    if name in FUNCTIONS:
        declaration, function = FUNCTIONS[name]
        returns, arguments = parse(declaration)
        return pointer(name, returns, arguments, function)
    if name.endswith("GetWorkspaceSize"):
        operator = operator_of(name.removesuffix("GetWorkspaceSize"))
        types = tuple(bindings.binding(operator.name).phase_one) if operator else ()
        return None if operator is None else pointer(name, "aclnnStatus", types, operator.phase_one)
    operator = operator_of(name)
    return None if operator is None else pointer(name, "aclnnStatus", PHASE_TWO, operator.phase_two)


@cache
def operator_of(name: str) -> executors.Operator | None:
    """An operator that has a row in the table and a kernel."""
    from .kernels import KERNELS  # they need much of NumPy and SciPy

    if name not in KERNELS or name not in bindings.names():
        return None
    return executors.Operator(bindings.binding(name), KERNELS[name])


def parse(declaration: str) -> tuple[str, tuple[str, ...]]:
    """The C types of what a declared function returns and takes."""
    match = re.fullmatch(r"(\S+) \w+\((.*)\)", declaration)
    assert match is not None, declaration
    return match[1], tuple(match[2].split(", ")) if match[2] else ()


def ctype(name: str) -> Any:
    """The ctypes type of a C type: pointers to numbers can be indexed, other pointers are addresses."""
    if name in SCALARS:
        return SCALARS[name]
    target = name[:-1]
    if target in SCALARS:
        return ctypes.POINTER(SCALARS[target])
    return ctypes.POINTER(ctypes.c_void_p) if target.endswith("*") else ctypes.c_void_p


def pointer(name: str, returns: str, arguments: tuple[str, ...], function: Callable[..., Any]) -> tuple[int, Any]:
    """The address of a C function that calls a Python one, and what must be kept for as long as it may be called."""
    prototype = ctypes.CFUNCTYPE(ctype(returns), *map(ctype, arguments))
    null = returns.endswith("*")
    callback = prototype(guarded(name, function, lambda result: result, lambda code: None if null else code, True))
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    return address, callback
