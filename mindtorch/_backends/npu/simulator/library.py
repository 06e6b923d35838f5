"""The simulator's half of CANN that is C: function pointers with the headers' signatures, made when first looked up."""
from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from .. import bindings
from . import executors
from .executors import FUNCTIONS
from .exports import guarded

#: C types that are passed as they are; pointers to them can be indexed.
SCALARS = {name: c_type for name, c_type in bindings.C_TYPES.items() if not name.endswith("*")} | {
    "uint32_t": ctypes.c_uint32, "size_t": ctypes.c_size_t, "aclrtStream": ctypes.c_void_p,
    "HcclResult": ctypes.c_int32, "HcclDataType": ctypes.c_int32, "HcclReduceOp": ctypes.c_int32,
    "HcclComm": ctypes.c_void_p,
}

_made: dict[str, tuple[int, Any] | None] = {}
_lock = threading.Lock()


def find(name: str) -> int | None:
    """Return the address of a C function, None if the simulator does not have it. It stays valid for ever."""
    with _lock:
        if name not in _made:
            _made[name] = _make(name)
        found = _made[name]
    return None if found is None else found[0]


def _make(name: str) -> tuple[int, Any] | None:
    if name.startswith("Hccl"):
        from . import hccl as hccl  # few programs need it
    if name in FUNCTIONS:
        declaration, function = FUNCTIONS[name]
        returns, arguments = parse(declaration)
        return pointer(name, returns, arguments, function)
    operator = operator_of(name.removesuffix("GetWorkspaceSize"))
    if operator is None:
        return None
    if name.endswith("GetWorkspaceSize"):
        return pointer(name, "aclnnStatus", bindings.binding(operator.name).phase_one, operator.phase_one)
    return pointer(name, "aclnnStatus", bindings.PHASE_TWO, operator.phase_two)


@cache
def operator_of(name: str) -> executors.Operator | None:
    """Return an operator that has a row in the table and a kernel."""
    from .kernels import KERNELS  # they need much of NumPy and SciPy

    if name not in KERNELS or name not in bindings.names():
        return None
    return executors.Operator(bindings.binding(name), KERNELS[name])


def parse(declaration: str) -> tuple[str, tuple[str, ...]]:
    """Return the C types of a declared function's result and parameters."""
    match = re.fullmatch(r"(\S+) \w+\((.*)\)", declaration)
    assert match is not None, declaration
    return match[1], tuple(match[2].split(", ")) if match[2] else ()


def ctype(name: str) -> Any:
    """Return the ctypes type of a C type: pointers to numbers can be indexed, other pointers are addresses."""
    if name in SCALARS:
        return SCALARS[name]
    target = name[:-1]
    if target in SCALARS:
        return ctypes.POINTER(SCALARS[target])
    return ctypes.POINTER(ctypes.c_void_p) if target.endswith("*") else ctypes.c_void_p


def pointer(name: str, returns: str, arguments: Iterable[str], function: Callable[..., Any]) -> tuple[int, Any]:
    """Return the address of a C function that calls a Python one, and the object to keep while it may be called."""
    prototype = ctypes.CFUNCTYPE(ctype(returns), *map(ctype, arguments))
    null = returns.endswith("*")
    callback = prototype(guarded(name, function, lambda result: result, lambda code: None if null else code, True))
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    return address, callback
