"""A thread's state: grad mode, pipeline, hooks.

Only functions that record calls read grad mode, so it costs nothing where no input requires grad. ``inference``,
``pipeline`` and ``autocast`` concern every call: ``dispatcher.set_local`` sets them.
"""
from __future__ import annotations

import threading
from math import inf
from typing import Any


class LocalState(threading.local):
    """The state of one thread. Each attribute starts at its default, which calls need not check."""

    grad_enabled: bool = True
    inference: bool = False
    pipeline: Any = None
    autocast: Any = None  #: the dtype that autocast casts to, by device type
    saved_tensor_hooks: tuple[Any, ...] = ()
    saved_tensor_hooks_disabled: str | None = None  #: the error message
    task: Any = None  #: the running backward pass
    dual_below: float = inf  #: levels of forward mode below this number have visible tangents
    frames: tuple[Any, ...] = ()  #: the running ``vmap`` calls
    transforms: int = 0  #: the number of running ``func.grad``, ``vjp`` and ``jvp`` calls
    dispatch_modes: tuple[Any, ...] = ()  #: the enclosing ``TorchDispatchMode`` blocks, innermost last
    below_autograd: bool = False  #: whether a ``__torch_dispatch__`` runs; its calls record no derivatives
    formula: bool = False  #: whether a derivative or a composite runs that PyTorch has in C++
    dispatch_off: bool = False  #: whether ``__torch_dispatch__`` is switched off
    python_dispatcher: bool = False  #: whether composites run as PyTorch has them in Python, for tracers
    function_modes: tuple[Any, ...] = ()  #: the enclosing ``TorchFunctionMode`` blocks, innermost last
    function_off: int = 0  #: whether ``__torch_function__`` is switched off for classes (1) or also for modes (2)
    function_skipped: bool = False  #: whether the next function runs without asking its handlers
    added: tuple[Any, ...] = ()  #: this thread's added keys that are not excluded, outermost last
    depth: int = 0  #: of nested dispatched calls; counted only while there is an observer
    events: int = 0  #: the number of this thread's events; counted only while there is an observer
    reads: int = 0  #: how often Python has read a tensor's values
    moves: list[Any] | None = None  #: collects the redistributions of the observed call that runs
    coming: Any = None  #: the tensors that the next collective redistributes, outside of any observed call
    parts: list[Any] | None = None  #: collects the events of a composite that runs on stand-ins, see ``observers``


#: The states that count, which a block of other values leaves alone.
COUNTED = {"depth", "events", "reads"}
#: The state of a thread in which neither modes nor hooks nor transforms change a call.
UNTOUCHED = {name: vars(LocalState)[name] for name in LocalState.__annotations__ if name not in COUNTED}


class SharedState:
    """State that all threads share, as in PyTorch."""

    dual_levels: tuple[Any, ...] = ()  #: the entered levels of forward mode


local, shared = LocalState(), SharedState()
