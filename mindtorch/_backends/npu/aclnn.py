"""Calling ACLNN operators: prototypes from the binding table, handles, and the two phases.

The first phase plans an operator and returns how much workspace it needs; the second puts it into the stream. Device
memory that the operator needs is kept by its owner, in the order of the stream. Executors are used once. Handles serve
one call, except those of operators that are known to leave descriptors as they are (``bindings``): they are kept for
the next call with values of the same layouts, which has them describe its own memory (``aclSetRawTensorAddr``).
"""
from __future__ import annotations

import ctypes
import os
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from typing import Any

from ..._base import forks
from ..._base.call_site import warn_once
from ..._base.interrupts import uninterrupted
from . import activities, provider, runtime
from .allocator import Owner, allocator_of
from .bindings import PHASE_TWO, READ, WRITTEN, binding, names
from .constants import ACLNN_ERR_INNER, ACLNN_ERR_PARAM_INVALID
from .descriptors import (
    HANDLE_FUNCTIONS, KEYS, OPTIONAL, Handles, address_of, converter, destroy, functions, key_of, prototype, view_shape,
)
from .errors import AclError, check
from .queues import Queue, operands_of

#: An ACLNN operator and the values of its parameters.
Call = tuple[str, tuple[Any, ...]]
#: How many kinds of calls have handles that are kept.
MOST_READY = 1024
LISTS = (list, tuple)


class Function:
    """An ACLNN operator, ready to be called: both phases, and a converter for each parameter.

    ``tensors`` are the positions of tensors and of lists of tensors, and whether each is only read; ``writes`` are the
    positions that are written. ``keeps`` says that handles serve more than one call.
    """

    def __init__(self, name: str):
        row = binding(name)
        self.name = name
        self.converters = [converter(parameter) for parameter in row.parameters]
        self.keys = [KEYS.get(parameter.kind, key_of) for parameter in row.parameters]
        self.keeps = row.leaves_descriptors and _can_keep()
        # The simulator's functions are Python's, too: releasing the GIL would only let its workers take turns with us.
        keeps_gil = provider.load().simulated
        self.plan = prototype(address_of(f"{name}GetWorkspaceSize"), "aclnnStatus", row.phase_one, keeps_gil)
        self.run = prototype(address_of(name), "aclnnStatus", PHASE_TWO, keeps_gil)
        self.tensors = [(i, parameter.kind not in WRITTEN) for i, parameter in enumerate(row.parameters)
                        if parameter.kind in READ | WRITTEN]
        self.writes = row.writes

    def memories(self, values: Sequence[Any]) -> list[Any]:
        """Return the memory under each tensor among the values; AclError if a tensor that is read has no result."""
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
    """The C arguments of a call's first phase: the handles of its values, and room for what the phase returns.

    ``key`` is that of further calls that the handles can serve, None if there are none. The first phase took
    ``nanoseconds``, if there is an observer. ``restarts`` counts those of the stream before the operands were checked.
    """

    __slots__ = ("addresses", "args", "call", "executor", "handles", "key", "nanoseconds", "operands", "restarts",
                 "size")

    def __init__(self, call: Function, key: Any, values: Sequence[Any], addresses: list[int]):
        self.call, self.key, self.addresses, self.operands = call, key, addresses, operands_of(values)
        self.restarts = 0
        self.handles, self.size, self.executor = Handles(), ctypes.c_uint64(), ctypes.c_void_p()
        try:
            args = [convert(value, self.handles) for convert, value in zip(call.converters, values, strict=True)]
        except BaseException:
            destroy(self.handles)
            raise
        self.args = *args, ctypes.addressof(self.size), ctypes.addressof(self.executor)

    def plan(self, addresses: list[int], queue: Queue) -> None:
        """Run the first phase with handles that describe memory at these addresses; destroy them if that fails."""
        try:
            if addresses != self.addresses:
                self.refresh(addresses)
            start = activities.now()
            code = self.call.plan(*self.args)
            self.nanoseconds = activities.now() - start
            if code:
                check(code, f"{self.call.name}GetWorkspaceSize", queue.runtime.name)
        except BaseException:
            destroy(self.handles)
            raise

    def refresh(self, addresses: list[int]) -> None:
        """Move the handles to other memory, aligned to 32 bytes; allowed only while no first phase is pending."""
        refresh = functions["aclSetRawTensorAddr"]
        for handle, address, before in zip(self.handles.tensors, addresses, self.addresses, strict=True):
            if address != before:
                check(refresh(handle, address), "aclSetRawTensorAddr")
        self.addresses = addresses

    def run(self, values: Sequence[Any], queue: Queue) -> None:
        """Put the call into a stream: its second phase. The handles are destroyed if that fails."""
        call = self.call
        try:
            with activities.timed("run", call.name, queue, None, self.nanoseconds, values):
                _enqueue(call, self.size.value, self.executor.value, queue)
            number = queue.note(call.name, self.restarts, self.operands)
            for position in call.writes:
                written = values[position]
                for tensor in written if written.__class__ in LISTS else (written,):
                    if tensor is not None:
                        tensor._storage._memory.written(queue, number)
        except BaseException:
            destroy(self.handles)
            raise

    def drop(self) -> None:
        """Give up the call between its phases."""
        functions["aclDestroyAclOpExecutor"](self.executor.value)
        self.done()

    def done(self) -> None:
        """Keep the handles for a later call, or destroy them."""
        if self.key is None:
            destroy(self.handles)
        else:
            _ready.keep(self)


def planned(name: str, values: Sequence[Any], queue: Queue) -> Prepared:
    """Run the first phase of a call. Raises AclError if it fails."""
    call, restarts = function(name), queue.restarts
    addresses = [memory.address for memory in call.memories(values)]
    key = (name, *[key(value) for key, value in zip(call.keys, values, strict=True)]) if call.keeps else None
    prepared = _ready.take(key) or Prepared(call, key, values, addresses)
    prepared.restarts = restarts
    prepared.plan(addresses, queue)
    return prepared


class Ready:
    """Idle calls whose handles are kept, least recently used key first; each is taken out while it is made."""

    def __init__(self) -> None:
        self._calls: OrderedDict[Any, list[Prepared]] = OrderedDict()
        self._lock = forks.lock()

    def take(self, key: Any) -> Prepared | None:
        """Remove and return a call of this key, None if there is none."""
        calls = self._calls.get(key)
        try:
            return calls.pop() if calls else None
        except IndexError:  # another thread took the last one
            return None

    def keep(self, prepared: Prepared) -> None:
        """Keep a call, in the place of the calls of the key that was used longest ago."""
        with self._lock:
            self._calls.setdefault(prepared.key, []).append(prepared)
            self._calls.move_to_end(prepared.key)
            oldest = self._calls.popitem(last=False)[1] if len(self._calls) > MOST_READY else ()
        for prepared in oldest:
            destroy(prepared.handles)

    def clear(self, owned: bool = True) -> None:
        """Forget all calls; destroy their handles, unless another process owns them."""
        with self._lock:
            calls = [prepared for kept in self._calls.values() for prepared in kept]
            self._calls.clear()
        for prepared in calls if owned else ():
            destroy(prepared.handles)

    def kept(self) -> list[Any]:
        """Return the keys with calls, the most recently used one last."""
        return [key for key, calls in self._calls.items() if calls]


_ready = Ready()
release = _ready.clear


@cache
def _can_keep() -> bool:
    """Return True if handles can be kept: a release of CANN may lack the function that gives them other memory."""
    provider.load().before_check(release)
    return is_found("aclSetRawTensorAddr")


runtime.at_finalize.append(release)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _ready.clear(owned=False))


@cache
def function(name: str) -> Function:
    """Return an operator of the table. Raises RuntimeError if no library exports it."""
    return Function(name)


def launch(calls: Sequence[Call], queue: Queue) -> None:
    """Plan all operators, then put them into a stream and return; none runs if one is refused (AclError)."""
    ready: list[Prepared] = []
    with uninterrupted():
        try:
            for name, values in calls:
                ready.append(planned(name, values, queue))
            ready.reverse()  # so that the next one is the last one
            for _, values in calls:
                prepared = ready.pop()
                prepared.run(values, queue)
                prepared.done()
                if queue.runtime.blocking:
                    queue.synchronize()
        except BaseException:
            for prepared in ready:
                prepared.drop()
            raise


def launched(calls: Sequence[Call], queue: Queue, op: str) -> bool:
    """Launch an ATen operator's calls, all or none; return False if CANN does not export or plan one of them."""
    for name, _ in calls:
        if not is_exported(name):
            return False
    try:
        launch(calls, queue)
    except AclError as error:
        refuse(error, op)
        return False
    return True


def counted(name: str, values: Sequence[Any], queue: Queue, op: str) -> list[tuple[int, ...]] | None:
    """Run an operator with outputs of data-dependent shapes and return the shapes; None if CANN refuses it."""
    if not is_exported(name) or not is_found("aclGetViewShape"):
        return None
    with uninterrupted():
        try:
            prepared = planned(name, values, queue)
        except AclError as error:
            refuse(error, op)
            return None
        prepared.run(values, queue)
        try:
            queue.synchronize()
            return [view_shape(prepared.args[position]) for position in prepared.call.writes]
        finally:
            destroy(prepared.handles)  # they have other sizes now


def refuse(error: AclError, op: str) -> None:
    """Warn that an ATen operator runs another way if the error is a refusal by CANN; otherwise raise it."""
    is_refusal = error.code == ACLNN_ERR_PARAM_INVALID or ACLNN_ERR_INNER < error.code < ACLNN_ERR_INNER + 1000
    if not is_refusal or not error.call.endswith("GetWorkspaceSize"):
        raise error
    name = error.call.removesuffix("GetWorkspaceSize")
    warn_once(f"aten::{op} is refused by {error}: it runs without {name}", about=op)


def _enqueue(call: Function, size: int, executor: int | None, queue: Queue) -> None:
    """Run the second phase, with a workspace if it needs one, which is freed in the order of the stream."""
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


def is_found(name: str) -> bool:
    """Return True if a library exports a C function."""
    return bool(provider.load().find(name))


@cache
def is_exported(name: str) -> bool:
    """Return True if the libraries of this release export both functions of an operator of the table."""
    return is_found(f"{name}GetWorkspaceSize") and is_found(name)


def is_available() -> bool:
    """Return True if the operator libraries are there (``torch._C._npu_aclnn_available``)."""
    try:
        return bool(provider.load().find("aclCreateTensor"))
    except RuntimeError:
        return False


def unavailable() -> list[str]:
    """Return the operators of the table that this release of CANN lacks: what needs them runs on the CPU."""
    return [name for name in names() if not is_exported(name)]


def symbols_ok() -> bool:
    """Return True if the common functions are exported; :func:`unavailable` lists missing operators."""
    return is_available() and all(provider.load().find(name) for name in HANDLE_FUNCTIONS if name not in OPTIONAL)
