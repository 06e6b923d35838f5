"""Interrupts (Ctrl-C) that wait: what must not stop half way is done in a block ``with uninterrupted():``.

Python calls the handler of a signal between two instructions of the main thread, wherever that is. Inside such a block
SIGINT's handler only takes note; at the end of the outermost block the true one is called. Other threads are never
interrupted by signals; for them a block does nothing.
"""
from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import get_ident, main_thread
from typing import Any

_kept: list[Any] = []
_handler: Callable[..., Any] = signal.default_int_handler  #: the true one, while a block keeps interrupts


def _keep(number: int, frame: Any) -> None:
    _kept.append(frame)


def in_main_thread() -> bool:
    return get_ident() == main_thread().ident


class uninterrupted(AbstractContextManager[None]):
    """A block at whose end interrupts are handled that came meanwhile; even its first and its last instruction are kept
    from them, since the handler is exchanged before and after. An inner block does nothing.
    """

    __slots__ = ("before",)

    def __init__(self) -> None:
        self.before: Any = None

    def __enter__(self) -> None:
        global _handler
        if in_main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if handler is not _keep and callable(handler):
                self.before = _handler = handler
                signal.signal(signal.SIGINT, _keep)

    def __exit__(self, *exc: object) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)
            give_way()


def give_way() -> None:
    """Handle interrupts that wait for the end of this thread's block: called where what takes long may be left."""
    if _kept and in_main_thread():
        frame = _kept[-1]
        _kept.clear()
        _handler(signal.SIGINT, frame)
