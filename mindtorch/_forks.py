"""What a fork must not catch half way, since a child has of the threads only the one that forked.

A lock that another thread holds then is free in the child; and a fork waits for imports that other threads have begun,
because Python's own locks on modules would never be given back in the child.
"""
from __future__ import annotations

import os
import sys
import threading
from importlib import import_module
from importlib.util import resolve_name
from time import monotonic, sleep
from types import ModuleType
from typing import Any
from weakref import WeakSet

from ._interrupts import signals_wait

_locks: WeakSet[Any] = WeakSet()
_importing: set[int] = set()  #: the threads that are importing a module of the library
PATIENCE = 1.0  #: how many seconds a fork waits for imports at most


def lock() -> Any:
    """A reentrant lock that is free in a forked process."""
    made = threading.RLock()
    _locks.add(made)
    return made


def load_module(name: str, package: str | None = None) -> Any:
    """Import a module when it is needed first; no fork of another thread comes in between, and no handler of a signal,
    which would find the module half done.
    """
    found = sys.modules.get(resolve_name(name, package))
    if found is not None and is_complete(found):
        return found
    me = threading.get_ident()
    if me in _importing:
        return import_module(name, package)
    with signals_wait():
        _importing.add(me)
        try:
            return import_module(name, package)
        finally:
            _importing.discard(me)


def is_complete(module: ModuleType) -> bool:
    """Whether a module's import has come to its end."""
    return not getattr(module.__spec__, "_initializing", False)


def _wait_for_imports() -> None:
    end = monotonic() + PATIENCE
    while _importing - {threading.get_ident()} and monotonic() < end:
        sleep(0.001)


def _after_fork() -> None:
    for held in list(_locks):
        held._at_fork_reinit()
    _importing.intersection_update({threading.get_ident()})


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_imports, after_in_child=_after_fork)
