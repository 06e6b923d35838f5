"""Limits of time for readers' code, whose errors become values."""
from __future__ import annotations

import ctypes
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .said import Said

SECONDS = 5.0  #: that one case of a lab may take
LOADING = 20.0  #: that one may take if it loads a compiler
UNWRITTEN = "it is not written yet"
PACKAGE = str(Path(__file__).parents[1])


class TimeIsUp(BaseException):
    """Raised in the thread whose time is up. It is not an Exception, so ``except Exception`` does not catch it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Interrupt a block after so many seconds, between two instructions of Python, and again if it catches the
    interruption. A function in C is not interrupted. Raises TimeIsUp in the block, when its time is up.
    """
    thread, ended, lock = ctypes.c_ulong(threading.get_ident()), threading.Event(), threading.Lock()
    was_interrupted = False

    def send() -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(TimeIsUp))

    def interrupt() -> None:
        nonlocal was_interrupted
        wait = seconds
        while not ended.wait(wait):
            with lock:
                if not ended.is_set():
                    was_interrupted = True
                    send()
            wait = 0.2

    watch = threading.Thread(target=interrupt, name="limit of time", daemon=True)
    watch.start()
    try:
        yield
    finally:
        # An interruption on its way must arrive. Taking it back, by sending None, leaves CPython 3.11 looking for it
        # for ever: every instruction gets slower, and a traced or profiled function does not get beyond its first. So
        # another one is sent, which takes its place, and this thread waits for it.
        received = False
        while not received:
            try:
                with lock:
                    ended.set()
                if not was_interrupted:
                    break
                received = True
                send()
                while True:
                    pass
            except TimeIsUp:
                pass


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call: its value, or a sentence about its failure."""

    value: Any = None
    failure: str = ""
    endless: bool = False  #: whether its time was up


def attempt(function: Callable[..., Any], *args: Any, seconds: float = SECONDS) -> Outcome:
    """Call a reader's function; an error becomes one sentence, with the reader's line that raised it."""
    try:
        with limited(seconds):
            return Outcome(function(*args))
    except TimeIsUp:
        return Outcome(failure=f"it had not ended after {seconds:g} seconds: is there a loop that never ends?",
                       endless=True)
    except Said as said:
        return Outcome(failure=str(said))
    except NotImplementedError as error:
        return Outcome(failure=UNWRITTEN if not str(error) else _told(error))
    except RecursionError as error:
        return Outcome(failure=f"it calls itself without end{_line_of(error)}")
    except (Exception, SystemExit) as error:
        return Outcome(failure=_told(error))


def _told(error: BaseException) -> str:
    first = (str(error).splitlines() or [""])[0]
    return f"it raised {type(error).__name__}{': ' if first else ''}{first}{_line_of(error)}"


def _line_of(error: BaseException) -> str:
    """Return the last line outside the library that led to an error."""
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(PACKAGE)]
    return f" (in its line `{lines[-1].line}`)" if lines and lines[-1].line else ""
