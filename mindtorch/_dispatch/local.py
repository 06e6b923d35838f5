"""What a thread has set: grad mode, pipeline, hooks. One object a thread, read by the dispatcher."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class LocalState(threading.local):
    """The state of one thread; every attribute starts at the default that needs no look."""

    grad_enabled: bool = True
    inference: bool = False
    pipeline: Any = None
    saved_tensor_hooks: tuple[Any, ...] = ()
    saved_tensor_hooks_disabled: str | None = None  #: the error's message
    task: Any = None  #: the backward pass that runs
    depth: int = 0  #: of dispatched calls, counted only while somebody observes


local = LocalState()
_lock = threading.Lock()
_unusual = 0
_announce: Callable[[bool], None]


def on_change(announce: Callable[[bool], None]) -> None:
    """Have ``announce(unusual)`` called whenever it changes whether any thread has a state to look at."""
    global _announce
    _announce = announce


def _count(step: int) -> None:
    global _unusual
    _lock.acquire()  # half the price of a with block, and nothing here can fail
    before = _unusual
    _unusual = after = before + step
    if not before or not after:
        _announce(after > 0)
    _lock.release()


def set_grad_enabled(enabled: bool) -> None:
    """Switch this thread's grad mode."""
    if local.grad_enabled is not enabled:
        local.grad_enabled = enabled
        _count(-1 if enabled else 1)


def set_local(name: str, value: Any) -> None:
    """Set one attribute of this thread's state, and have the dispatcher look at it while it is not the default."""
    default = getattr(LocalState, name)
    before, after = getattr(local, name) != default, value != default
    setattr(local, name, value)
    if before != after:
        _count(1 if after else -1)
