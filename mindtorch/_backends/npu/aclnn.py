"""Calling ACLNN operators: prototypes from the binding table, handles, and the two phases.

``launch(name, values, queue)`` is the whole of it. The first phase plans and says how much workspace it needs, the
second puts the operator into the stream; device memory that the operator needs is kept by its owner, in the order of
the stream. After the second phase the handles of a call are kept for the next one with values of the same layouts,
which has them describe its own memory (``aclSetRawTensorAddr``, which CANN has for this). Executors are used once.
"""
from __future__ import annotations

import ctypes
import os
from collections import OrderedDict
from contextlib import suppress
from functools import cache
from typing import Any

from ..._base.interrupts import uninterrupted
from . import activities, provider, runtime
from .allocator import Owner, allocator_of
from .bindings import PHASE_TWO, READ, WRITTEN, binding, names
from .descriptors import (
    HANDLE_FUNCTIONS, Handles, address_of, converter, describer, destroy, functions, prototype, view_shape,
)
from .errors import check
from .queues import Queue, operands_of

#: How many calls are kept ready.
MOST_READY = 1024
#: What has a handle describe other memory. A release of CANN may lack it: then handles are destroyed after each call.
REFRESH = "aclSetRawTensorAddr"
LISTS = (list, tuple)


class Function:
    """An ACLNN operator, ready to be called: both phases, and a converter for each parameter.

    ``tensors`` are the positions of tensors and lists of them, and whether what lies there is read and nothing else;
    ``writes`` those that are written.
    """

    def __init__(self, name: str):
        row = binding(name)
        self.name = name
        self.converters = [converter(parameter) for parameter in row.parameters]
        self.describers = [describer(parameter) for parameter in row.parameters]
        # The simulator's functions are Python's, too: to give the GIL up would only let its workers take turns with us.
        keeps_gil = provider.load().simulated
        self.plan = prototype(address_of(f"{name}GetWorkspaceSize"), "aclnnStatus", row.phase_one, keeps_gil)
        self.run = prototype(address_of(name), "aclnnStatus", PHASE_TWO, keeps_gil)
        self.tensors = [(i, parameter.kind not in WRITTEN) for i, parameter in enumerate(row.parameters)
                        if parameter.kind in READ | WRITTEN]
        self.writes = row.writes

    def memories(self, values: Any) -> list[Any]:
        """The memory under each tensor among the values. Raises AclError if what should have computed one that is read
        is known to have failed.
        """
        found = []
        for position, is_read in self.tensors:
            value = values[position]
            for tensor in value if value.__class__ in LISTS else (value,):
                if tensor is not None:
                    memory = tensor._storage._memory
                    if is_read and memory.writer is not None:
                        memory.check()
                    found.append(memory)
        return found


class Prepared:
    """What a call needs in C: the handles of its values, and with them the arguments of its first phase."""

    __slots__ = ("addresses", "args", "executor", "handles", "operands", "size")

    def __init__(self, call: Function, values: Any, addresses: list[int]):
        self.handles, self.addresses, self.operands = Handles(), addresses, operands_of(values)
        self.size, self.executor = ctypes.c_uint64(), ctypes.c_void_p()
        try:
            args = [convert(value, self.handles) for convert, value in zip(call.converters, values, strict=True)]
        except BaseException:
            destroy(self.handles)
            raise
        self.args = *args, ctypes.addressof(self.size), ctypes.addressof(self.executor)

    def refresh(self, addresses: list[int]) -> None:
        """Have the handles describe other memory, which begins where pieces of memory do, at multiples of 32 bytes, as
        CANN wants. Allowed before a first phase and after a second one, not between them.
        """
        if addresses != self.addresses:
            refresh = functions[REFRESH]
            for handle, address, before in zip(self.handles.tensors, addresses, self.addresses, strict=True):
                if address != before:
                    check(refresh(handle, address), REFRESH)
            self.addresses = addresses


#: Calls that are ready to be made again, the one that was made last at the end. While it is made, a call is not in
#: here, so that no two threads have the same handles.
_ready: OrderedDict[Any, Prepared] = OrderedDict()


def release() -> None:
    """Destroy the handles that are kept for further calls."""
    while _ready:
        with suppress(KeyError):  # another thread took the last one
            destroy(_ready.popitem()[1].handles)


@cache
def _keeps() -> bool:
    """Whether handles are kept: where they can be told of other memory."""
    provider.load().before_check(release)
    return bool(provider.load().find(REFRESH))


runtime.at_finalize.append(release)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ready.clear)  # they are the parent's


def _keep_ready(key: Any, prepared: Prepared) -> None:
    """Keep a call's handles for the next one of its kind, in the place of those that were used longest ago."""
    if not _keeps() or _ready.setdefault(key, prepared) is not prepared:
        destroy(prepared.handles)  # if there is another one, it is that of another thread, which was first
    elif len(_ready) > MOST_READY:
        destroy(_ready.popitem(last=False)[1].handles)


@cache
def function(name: str) -> Function:
    """An operator of the table, found on first use. Raises RuntimeError if no library exports it."""
    return Function(name)


def launch(name: str, values: Any, queue: Queue, counts: bool = False) -> Any:
    """Put an operator into a stream; ``values`` are those of its row's parameters. Returns before it has run, but with
    ``counts``: then it waits, and returns the shapes that the outputs have by now. Raises AclError if a phase refuses,
    OutOfMemoryError if there is no memory for the workspace.
    """
    call = function(name)
    with uninterrupted():
        memories = call.memories(values)
        addresses = [memory.address for memory in memories]
        key = name, *[describe(value) for describe, value in zip(call.describers, values, strict=True)]
        prepared = _ready.pop(key, None) or Prepared(call, values, addresses)
        try:
            prepared.refresh(addresses)
            planning = activities.now()
            code = call.plan(*prepared.args)
            if code:
                check(code, f"{name}GetWorkspaceSize", queue.runtime.name)
            with activities.timed("run", name, queue, None, planning, values):
                _enqueue(call, prepared.size.value, prepared.executor.value, queue)
            number = queue.note(name, prepared.operands)
            for position in call.writes:
                written = values[position]
                for tensor in written if written.__class__ in LISTS else (written,):
                    if tensor is not None:
                        tensor._storage._memory.written(queue, number)
            if counts:
                queue.synchronize()
                shapes = [view_shape(prepared.args[position]) for position in call.writes]
        except BaseException:
            destroy(prepared.handles)
            raise
        if counts:  # what they describe now is of another shape
            destroy(prepared.handles)
            return shapes
        _keep_ready(key, prepared)
    if queue.runtime.blocking:
        queue.synchronize()
    return None


def _enqueue(call: Function, size: int, executor: int | None, queue: Queue) -> None:
    """The second phase, with a workspace if it needs one, which is freed in the order of the stream."""
    if not size:
        queue.check(call.run(None, 0, executor, queue.handle), call.name)
        return
    owner = Owner()
    try:
        workspace = allocator_of(queue.runtime).allocate(size, queue, owner)
    except BaseException:
        functions["aclDestroyAclOpExecutor"](executor)
        raise
    queue.check(call.run(workspace.ptr, size, executor, queue.handle), call.name)


@cache
def is_exported(name: str) -> bool:
    """Whether the libraries of this release have an operator of the table: both its functions."""
    find = provider.load().find
    return bool(find(f"{name}GetWorkspaceSize") and find(name))


def is_available() -> bool:
    """Whether the operator libraries are there (``torch._C._npu_aclnn_available``)."""
    try:
        return bool(provider.load().find("aclCreateTensor"))
    except RuntimeError:
        return False


def unavailable() -> list[str]:
    """The operators of the table that this release of CANN lacks: what needs them runs on the CPU."""
    return [name for name in names() if not is_exported(name)]


def symbols_ok() -> bool:
    """Whether the functions that every operator needs are exported (``torch._C._npu_aclnn_symbols_ok``);
    :func:`unavailable` has the operators of the table that are not.
    """
    return is_available() and all(provider.load().find(name) for name in HANDLE_FUNCTIONS if name != REFRESH)
