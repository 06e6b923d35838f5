"""Make factories: the public functions of operators that make tensors."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .._base.about import wrong_argument
from .._base.errors import NAMES
from .._dispatch.aten import copy_ as _copy_, resize_ as _resize_
from .._dispatch.binding import make_function
from .._dispatch.dispatcher import TENSOR_TYPES
from .._dispatch.factory import Factory, Write
from .._dispatch.registry import Operator
from .._dispatch.schemas import registry
from .._tensor import Method, Tensor


def factory(name: str, write: Write | None = None, **options: Any) -> Callable[..., Tensor]:
    """Make the function of a packet. It takes ``out`` if there is a function that writes into it."""
    function = make_function(name, packet=overloads(name, write, **options))
    function.__module__ = __package__  # where pickles find it
    return function


def overloads(name: str, write: Write | None = None, **options: Any) -> list[Operator]:
    """Return the overloads of a packet as the binder of its function takes them."""
    write = write and _checked(write)
    return [Factory(op, write, **options) if "device" in op.schema.positions else op for op in registry.packets[name]]


def _checked(write: Write) -> Write:
    """Check ``out`` before a function writes into it, and have the values computed in its dtype."""

    def checked(factory: Factory, out: Any, given: dict[str, Any]) -> Any:
        if out.__class__ not in TENSOR_TYPES:
            raise wrong_argument(factory.packet, "out", "Tensor", out)
        if given["dtype"] not in (None, out._dtype):
            raise RuntimeError(f"dtype {NAMES[given['dtype'].name]} does not match dtype of out parameter "
                               f"({NAMES[out._dtype.name]})")
        return write(factory, out, {**given, "dtype": out._dtype})

    return checked


def copied(factory: Factory, out: Tensor, given: dict[str, Any]) -> Tensor:
    """Copy the values of a new tensor into ``out``, which takes its shape."""
    made = factory.op.call(*{**given, "device": out._device}.values())
    if out.shape != made.shape:
        _resize_(out, tuple(made.shape))
    return _copy_(out, made)


def options_of(factory: Callable[..., Any]) -> Callable[[Method], Method]:
    """Decorate a function to show its ``**options`` as the keywords of ``factory``."""

    def show(function: Method) -> Method:
        signature, more = inspect.signature(function), inspect.signature(factory).parameters.values()
        own = {name: p for name, p in signature.parameters.items() if p.kind != p.VAR_KEYWORD}
        given = [*own.values(), *(p for p in more if p.kind == p.KEYWORD_ONLY and p.name not in own)]
        function.__signature__ = signature.replace(parameters=given)  # type: ignore[attr-defined]
        return function

    return show
