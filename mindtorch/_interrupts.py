"""Interrupts (Ctrl-C) that wait: what must not stop half way is done in a block ``with uninterrupted():``.

Python calls the handler of a signal between two instructions of the main thread, wherever that is. Inside such a block
the handlers of signals that commonly raise an exception only take note; at the end of the outermost block the true ones
are called. Other threads are never interrupted by signals; for them a block does nothing.

What must not even be seen half way, by a handler that computes, is done in a block ``with signals_wait():``, which has
the handlers of all signals wait. It takes longer to begin and to end.
"""
from __future__ import annotations

import os
import signal
from _signal import getsignal, signal as exchange  # which make no enums of what they return: blocks are many, and short
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from threading import get_ident, main_thread
from typing import Any

#: The signals whose handlers raise: of an interrupt, of a limit of time, of a polite end.
_RAISING = [int(getattr(signal, name)) for name in ("SIGINT", "SIGALRM", "SIGTERM") if hasattr(signal, name)]
_ALL = [*map(int, signal.valid_signals())]
_handlers: dict[int, Callable[..., Any]] = {}  #: the true ones, of the signals that blocks have kept
_kept: dict[int, Any] = {}  #: of each signal that waits, the frame in which it came
_keeping = False  #: whether the main thread is in a block
_main = main_thread().ident  #: the thread whose signals they are


def _keep(number: int, frame: Any) -> None:
    if _keeping:
        _kept[number] = frame
    else:  # a handler that raised has ended a block before this one was put back
        _handlers[number](number, frame)


def in_main_thread() -> bool:
    return get_ident() == _main


def _after_fork() -> None:
    """In a forked process, the thread that forked is the main one."""
    global _main
    _main = get_ident()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def is_uninterrupted() -> bool:
    """Whether this thread is in such a block, or the main thread is: then one more does nothing."""
    return _keeping or get_ident() != _main


class uninterrupted(AbstractContextManager[None]):
    """A block at whose end interrupts are handled that came meanwhile; even its first and its last instruction are kept
    from them, since the handlers are exchanged before and after. An inner block does nothing.
    """

    __slots__ = ("numbers", "outermost")

    def __init__(self) -> None:
        self.numbers: Iterable[int] = _RAISING
        self.outermost = False

    def __enter__(self) -> None:
        global _keeping
        if not _keeping and get_ident() == _main:
            self.numbers = self._exchange()
            self.outermost = _keeping = True

    def _exchange(self) -> list[int]:
        """Have handlers take note only; return of which signals."""
        exchanged = []
        for number in self.numbers:
            handler = getsignal(number)
            if handler is not _keep and callable(handler):
                _handlers[number] = handler
                exchange(number, _keep)
                exchanged.append(number)
        return exchanged

    def __exit__(self, *exc: object) -> None:
        global _keeping
        if self.outermost:
            _keeping = False
            for number in self.numbers:
                exchange(number, _handlers[number])
            if _kept:
                give_way()


class signals_wait(uninterrupted):
    """The same of all signals; inside a block of the other kind, those that came wait for its end."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__()
        self.numbers = _ALL

    def __enter__(self) -> None:
        global _keeping
        if get_ident() == _main:
            self.numbers = self._exchange()
            self.outermost, _keeping = not _keeping, True

    def __exit__(self, *exc: object) -> None:
        if self.outermost:
            super().__exit__(*exc)
        elif get_ident() == _main:
            for number in self.numbers:
                exchange(number, _handlers[number])


def give_way() -> None:
    """Handle signals that wait for the end of this thread's block: called where what takes long may be left."""
    if _kept and in_main_thread():
        waiting = list(_kept.items())
        _kept.clear()
        with ExitStack() as stack:  # each is handled, even if the handler of one before it raises
            for number, frame in reversed(waiting):
                stack.callback(_handlers[number], number, frame)
