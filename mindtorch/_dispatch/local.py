"""What a thread has set: grad mode, pipeline, hooks.

Grad mode is read here where it matters; the functions that record a call do so themselves, so that it costs nothing
where no input requires grad. ``inference``, ``pipeline`` and ``autocast`` concern every call:
``dispatcher.set_local`` sets them.
"""
from __future__ import annotations

import threading
from math import inf
from typing import Any


class LocalState(threading.local):
    """The state of one thread; every attribute starts at the default that needs no look."""

    grad_enabled: bool = True
    inference: bool = False
    pipeline: Any = None
    autocast: Any = None  #: the dtype that autocast casts to, by device type
    saved_tensor_hooks: tuple[Any, ...] = ()
    saved_tensor_hooks_disabled: str | None = None  #: the error's message
    task: Any = None  #: the backward pass that runs
    dual_below: float = inf  #: the tangents of which levels are looked at: of those with a smaller number
    frames: tuple[Any, ...] = ()  #: the calls of ``vmap`` that run
    transforms: int = 0  #: how many calls of ``func.grad``, ``vjp`` and ``jvp`` run
    dispatch_modes: tuple[Any, ...] = ()  #: the ``TorchDispatchMode`` blocks around, the innermost last
    below_autograd: bool = False  #: whether a ``__torch_dispatch__`` runs, whose calls record no derivatives
    formula: bool = False  #: whether a derivative or a composite runs, which PyTorch has in C++
    dispatch_off: bool = False  #: whether ``__torch_dispatch__`` is not asked
    function_modes: tuple[Any, ...] = ()  #: the ``TorchFunctionMode`` blocks around, the innermost last
    function_off: int = 0  #: whether of ``__torch_function__`` classes are not asked (1), or modes neither (2)
    added: tuple[Any, ...] = ()  #: the keys of its own that are not excluded, the outermost last
    depth: int = 0  #: of dispatched calls, counted only while there is an observer
    events: int = 0  #: how many events of this thread there were, likewise
    parts: list[Any] | None = None  #: collects the events of a composite that is run on stand-ins, see ``observers``


class SharedState:
    """The state of all threads together, where PyTorch has it so."""

    dual_levels: tuple[Any, ...] = ()  #: those of forward mode that were entered


local, shared = LocalState(), SharedState()
