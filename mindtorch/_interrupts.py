"""Interrupts (Ctrl-C) that wait: what must not stop half way is done in a block ``with uninterrupted():``.

Python calls the handler of a signal between two instructions of the main thread, wherever that is. Inside such a block
SIGINT's handler only takes note; at the end of the outermost block the true one is called. Other threads are never
interrupted by signals; for them a block does nothing.

What must not even be seen half way, by a handler that computes, is done in a block ``with signals_wait():``, which has
the handlers of all signals wait. It takes longer to begin and to end.
"""
from __future__ import annotations

import os
import signal
from _signal import getsignal, signal as exchange  # which make no enums of what they return: blocks are many, and short
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from threading import get_ident, main_thread
from typing import Any

_SIGINT = int(signal.SIGINT)
_SIGNALS = [*map(int, signal.valid_signals())]
_kept: list[Any] = []
_keeping = False  #: whether the main thread is in a block
_main = main_thread().ident  #: the thread whose signals they are
_handler: Callable[..., Any] = signal.default_int_handler  #: the true one, while a block keeps interrupts


def _keep(number: int, frame: Any) -> None:
    _kept.append(frame)


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
    from them, since the handler is exchanged before and after. An inner block does nothing.
    """

    __slots__ = ("before",)

    def __init__(self) -> None:
        self.before: Any = None

    def __enter__(self) -> None:
        global _handler, _keeping
        if not _keeping and get_ident() == _main:
            handler = getsignal(_SIGINT)
            if handler is not _keep and callable(handler):
                self.before = _handler = handler
                exchange(_SIGINT, _keep)
                _keeping = True

    def __exit__(self, *exc: object) -> None:
        global _keeping
        if self.before is not None:
            _keeping = False
            exchange(_SIGINT, self.before)
            if _kept:
                give_way()


def give_way() -> None:
    """Handle interrupts that wait for the end of this thread's block: called where what takes long may be left."""
    if _kept and in_main_thread():
        frame = _kept[-1]
        _kept.clear()
        _handler(signal.SIGINT, frame)


class signals_wait(AbstractContextManager[None]):
    """A block at whose end the signals are handled that came meanwhile. It is not to be nested."""

    __slots__ = ("handlers", "kept", "keeping")

    def __init__(self) -> None:
        self.handlers: dict[int, Callable[..., Any]] = {}
        self.kept: list[int] = []
        self.keeping = True

    def __enter__(self) -> None:
        if in_main_thread():
            for number in _SIGNALS:
                handler = getsignal(number)
                if callable(handler):
                    self.handlers[number] = handler
                    exchange(number, self._keep)

    def _keep(self, number: int, frame: Any) -> None:
        if self.keeping:
            self.kept.append(number)
        else:  # a handler that raises has ended the block before this one was put back
            self.handlers[number](number, frame)

    def __exit__(self, *exc: object) -> None:
        self.keeping = False
        for number, handler in self.handlers.items():
            exchange(number, handler)
        with ExitStack() as stack:  # each is handled, even if the handler of one before it raises
            for number in reversed(self.kept):
                stack.callback(signal.raise_signal, number)
