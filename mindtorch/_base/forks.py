"""Locks and imports across forks: a child process has only the thread that forked.

A fork waits for the locks, so that the state they guard is whole in the child, such as a random generator that another
thread draws from. The child gets new locks for those that were not free in time. A fork also waits for imports that
other threads have begun, because Python's module locks would never be released in the child.
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

from .interrupts import signals_wait, uninterrupted

_locks: WeakSet[Any] = WeakSet()
_importing: set[int] = set()  #: the threads that are importing a module of the library
#: The seconds that a fork waits at most for imports, which end by themselves, and for locks, which may be held
#: throughout a computation.
IMPORTS, LOCKS = 30.0, 1.0
_taken = threading.local()  #: the locks that a fork of this thread holds


def lock() -> Any:
    """Return a reentrant lock that is free in a forked process."""
    return include(threading.RLock())


def include(made: Any) -> Any:
    """Make another library's reentrant lock free in forked processes, too; return it."""
    _locks.add(made)
    return made


def load_module(name: str, package: str | None = None) -> Any:
    """Import a module on first use. Forks of other threads and signal handlers wait: they must not see it half done."""
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
    """Return True if a module's import is complete."""
    return not getattr(module.__spec__, "_initializing", False)


def _before_fork() -> None:
    end = monotonic() + IMPORTS
    with uninterrupted():
        while True:
            _taken.locks = _take(list(_locks), monotonic() + LOCKS)
            if not _importing - {threading.get_ident()} or monotonic() >= end:
                return
            _give_back()
            sleep(0.001)


def _take(locks: list[Any], end: float) -> list[Any]:
    """Acquire all locks, or those free by ``end``, one at a time: their holders may need the others."""
    first: list[Any] = []  # the lock that was waited for
    while True:
        taken = first + [each for each in locks if each not in first and each.acquire(False)]
        missing = [each for each in locks if each not in taken]
        if not missing or monotonic() >= end:
            return taken
        for each in taken:
            each.release()
        first = [each for each in missing[:1] if each.acquire(timeout=max(end - monotonic(), 0))]


def _give_back() -> None:
    for taken in _taken.locks:
        taken.release()
    _taken.locks = []


def _after_fork() -> None:
    for other in set(_locks).difference(_taken.locks):
        other._at_fork_reinit()
    _give_back()
    _importing.intersection_update({threading.get_ident()})


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork, after_in_parent=_give_back)
