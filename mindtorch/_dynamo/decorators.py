"""Functions that programs call to steer the compiler (``torch._dynamo.decorators``)."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from .._compile.modules import OptimizedModule
from .._compile.stance import stance_of_thread
from ..nn.module import Module
from . import trace_rules
from .exc import Break
from .marks import (
    _DimRange as _DimRange, mark_dynamic, mark_static, mark_static_address, mark_unbacked, maybe_mark_dynamic,
)
from .variables.autograd_functions import APPLY, apply
from .variables.base import ConstantVariable, Translator, Variable
from .variables.builtin import SPECIAL

Function = TypeVar("Function", bound=Callable[..., Any])


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Exclude a function from compilation: a compiled function breaks where it calls it. Without ``fn``, return a
    decorator (``torch.compiler.disable``).
    """
    if fn is None:
        return lambda function: disable(function, recursive, reason=reason)
    if isinstance(fn, Module):
        return OptimizedModule(fn, disable(fn.__call__, recursive, reason=reason))

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    call._torchdynamo_disable = True  # type: ignore[attr-defined]
    call._torchdynamo_disable_msg = reason  # type: ignore[attr-defined]
    call._torchdynamo_orig_callable = fn  # type: ignore[attr-defined]
    return call


_disable_dynamo = disable  # as the library itself calls it: ``torch._disable_dynamo``


def skip(fn: Any = None) -> Any:
    """Exclude a function itself from compilation (``torch._dynamo.skip``)."""
    return disable(fn, recursive=False)


def _each(table: set[int]) -> Callable[[Any], Any]:
    def mark(fn: Any) -> Any:
        if isinstance(fn, (list, tuple)):
            return [mark(one) for one in fn]
        assert callable(fn), f"{fn!r} is not callable"
        trace_rules.decide(table, fn)
        return fn

    return mark


def allow_in_graph(fn: Any) -> Any:
    """Make calls of a function nodes of the graph: the compiler does not look into it
    (``torch.compiler.allow_in_graph``).

    Raises:
        AssertionError: if it cannot be called.
    """
    return _each(trace_rules.allowed)(fn)


def nonstrict_trace(traceable_fn: Function) -> Function:
    """Make calls of a function nodes of the graph: the compiler does not look into it, a backend that traces does
    (``torch._dynamo.nonstrict_trace``). Its arguments and results may be nested containers of tensors.

    Raises:
        AssertionError: if it cannot be called.
    """
    @functools.wraps(traceable_fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return traceable_fn(*args, **kwargs)

    made: Function = allow_in_graph(call)
    return made


def disallow_in_graph(fn: Any) -> Any:
    """Break the graph where a function is called (``torch._dynamo.disallow_in_graph``).

    Raises:
        AssertionError: if it cannot be called.
    """
    return _each(trace_rules.disallowed)(fn)


def assume_constant_result(fn: Function) -> Function:
    """Call a function of constants while the caller is compiled, and take its result as fixed
    (``torch.compiler.assume_constant_result``).
    """
    def call(tx: Translator, *args: Variable, **kwargs: Variable) -> Variable:
        return tx.made(fn(*[arg.value for arg in args], **{key: arg.value for key, arg in kwargs.items()}))

    SPECIAL[id(fn)] = call
    return fn


def substitute_in_graph(original_fn: Callable[..., Any], **options: Any) -> Callable[[Function], Function]:
    """Decorate a function that the compiler reads in place of ``original_fn`` (``torch.compiler.substitute_in_graph``).
    """
    def decorate(function: Function) -> Function:
        trace_rules.substitutes[id(original_fn)] = function
        trace_rules.decide(set(), original_fn)
        return function

    return decorate


def graph_break(msg: str = "") -> None:
    """Divide the program here: what stands before and after is compiled (``torch._dynamo.graph_break``)."""


def is_compiling() -> bool:
    """Return True if the program is being compiled by ``torch.compile``, or exported
    (``torch.compiler.is_compiling``).
    """
    return stance_of_thread.exporting  # the interpreter reads the call as True


def is_exporting() -> bool:
    """Return True if the program is being exported by ``torch.export`` (``torch.compiler.is_exporting``)."""
    return stance_of_thread.exporting  # the interpreter reads the call as False


def skip_frame(msg: str = "") -> None:
    """Run the function that calls this as it is written (``torch._dynamo.skip_frame``)."""


def forbid_in_graph(fn: Any) -> Any:
    """Refuse to compile what calls a function (``torch._dynamo.forbid_in_graph``).

    Raises:
        AssertionError: if it cannot be called; from a compiled function, if that calls it.
    """
    if isinstance(fn, (list, tuple)):
        return [forbid_in_graph(one) for one in fn]
    assert callable(fn), f"{fn!r} is not callable"

    def call(tx: Translator, *args: Variable, **kwargs: Variable) -> Variable:
        raise AssertionError(f"forbidden callable {fn}")

    SPECIAL[id(fn)] = call
    return fn


def is_inductor_supported() -> bool:
    """Return True: programs run wherever NumPy does (``torch._dynamo.is_inductor_supported``)."""
    return True


def is_dynamo_compiling() -> bool:
    """Return True if the program is being compiled by ``torch.compile`` (``torch.compiler.is_dynamo_compiling``)."""
    return False  # the interpreter reads the call as True


def _break(tx: Translator, msg: Variable | None = None) -> Variable:
    text = "" if msg is None else msg.value
    raise Break(f"Call to `torch._dynamo.graph_break()`: {text!r}" if text else
                "Call to `torch._dynamo.graph_break()`")


def _skip(tx: Translator, msg: Variable | None = None) -> Variable:
    raise Break(f"Call to `torch._dynamo.skip_frame()`: {'' if msg is None else msg.value!r}", skip=True)


def _yes(tx: Translator) -> Variable:
    return ConstantVariable(True)


def _no(tx: Translator) -> Variable:
    return ConstantVariable(False)


def _nothing(tx: Translator, *args: Variable, **kwargs: Variable) -> Variable:
    return ConstantVariable(None)


def compiled_inside(tx: Translator, model: Variable | None = None, **options: Variable) -> Variable:
    """Read a call of ``torch.compile`` in a function that is being compiled: what it returns is part of that program.
    """
    return tx.made(_itself) if model is None else model


def _itself(model: Any) -> Any:
    return model


SPECIAL.update({id(APPLY): apply, id(graph_break): _break, id(is_compiling): _yes, id(is_dynamo_compiling): _yes,
                id(_itself): compiled_inside,
                id(is_exporting): _no, id(skip_frame): _skip,
                **{id(mark): _nothing for mark in (
                    mark_dynamic, mark_static, mark_static_address, mark_unbacked, maybe_mark_dynamic)}})
