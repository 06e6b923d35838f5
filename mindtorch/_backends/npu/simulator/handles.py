"""Handles: what the ints and pointers that callers hold stand for."""
from __future__ import annotations

from collections import Counter
from itertools import count
from typing import Any, TypeVar

from ..constants import ACL_ERROR_RT_INVALID_HANDLE
from . import watch
from .errors import Fault

T = TypeVar("T")
#: Handles count up from an address where no process has memory, and no handle is ever given twice.
FIRST, STEP = 1 << 44, 16

objects: dict[int, Any] = {}
_next = count(FIRST, STEP).__next__


def add(thing: Any) -> int:
    """Make a handle for an object."""
    handle = _next()
    objects[handle] = thing
    sanitizer = watch.active
    if sanitizer is not None:
        sanitizer.handle_made(handle, thing)
    return handle


def get(handle: int | None, kind: type[T], code: int = ACL_ERROR_RT_INVALID_HANDLE) -> T:
    """Return a handle's object; Fault with ``code`` if it was destroyed, never existed, or is of another kind."""
    thing = objects.get(handle)  # type: ignore[arg-type]
    if thing.__class__ is not kind:
        raise missing(handle, kind, code)
    return thing


def remove(handle: int | None, kind: type[T], code: int = ACL_ERROR_RT_INVALID_HANDLE) -> T:
    """Destroy a handle and return its object. Raises Fault as ``get`` does."""
    thing = get(handle, kind, code)
    if objects.pop(handle, None) is None:  # type: ignore[arg-type]
        raise missing(handle, kind, code)  # another thread was first
    sanitizer = watch.active
    if sanitizer is not None:
        sanitizer.handle_destroyed(handle, thing)  # type: ignore[arg-type]
    return thing


def missing(handle: int | None, kind: type, code: int) -> Fault:
    """Return the Fault for a handle that is not of this kind."""
    name = kind.label  # type: ignore[attr-defined]
    if handle in objects:
        return Fault(code, f"{name} expected, but {handle:#x} is a handle of {objects[handle].label}")
    if handle is None or not FIRST <= handle < FIRST << 1 or handle % STEP:  # it does not lie where handles are
        return Fault(code, f"{name} expected, but {handle or 0:#x} is no handle")
    return Fault(code, f"the {name} with the handle {handle:#x} was destroyed before", "destroyed-handle")


def live() -> dict[str, int]:
    """Count the handles of each kind."""
    return dict(Counter(thing.label for thing in list(objects.values())))
