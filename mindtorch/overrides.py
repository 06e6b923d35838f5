"""``torch.overrides``: the functions that ask ``__torch_function__``, and help for writing one."""
from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import FunctionType
from typing import Any

from ._base.interrupts import contextmanager, leaving, uninterrupted
from ._dispatch.dispatcher import switched
from ._dispatch.local import local
from ._dispatch.overloads import OpOverload, OpOverloadPacket
from ._dispatch.torch_function import (
    attributes, check_plain_method, count_mode, handle_torch_function, has_torch_function,
    has_torch_function_unary as has_torch_function_unary, has_torch_function_variadic as has_torch_function_variadic,
    own, redispatch_function,
)
from ._tensor import UNWRAPPED, Tensor

__all__ = ["BaseTorchFunctionMode", "TorchFunctionMode", "enable_reentrant_dispatch", "get_default_nowrap_functions",
           "get_ignored_functions", "get_overridable_functions", "get_testing_overrides", "handle_torch_function",
           "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like",
           "is_tensor_method_or_property", "redispatch_function", "resolve_name", "wrap_torch_function"]
__dir__ = __all__.copy


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """Decorate a function to ask the values that ``dispatcher`` returns for its arguments (``torch.overrides``)."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


# -- modes -------------------------------------------------------------------------------------------------------------


class TorchFunctionMode:
    """A block in which every call of the library's functions in this thread goes to
    ``__torch_function__(func, types, args, kwargs)`` (``torch.overrides.TorchFunctionMode``). While the method runs,
    the mode is not active.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run in place of a function."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        check_plain_method(self, "__torch_function__")
        with uninterrupted():
            count_mode(Tensor, 1)
            local.function_modes = (*local.function_modes, self)
        return self

    @leaving(lambda mode: partial(_leave_modes, local.function_modes))
    def __exit__(self, *exc: Any) -> None:
        _leave_modes(local.function_modes[:-1])

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchFunctionMode:
        """Return an instance, to be entered."""
        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)


def _leave_modes(outer: tuple[Any, ...], gone: Any = None) -> None:
    """Have only the modes outside of a block be active."""
    with uninterrupted():
        for _ in local.function_modes[len(outer):]:
            count_mode(Tensor, -1)
        local.function_modes = outer


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that calls every function as it is (``torch.overrides.BaseTorchFunctionMode``)."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the function."""
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> TorchFunctionMode | None:
    return local.function_modes[-1] if local.function_modes else None


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    return list(local.function_modes)


@contextmanager
def _pop_mode_temporarily() -> Iterator[TorchFunctionMode]:
    modes = local.function_modes
    with switched(function_modes=modes[:-1]):
        yield modes[-1]


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Run a block of a ``__torch_dispatch__`` whose calls record derivatives (``torch.overrides``)."""
    with switched(below_autograd=False):
        yield


# -- what asks ---------------------------------------------------------------------------------------------------------

#: The namespaces whose functions ask, below the package.
NAMESPACES = ("functional", "", "nn.functional", "linalg", "fft", "special")


def _is_overridable(value: Any) -> bool:
    return isinstance(value, FunctionType) and (hasattr(value, "packet") or hasattr(value, "overridable"))


def _methods() -> list[tuple[str, Any]]:
    """Return the methods of tensors that ask, and of their attributes ``__get__``, by name."""
    asking = attributes(Tensor)
    found = [(name, value) for name, value in own(Tensor).items()
             if name in asking or hasattr(value, "packet")
             or (name[:2] == "__" and isinstance(value, FunctionType)
                 and (value.__module__ or "").endswith("._methods.api"))]
    return [(name, value.__get__ if isinstance(value, property) else getattr(Tensor, name)) for name, value in found]


def _names() -> dict[Any, str]:
    """Return the functions that ask, with their names as PyTorch's users know them."""
    names: dict[Any, str] = {}
    for below in NAMESPACES:
        module = _module(below)
        for name in getattr(module, "__all__", ()):
            if _is_overridable(value := getattr(module, name)):
                names.setdefault(value, f"torch.{below and below + '.'}{name}")
    for name, value in _methods():
        names.setdefault(value, f"torch.Tensor.{name}{'' if isinstance(value, FunctionType) else '.__get__'}")
    return names


def _module(below: str) -> Any:
    package = sys.modules[__package__ or "mindtorch"]
    return functools.reduce(getattr, below.split("."), package) if below else package


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Return the functions that ask, by the namespace or class that they are in (``torch.overrides``)."""
    found: dict[Any, list[Callable[..., Any]]] = {}
    for function, name in _names().items():
        path = name.split(".")[1:-1]
        if path[:1] == ["Tensor"]:
            found.setdefault(Tensor, []).append(function)
        else:
            found.setdefault(_module(".".join(path)), []).append(function)
    return found


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Return the functions of these namespaces that do not ask (``torch.overrides.get_ignored_functions``)."""
    names = _names()
    spaces = [*map(_module, NAMESPACES), Tensor]
    return {value for space in spaces for name in dir(space)
            if isinstance(value := getattr(space, name), FunctionType) and value not in names}


@functools.cache
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Map each function that asks to one that takes the same arguments and returns -1 (``torch.overrides``)."""
    found = {}
    for function in _names():
        def override(*args: Any, **kwargs: Any) -> int:
            return -1

        shown = inspect.signature(function if isinstance(function, FunctionType) else lambda self: -1)
        override.__signature__ = shown  # type: ignore[attr-defined]
        found[function] = override
    return found


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Return the functions whose results are never converted to a subclass (``torch.overrides``)."""
    return UNWRAPPED


def resolve_name(f: Callable[..., Any]) -> str | None:
    """Return the public name of a function that asks: 'torch.Tensor.add' (``torch.overrides.resolve_name``)."""
    if isinstance(f, (OpOverload, OpOverloadPacket)):
        return str(f)
    return _names().get(f)


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Return True if a function is a method of tensors, or the ``__get__`` of an attribute (``torch.overrides``)."""
    return getattr(func, "__name__", "") == "__get__" or any(func is value for _, value in _methods())


def is_tensor_like(inp: Any) -> bool:
    """Return True if a value is a tensor, or of a class that has a ``__torch_function__`` (``torch.overrides``)."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


