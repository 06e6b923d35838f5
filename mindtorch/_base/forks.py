"""What a fork must not catch half way, since a child has of the threads only the one that forked.

A fork waits until it has the locks, so that what they guard is whole in the child: the state of a random generator from
which another thread draws. Of those that it did not get in time, the child has new ones. A fork also waits for imports
that other threads have begun, because Python's own locks on modules would never be given back in the child.
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
#: How many seconds a fork waits at most for imports, which come to an end by themselves, and for locks, which may be
#: held as long as a computation takes.
IMPORTS, LOCKS = 30.0, 1.0
_taken = threading.local()  #: the locks that a fork of this thread has


def lock() -> Any:
    """A reentrant lock that is free in a forked process."""
    return include(threading.RLock())


def include(made: Any) -> Any:
    """Have a reentrant lock that another library has made be free in a forked process, too. Returns it."""
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
    """Take all locks; those that are free, if the others are not until the end. Who waits for a lock has none of the
    others, since its holder may need them.
    """
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
