"""``torch.compiler``: queries and settings of the compiler."""
from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, TypeVar

from ._base.interrupts import leaving
from ._compile.api import BACKENDS, compile, reset
from ._compile.function import STANCES, stance as _stance
from ._compile.recording import is_recording as _is_recording, recording as _recording

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
           "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance",
           "substitute_in_graph"]
__dir__ = __all__.copy
Function = TypeVar("Function", bound=Callable)


def is_compiling() -> bool:
    """Return True if the program runs to be recorded by ``torch.compile`` (``torch.compiler.is_compiling``)."""
    return _is_recording()


def is_dynamo_compiling() -> bool:
    """Return True if the program runs to be recorded by ``torch.compile`` (``torch.compiler.is_dynamo_compiling``)."""
    return _is_recording()


def is_exporting() -> bool:
    """Return True if the program is being exported, which is never so (``torch.compiler.is_exporting``)."""
    return False


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """List the compilers' names (``torch.compiler.list_backends``). Debugging backends make the same programs here, and
    are left out by default, as in PyTorch.
    """
    return [*BACKENDS[:1]] if "debug" in (exclude_tags or ()) else sorted(BACKENDS)


def cudagraph_mark_step_begin() -> None:
    """Do nothing: there are no CUDA graphs (``torch.compiler.cudagraph_mark_step_begin``)."""


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Exclude a function from compilation: a compiled function that calls it runs uncompiled. Without ``fn``, return a
    decorator (``torch.compiler.disable``).
    """
    if fn is None:
        return lambda function: disable(function, recursive, reason=reason)

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if (found := _recording()) is not None:
            name = getattr(fn, "__qualname__", type(fn).__name__)
            found.stop(f"{name} is marked by torch.compiler.disable" + (f": {reason}" if reason else ""))
        return fn(*args, **kwargs)

    return call


def allow_in_graph(fn: Function) -> Function:
    """Return the function, which no compiler looks into (``torch.compiler.allow_in_graph``).

    Raises:
        AssertionError: if it cannot be called.
    """
    assert callable(fn), "allow_in_graph expects a callable"
    return fn


def assume_constant_result(fn: Function) -> Function:
    """Return the function, which is called each time (``torch.compiler.assume_constant_result``)."""
    return fn


def substitute_in_graph(original_fn: Callable[..., Any], **options: Any) -> Callable[[Function], Function]:
    """Decorate a function that a compiler would read in place of ``original_fn``
    (``torch.compiler.substitute_in_graph``).
    """
    return lambda function: function


class set_stance(ContextDecorator):
    """When compiled functions of this thread are compiled (again): ``default``, ``force_eager``, ``eager_on_recompile``
    or ``fail_on_recompile``; a setting, a ``with`` block or a decorator (``torch.compiler.set_stance``).

    Raises:
        RuntimeError: if there is no such stance.
    """

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False,
                 force_backend: Any = None) -> None:
        if stance not in STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")
        self.stance, self.before = stance, _stance.name
        _stance.name = stance

    def __enter__(self) -> None:
        _stance.name = self.stance

    @leaving(lambda block: lambda gone: block.__exit__())
    def __exit__(self, *exc: object) -> None:
        _stance.name = self.before

    def __call__(self, func: Any) -> Any:
        """Decorate a function, in whose calls alone the stance holds."""
        _stance.name = self.before
        return super().__call__(func)
