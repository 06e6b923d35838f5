"""Interrupts (Ctrl-C) that wait for the end of a block.

Python calls a signal's handler between any two instructions of the main thread. Code that must not stop half way runs
in a block ``with uninterrupted():``. There, the handlers of signals that commonly raise only take note, and the true
handlers are called at the end of the outermost block. Other threads are never interrupted by signals; for them a block
does nothing.

A block ``with signals_wait():`` makes all signals wait, for state that even a handler must not observe half done. It
takes longer to begin and to end.

Blocks of programs, such as ``no_grad``, cannot make interrupts wait. Their ``__exit__`` is decorated with ``leaving``,
so that they are left wherever an interrupt arrives.
"""
from __future__ import annotations

import os
import signal
from _signal import getsignal, signal as exchange  # which make no enums of what they return: blocks are many, and short
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, _GeneratorContextManager
from functools import partial, wraps
from threading import get_ident, main_thread
from typing import Any, ParamSpec, TypeVar
from weakref import ref

Given = ParamSpec("Given")
Yielded = TypeVar("Yielded")
Leave = TypeVar("Leave", bound=Callable[..., Any])
Undo = Callable[[Any], None]  #: called with a dead reference

#: The signals whose handlers raise: interrupt, time limit, request to terminate.
_RAISING = [int(getattr(signal, name)) for name in ("SIGINT", "SIGALRM", "SIGTERM") if hasattr(signal, name)]
_ALL = [*map(int, signal.valid_signals())]
_handlers: dict[int, Callable[..., Any]] = {}  #: the original handlers of deferred signals
_kept: dict[int, Any] = {}  #: the frame in which each deferred signal arrived
_keeping = False  #: whether the main thread is in a block
_main = main_thread().ident  #: the thread that receives signals


def _keep(number: int, frame: Any) -> None:
    if _keeping:
        _kept[number] = frame
    else:  # a raising handler has ended a block before this one was restored
        _handlers[number](number, frame)


def in_main_thread() -> bool:
    return get_ident() == _main


def _after_fork() -> None:
    """Make the thread that forked the main thread of the child."""
    global _main
    _main = get_ident()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def is_uninterrupted() -> bool:
    """Return True if a further block would do nothing: inside a block, or off the main thread."""
    return _keeping or get_ident() != _main


def forget_blocks() -> None:
    """Reset signal handling in a child forked inside a protected block."""
    global _keeping
    _keeping = False
    _kept.clear()
    for number, handler in _handlers.items():
        if getsignal(number) is _keep:
            exchange(number, handler)


class uninterrupted(AbstractContextManager[None]):
    """Defer interrupts to the end of a block; exchanging handlers before and after protects its ends, too."""

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
        """Replace the handlers by one that defers; return their signals."""
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
    """A block in which all signals wait. Inside an ``uninterrupted`` block, they wait for its end."""

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
    """Handle this thread's deferred signals now: a point at which long work may be interrupted."""
    if _kept and in_main_thread():
        waiting = list(_kept.items())
        _kept.clear()
        with ExitStack() as stack:  # handle each, even if an earlier handler raises
            for number, frame in reversed(waiting):
                stack.callback(_handlers[number], number, frame)


# -- blocks that are left wherever an interrupt comes -----------------------------------------------------------------

def leaving(undo_of: Callable[[Any], Undo]) -> Callable[[Leave], Leave]:
    """Decorate the ``__exit__`` of a block, so that the block is left even if an interrupt precedes its first
    instruction.

    ``undo_of(block)`` is called before the block is entered. It returns a function that restores the present state, and
    is called if ``__exit__`` does not reach its end.
    """
    return lambda leave: _Leaving(undo_of, leave)  # type: ignore[return-value]


def attributes(holder: Any, *names: str, put: Callable[[Any, str, Any], None] = setattr) -> Callable[[Any], Undo]:
    """Make an ``undo_of`` for ``leaving`` that restores these attributes of an object."""

    def undo_of(block: Any) -> Undo:
        before = [(name, getattr(holder, name)) for name in names]

        def undo(gone: Any) -> None:
            for name, value in before:
                put(holder, name, value)

        return undo

    return undo_of


class _Leaving:
    """The ``__exit__`` of a class of blocks.

    Python looks ``__exit__`` up before it calls ``__enter__``, and drops the result when the ``with`` statement has
    been left by any way. Nothing else refers to the object that it finds here, not even a traceback. If that object is
    freed before its call has completed, the block is left then.
    """

    def __init__(self, undo_of: Callable[[Any], Undo], leave: Callable[..., Any]):
        self.undo_of, self.leave, self.__doc__ = undo_of, leave, leave.__doc__

        def call(undo: list[Any], block: Any, *exc: Any) -> Any:
            result = leave(block, *exc)
            undo.clear()
            return result

        self.call = call

    def __get__(self, block: Any, kind: type | None = None) -> Any:
        if block is None:
            return self.leave
        undo: list[Any] = []
        found = partial(self.call, undo, block)
        undo.append(ref(found, self.undo_of(block)))
        return found


class _Block(_GeneratorContextManager[Yielded]):
    """A block made of a generator. Interrupts wait during its cleanup; one that arrives earlier closes it."""

    def _closing(self) -> Undo:
        generator: Any = self.gen
        is_entered = generator.gi_suspended

        def undo(gone: Any) -> None:
            if generator.gi_suspended and not is_entered:
                generator.close()

        return undo

    @leaving(_closing)
    def __exit__(self, *exc: Any) -> bool | None:
        with uninterrupted():
            return super().__exit__(*exc)


def contextmanager(function: Callable[Given, Iterator[Yielded]]) -> Callable[Given, _Block[Yielded]]:
    """Decorate a generator as ``contextlib.contextmanager`` does; the block is left wherever an interrupt arrives."""

    @wraps(function)
    def made(*args: Given.args, **kwargs: Given.kwargs) -> _Block[Yielded]:
        return _Block(function, args, kwargs)  # type: ignore[arg-type]  # as in typeshed, its generator is an iterator

    return made
