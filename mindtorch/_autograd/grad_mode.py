"""Grad mode: whether the thread records its operators."""
from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from .._base.about import check_flags
from .._base.interrupts import Undo, leaving
from .._dispatch.autocast import casting
from .._dispatch.dispatcher import resolve, set_local, state_of, tensors_of, written_of
from .._dispatch.keys import AUTOGRAD, INFERENCE, PYTHON
from .._dispatch.local import local
from .._dispatch.registry import Operator
from .._dispatch.torch_dispatch import before_dispatch


def is_grad_enabled() -> bool:
    """Return True if operators record their derivatives in this thread (``torch.is_grad_enabled``)."""
    return local.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Return True if this thread is in inference mode (``torch.is_inference_mode_enabled``)."""
    return local.inference


class _Mode(AbstractContextManager[Any]):
    """A context manager that is also a decorator, for functions and generator functions."""

    def clone(self) -> _Mode:
        return type(self)()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isclass(function):
            warnings.warn("Decorating classes is deprecated and will be disabled in future versions. You should only "
                          "decorate functions or methods. To preserve the current behavior of class decoration, you "
                          "can directly decorate the `__init__` method and nothing else.", FutureWarning, stacklevel=2)
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generate(*args: Any, **kwargs: Any) -> Any:
                generator, sent, error = function(*args, **kwargs), None, None
                while True:
                    try:
                        with self.clone():
                            item = generator.send(sent) if error is None else generator.throw(error)
                    except StopIteration as stop:
                        return stop.value
                    sent, error = None, None
                    try:
                        sent = yield item
                    except GeneratorExit:
                        with self.clone():
                            generator.close()
                        raise
                    except BaseException as thrown:
                        error = thrown

            return generate

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return call


def _grad_mode(block: Any) -> Undo:
    """Return the undo function that restores the present grad mode."""
    before = local.grad_enabled

    def undo(gone: Any) -> None:
        local.grad_enabled = before

    return undo


class _SetGrad(_Mode):
    enabled: bool

    def __enter__(self) -> Any:
        self.before, local.grad_enabled = local.grad_enabled, self.enabled
        return self

    @leaving(_grad_mode)
    def __exit__(self, *exc: object) -> None:
        local.grad_enabled = self.before


class _Decorator(_SetGrad):
    """A mode that also accepts the function to decorate directly."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        return super().__new__(cls) if function is None else super().__new__(cls)(function)


class no_grad(_Decorator):
    """Does not record derivatives in the block or the decorated function (``torch.no_grad``)."""

    enabled = False


class enable_grad(_Decorator):
    """Records derivatives in the block or the decorated function (``torch.enable_grad``)."""

    enabled = True


class set_grad_enabled(_SetGrad):
    """Switches recording on or off, at once or for a ``with`` block (``torch.set_grad_enabled``)."""

    def __init__(self, mode: bool):
        check_flags("set_grad_enabled", first=1, enabled=mode)
        self.before, self.enabled = local.grad_enabled, mode
        local.grad_enabled = self.enabled

    def __enter__(self) -> Any:
        local.grad_enabled = self.enabled
        return self

    @leaving(lambda block: lambda gone: block.__exit__())
    def __exit__(self, *exc: object) -> None:
        local.grad_enabled = self.before

    def clone(self) -> _Mode:
        """Return another context manager of the same mode (``torch.set_grad_enabled.clone``)."""
        return type(self)(self.enabled)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.enabled})"

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        local.grad_enabled = self.before  # a decorator affects only the calls
        return super().__call__(function)


class set_multithreading_enabled(_Mode):
    """Sets whether backward may use several threads, at once or for a ``with`` block
    (``torch.autograd.set_multithreading_enabled``). Here backward always runs in the calling thread.
    """

    enabled = True  #: for all threads

    def __init__(self, mode: bool):
        check_flags("set_multithreading_enabled", first=1, enabled=mode)
        kind = type(self)
        self.mode, self.before, kind.enabled = mode, kind.enabled, mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        type(self).enabled = self.before

    def clone(self) -> _Mode:
        """Return another context manager of the same mode (``torch.autograd.set_multithreading_enabled.clone``)."""
        return type(self)(self.mode)


class inference_mode(_Mode):
    """Records no derivatives and counts no versions; new tensors stay out of autograd (``torch.inference_mode``)."""

    mode: bool

    def __new__(cls, mode: Any = True) -> Any:
        made: Any = super().__new__(cls)
        made.mode = mode if isinstance(mode, bool) else True
        return made if isinstance(mode, bool) else made(mode)

    def __enter__(self) -> Any:
        self.before = (local.inference, local.grad_enabled)
        set_local("inference", self.mode)
        local.grad_enabled = not self.mode
        return self

    @leaving(state_of("inference", "grad_enabled"))
    def __exit__(self, *exc: object) -> None:
        set_local("inference", self.before[0])
        local.grad_enabled = self.before[1]

    def clone(self) -> _Mode:
        """Return another context manager of the same mode (``torch.inference_mode.clone``)."""
        made: _Mode = type(self)(self.mode)
        return made


#: Called before a graph that switches modes, returns a function that switches them back if the graph raises.
modes_before = state_of("grad_enabled", "inference", "autocast")


def _enter_inference_mode(mode: bool) -> Any:
    """Enter inference mode in a graph, and return it (``torch.autograd.grad_mode._enter_inference_mode``)."""
    return inference_mode(mode).__enter__()


def _exit_inference_mode(mode: Any) -> None:
    """Leave inference mode in a graph (``torch.autograd.grad_mode._exit_inference_mode``)."""
    mode.__exit__(None, None, None)


def _in_inference_mode(op: Operator, keys: int) -> Callable[..., Any]:
    """Return the function for inference mode: it records nothing and marks new tensors, except views of normal ones and
    their detached aliases.
    """
    keeps = op.packet == "detach"  # whether the result is an inference tensor if its input is one

    def call(*args: Any) -> Any:
        found = keys & ~(AUTOGRAD | INFERENCE)
        result = (op.table.get(found) or resolve(op, found))(*args)
        inputs = tensors_of(args)
        for tensor in tensors_of((result,)):
            base = tensor._base
            if base is not None and base._keys & INFERENCE:
                _leave_graph(tensor)  # a view of an inference tensor is not tracked as one
                base = None
            if base is None and not keeps and not any(tensor is given for given in inputs):
                tensor._keys |= INFERENCE
        return result

    return call


def on_inference_tensors(op: Operator, keys: int) -> Callable[..., Any]:
    """Return the function for inference tensors outside inference mode: they can be read, but not written."""

    reads = op.packet == "detach_" or not (op.is_inplace or op.is_out)

    def call(*args: Any) -> Any:
        refuses_gradients = op.is_out and keys & AUTOGRAD and local.grad_enabled  # below, for another reason
        if not reads and not refuses_gradients and any(tensor._keys & INFERENCE for tensor in written_of(op, args)):
            raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed.You can make a "
                               "clone to get a normal tensor before doing inplace update.")
        result = (op.table.get(keys) or resolve(op, keys))(*args)
        for tensor in tensors_of((result,)):
            if tensor._base is not None and tensor._base._keys & INFERENCE:
                _leave_graph(tensor)
                tensor._keys |= INFERENCE
        return result

    return call


def _leave_graph(view: Any) -> None:
    """Turn a view of an inference tensor into an independent tensor without derivatives."""
    view._base = view._creation_meta = view._grad_fn = None
    view._keys &= ~AUTOGRAD


def with_local_state(op: Operator, keys: int) -> Callable[..., Any]:
    """Return the function for a thread with autocast, a pipeline, dispatch modes or inference mode."""
    if any(mode.pre_dispatch for mode in local.dispatch_modes):
        return before_dispatch(op)
    if local.below_autograd:
        keys &= ~AUTOGRAD
    elif local.autocast is not None and (call := casting(op)) is not None:
        return call
    if local.pipeline is not None:
        record: Callable[..., Any] = local.pipeline.recorder(op, keys)
        return record
    if local.dispatch_modes:
        keys |= PYTHON
    return _in_inference_mode(op, keys) if local.inference else op.table.get(keys) or resolve(op, keys)
