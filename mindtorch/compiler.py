"""``torch.compiler``: what programs ask of a compiler and tell it. Nothing is compiled here, and this says so: the
answers are no, and what marks a function for the compiler returns it as it is.
"""
from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, TypeVar

__all__ = ["allow_in_graph", "assume_constant_result", "cudagraph_mark_step_begin", "disable", "is_compiling",
           "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance", "substitute_in_graph"]
__dir__ = __all__.copy
Function = TypeVar("Function", bound=Callable)


def is_compiling() -> bool:
    """Whether a compiler reads the program, which is never so (``torch.compiler.is_compiling``)."""
    return False


def is_dynamo_compiling() -> bool:
    """Whether TorchDynamo reads the program, which is never so (``torch.compiler.is_dynamo_compiling``)."""
    return False


def is_exporting() -> bool:
    """Whether the program is being exported, which is never so (``torch.compiler.is_exporting``)."""
    return False


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names of the compilers: there are none (``torch.compiler.list_backends``)."""
    return []


def reset() -> None:
    """Forget what was compiled, which is nothing (``torch.compiler.reset``)."""


def cudagraph_mark_step_begin() -> None:
    """Mark where a step begins, for graphs of CUDA's, of which there are none
    (``torch.compiler.cudagraph_mark_step_begin``).
    """


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return a function that is not compiled: the function itself; without one, a decorator
    (``torch.compiler.disable``).
    """
    return (lambda function: function) if fn is None else fn


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
    """A decorator of what a compiler would read in place of ``original_fn``
    (``torch.compiler.substitute_in_graph``).
    """
    return lambda function: function


class set_stance(ContextDecorator):
    """When compiled functions are compiled again: a setting, a ``with`` block or a decorator, without effect for want
    of such functions (``torch.compiler.set_stance``).
    """

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False,
                 force_backend: Any = None) -> None:
        self.stance = stance

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass
