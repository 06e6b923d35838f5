"""Calls of functions and modules as a program writes them, of either library: both have the same modes and hooks."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from ..._base.interrupts import contextmanager
from ..library import CallObserver, ModuleObserver


@contextmanager
def observing_calls(mode: type, hooks: Any, observer: CallObserver,
                    quietly: Callable[..., Any] = lambda function: function) -> Iterator[None]:
    """Report a block's calls. ``mode`` is ``TorchFunctionMode``, ``hooks`` has the functions that register hooks, and
    ``quietly`` wraps reports of results.
    """
    returned = quietly(observer.returned)

    class Calls(mode):
        """Reports calls of functions; those that a function makes itself are not reported."""

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            observer.called(func)
            try:
                result = func(*args, **kwargs)
            except BaseException as error:
                returned(func, (args, kwargs), None, error)
                raise
            returned(func, (args, kwargs), result)
            return result

    with observing_modules(hooks, observer, quietly), Calls():
        yield


@contextmanager
def observing_modules(hooks: Any, observer: ModuleObserver,
                      quietly: Callable[..., Any] = lambda function: function) -> Iterator[None]:
    """Report a block's calls of modules, as ``observing_calls`` does."""
    with ExitStack() as block:
        for handle in (hooks.register_module_forward_pre_hook(observer.entered),
                       hooks.register_module_forward_hook(quietly(observer.left), always_call=True)):
            block.callback(handle.remove)
        yield
