"""An NPU for every machine: an Ascend 910B behind CANN's own interface, and nowhere else.

``acl`` is pyACL's module, ``find(name)`` gives the address of an ACLNN function; their callers cannot tell that there
is no device. The rest are controls, public as ``torch.npu.simulator``: the sanitizer, faults, slow motion, limits.
"""
from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ...._base.interrupts import contextmanager
from . import faults, handles, sanitizer as _sanitizer, watch
from .acl import acl
from .costs import Costs, costs
from .descriptors import DESCRIPTORS
from .devices import DEFAULT_LIMIT, machine, thread
from .executors import AclOpExecutor
from .faults import slow
from .library import find
from .sanitizer import KINDS, Report
from .streams import Stream

__all__ = ["KINDS", "Costs", "Report", "acl", "check", "clear_reports", "costs", "device_count", "faults", "find",
           "hold", "live_bytes", "live_handles", "memory_limit", "paused", "release", "reports", "reset", "sanitizer",
           "slow"]


def sanitizer(on: bool | None = None) -> bool:
    """Switch the sanitizer on or off, or leave it as it is, and return whether it is on.

    It is on from the start if ``MINDTORCH_NPU_SANITIZER=1``. Switching it off forgets its reports; memory that is
    allocated when it is switched on is taken to be written.
    """
    if on is not None:
        _sanitizer.switch(on)
    return watch.active is not None


def reports() -> list[Report]:
    """Return the last 1000 findings of the sanitizer, oldest first."""
    return [] if watch.active is None else list(watch.active.reports)


def clear_reports() -> None:
    """Forget what the sanitizer has found."""
    if watch.active is not None:
        watch.active.reports.clear()


def check() -> list[Report]:
    """Look for descriptors and executors that are left, where there should be none, and return ``reports()``."""
    for release in _keepers:
        release()
    if watch.active is not None:
        watch.active.look_for_leaks(handles.objects, (*DESCRIPTORS, AclOpExecutor))
    return reports()


def live_handles() -> dict[str, int]:
    """Count the handles that are alive, by the name of their C type."""
    return handles.live()


def live_bytes() -> dict[str, int]:
    """Count the bytes that are allocated: ``"npu:0"``, ... of each device, ``"host"`` of pinned memory."""
    return {f"npu:{device.number}": device.memory.used for device in machine.devices} | {"host": machine.host.used}


def memory_limit(nbytes: int | None = None) -> int:
    """Set or return each device's bytes; ValueError unless positive, RuntimeError if memory is in use."""
    if nbytes is not None:
        machine.set_limit(nbytes)
    return machine.limit


def device_count(number: int | None = None) -> int:
    """Have this many devices, or leave them, and return how many there are. At first there are
    ``MINDTORCH_NPU_SIM_DEVICES``, or 2. Raises ValueError if the count is not positive, and RuntimeError if a device
    that would go is in use.
    """
    if number is not None:
        machine.set_count(number)
    return len(machine.devices)


def _streams(stream: Any) -> list[Stream]:
    """Return the streams that an argument means: a handle (0: the default stream of the thread's context), a
    ``torch.npu.Stream``, or None for all streams that the thread's device has now. Raises RuntimeError if there is
    none.
    """
    if not stream and thread.context is None:
        raise RuntimeError("this thread has no context, and so no streams: nothing was done on a device yet")
    if stream is None:
        return thread.context.device.streams()  # type: ignore[union-attr]
    handle = stream if isinstance(stream, int) else stream.npu_stream
    found = handles.objects.get(handle) if handle else thread.context.default  # type: ignore[union-attr]
    if not isinstance(found, Stream):
        raise RuntimeError(f"there is no stream {handle:#x}")
    return [found]


def hold(stream: Any = None) -> None:
    """Let a stream start nothing further until ``release``. ``acl.finalize`` releases all streams.

    Args:
        stream: its handle, or a ``torch.npu.Stream``; None: all streams that the thread's device has now.
    """
    for held in _streams(stream):
        held.hold()


def release(stream: Any = None) -> None:
    """Let a stream, or all of the thread's device, go on after ``hold``."""
    for held in _streams(stream):
        held.release()


def cores(name: str, values: Any) -> str:
    """Return which cores an operator of these values takes and for how long, by the model of ``costs``, in words."""
    tensors = [value for item in values for value in (item if isinstance(item, (list, tuple)) else (item,))
               if hasattr(value, "_strides")]
    return costs.told(costs.of(name, [(tensor._dtype.name, tuple(tensor.shape)) for tensor in tensors]))


@contextmanager
def paused(stream: Any = None) -> Iterator[None]:
    """Hold a stream or all streams of the device in a ``with`` block; waiting for one inside is an error."""
    streams = _streams(stream)
    for held in streams:
        held.hold(threading.get_ident())
    try:
        yield
    finally:
        for held in streams:
            held.release()


_process = os.getpid()


@atexit.register
def _release_all() -> None:
    """Release held streams at exit, except in a forked process, where the parent's locks may be held."""
    if os.getpid() != _process:
        return
    for device in machine.devices:
        for stream in device.streams():
            stream.release()


_users: list[Callable[[], None]] = []
_keepers: list[Callable[[], None]] = []


def before_check(release: Callable[[], None]) -> None:
    """Have ``release()`` called before ``check`` looks for handles: it destroys those that are kept on purpose."""
    if release not in _keepers:
        _keepers.append(release)


def before_reset(finalize: Callable[[], None]) -> None:
    """Have ``finalize()`` called before ``reset`` takes the devices away."""
    if finalize not in _users:
        _users.append(finalize)


def reset() -> None:
    """Start anew: no fault, no report, nothing allocated, nothing initialised, 1 GiB per device."""
    faults.clear()
    costs.reset()
    for finalize in _users:
        finalize()
    if machine.is_initialized:
        machine.shut_down()
    clear_reports()
    machine.set_limit(DEFAULT_LIMIT)


_sanitizer.switch(os.environ.get("MINDTORCH_NPU_SANITIZER") == "1")
