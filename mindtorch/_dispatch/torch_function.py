"""``__torch_function__``: who is asked before a function that users call runs.

That is a ``TorchFunctionMode`` of the thread, or an argument whose class has the method: a subclass of tensors, or a
class that has nothing to do with them. Functions of operators ask where they bind arguments of types that they have not
met; Python's operators where the dispatcher finds the ``TorchFunction`` key; the other functions, methods and
attributes by ``overridable`` and by ``Overridable``.
"""
from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType
from typing import Any

from .._base import formats
from .._base.call_site import outside
from .._base.interrupts import leaving
from .._base.size import Size
from .._device import device
from .._dtype import DType
from . import dispatcher
from .dispatcher import TENSOR_TYPES, set_mode, state_of
from .keys import FUNCTION
from .local import local

SUBCLASSES_OFF, ALL_OFF = 1, 2
#: Classes that are never asked, so that a set operation tells of most arguments that there is nobody to ask.
PLAIN: set[type] = {bool, int, float, complex, str, type(None), DType, Size, device, formats.layout,
                    formats.memory_format}
#: How many ``TorchFunctionMode`` blocks there are, of all threads; the dispatch key is set while there are any.
_modes = 0


def disabled_torch_function(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The ``__torch_function__`` of a class that is not asked (``torch._C._disabled_torch_function_impl``)."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def overrides(kind: Any) -> bool:
    """Whether the objects of a class are asked."""
    found = getattr(kind, "__torch_function__", None)
    return found is not None and found is not disabled_torch_function


def overriding(values: Iterable[Any]) -> list[Any]:
    """The values to ask: one of each class, subclasses before the classes that they derive from."""
    found: list[Any] = []
    for value in values:
        kind = value.__class__
        if kind in PLAIN:
            continue
        if kind is list or kind is tuple:
            items = [] if PLAIN.issuperset(map(type, value)) else overriding(value)
        else:
            items = [value] if overrides(kind) and not isinstance(value, type) else []
        for item in items:
            if all(type(item) is not type(other) for other in found):
                insert(found, item)
    return found


def insert(found: list[Any], value: Any) -> None:
    """Put a value before those of classes that its class derives from."""
    at = next((i for i, other in enumerate(found) if issubclass(type(value), type(other))), len(found))
    found.insert(at, value)


def asked(args: Iterable[Any], kwargs: dict[str, Any]) -> list[Any] | None:
    """Whom to ask before a function runs with these arguments: the values to ask, none of them if there is only a mode;
    None if there is nobody.
    """
    if local.function_off == ALL_OFF:
        return None
    found = [] if local.function_off else overriding((*args, *kwargs.values()) if kwargs else args)
    return found if found or local.function_modes else None


def handle(function: Any, found: list[Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """What the first that does not return ``NotImplemented`` makes of a call: the mode, then these values.

    Raises:
        TypeError: if all of them return it.
    """
    types, modes = tuple(map(type, found)), local.function_modes
    if modes:
        local.function_modes = modes[:-1]
        try:
            result = modes[-1].__torch_function__(function, types, args, kwargs)
        finally:
            local.function_modes = modes
        if result is not NotImplemented:
            return result
    for value in found:
        method = value.__torch_function__
        if getattr(method, "__self__", None) is value:
            warnings.warn("Defining your `__torch_function__` as a plain method is deprecated and will be an error in "
                          "future, please define it as a classmethod.",
                          UserWarning if hasattr(function, "packet") else DeprecationWarning, stacklevel=outside())
        result = method(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise refused(f"torch.{getattr(function, '__qualname__', function)}", "__torch_function__", modes, types)


def refused(name: str, protocol: str, modes: tuple[Any, ...], types: tuple[type, ...]) -> TypeError:
    """The error of a call that everybody who was asked has returned ``NotImplemented`` for."""
    lines = ([f"  - mode object {modes[-1]}"] if modes else []) + [f"  - tensor subclass {kind}" for kind in types]
    return TypeError(f"Multiple dispatch failed for '{name}'; all {protocol} handlers returned NotImplemented:\n\n"
                     + "\n".join(lines) + "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented")


def check_plain_method(mode: Any, name: str) -> None:
    """Raise RuntimeError for a mode whose method is one of its class, which has no instance to be called with."""
    if isinstance(inspect.getattr_static(mode, name), classmethod):
        raise RuntimeError(f"Defining your mode's `{name}` as a classmethod is not supported, please make it a plain "
                           "method")


def overridable(function: Callable[..., Any], creates: bool = False) -> Any:
    """A function that is written in Python, and asks before it runs: only a mode if it ``creates`` a tensor from what
    are no tensors.
    """
    if getattr(function, "overridable", False):
        return function

    def ask(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = asked(args, kwargs)
        return function(*args, **kwargs) if found is None else handle(call, found, args, kwargs)

    def call(*args: Any, **kwargs: Any) -> Any:
        if dispatcher.mode & FUNCTION or (kwargs and not PLAIN.issuperset(map(type, kwargs.values()))):
            return ask(args, kwargs)
        if not PLAIN.issuperset(map(type, args)):
            for arg in args:
                kind = arg.__class__
                if kind not in PLAIN and not ((kind is tuple or kind is list) and PLAIN.issuperset(map(type, arg))):
                    return ask(args, kwargs)
        return function(*args, **kwargs)

    def create(*args: Any, **kwargs: Any) -> Any:
        return ask(args, kwargs) if dispatcher.mode & FUNCTION else function(*args, **kwargs)

    call = functools.wraps(function)(create if creates else call)
    call.overridable = True  # type: ignore[attr-defined]
    return call


def overridable_names(namespace: dict[str, Any], names: Iterable[str], creates: bool = False) -> None:
    """Have the functions of a namespace that are written in Python ask before they run; also where they are defined."""
    for name in names:
        function = namespace[name]
        if isinstance(function, FunctionType) and not hasattr(function, "packet"):
            namespace[name] = overridable(function, creates)
            setattr(sys.modules[function.__module__], name, namespace[name])


#: The methods of Python's operators after whose TypeError Python asks the other operand.
LEFT_TO_THE_OTHER = frozenset({"__pow__", "__ipow__", "__floordiv__", *(f"__r{name}__" for name in (
    "sub", "div", "truediv", "mod", "pow", "floordiv", "lshift", "rshift", "matmul"))})


def offered(name: str, function: Callable[[], Any], swapped: bool = False) -> Callable[..., Any]:
    """What an operator's entry is made with, so that its calls are calls of the method of that name, which is found
    later, and may take the two arguments in the other order.
    """

    def offer(inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            found = asked(args, {})
            if found is None:
                return inner(*args)
            try:
                return handle(function(), found, args[::-1] if swapped else args, {})
            except TypeError:  # of which these methods of PyTorch's make NotImplemented, whoever raises it
                if name not in LEFT_TO_THE_OTHER:
                    raise
                return NotImplemented

        return call

    return offer


# -- methods and attributes of tensors ---------------------------------------------------------------------------------


class _Method:
    """A method of tensors that asks first, also where it is fetched from the class."""

    def __init__(self, name: str, function: Any):
        @functools.wraps(function)
        def asking(*args: Any, **kwargs: Any) -> Any:
            found = asked(args, kwargs)
            return function(*args, **kwargs) if found is None else handle(asking, found, args, kwargs)

        asking.__module__ = __name__.replace("_dispatch.torch_function", "_tensor")
        asking.__qualname__ = f"Tensor.{name}"  # by which it is pickled
        self.function, self.asking = function, asking

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.asking if instance is None else MethodType(self.asking, instance)


class _Attribute:
    """An attribute of tensors that asks first: for ``shape``, whether to call ``Tensor.shape.__get__``."""

    def __init__(self, attribute: Any):
        self.attribute = attribute

    def _ask(self, access: Callable[..., Any], *args: Any) -> Any:
        found = asked(args[:1], {})
        return access(*args) if found is None else handle(access, found, args, {})

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.attribute if instance is None else self._ask(self.attribute.__get__, instance)

    def __set__(self, instance: Any, value: Any) -> None:
        self._ask(self.attribute.__set__, instance, value)

    def __delete__(self, instance: Any) -> None:
        self._ask(self.attribute.__delete__, instance)


class Overridable:
    """What stands before ``Tensor`` in the order of the bases of a subclass that is asked: its methods and attributes
    ask first, and those of ``Tensor`` cost nothing more. While there is a ``TorchFunctionMode``, ``Tensor`` has them
    itself.
    """


#: Methods of the language that are asked for; what makes, copies and describes classes is not.
LANGUAGE = frozenset({
    "__getitem__", "__setitem__", "__delitem__", "__len__", "__contains__", "__bool__", "__int__", "__float__",
    "__complex__", "__index__", "__repr__", "__format__", "__array__", "__deepcopy__", "__reduce_ex__",
    "__setstate__", "__dlpack__", "__dlpack_device__", "__reversed__", "__array_wrap__"})
#: What is not asked for, as PyTorch does not.
UNASKED = frozenset({"as_subclass", "solve", "lstsq", "eig", "symeig"})
_replaced: dict[str, Any] = {}


def own(tensor: type) -> dict[str, Any]:
    """What tensors have of methods and attributes, whether there is a mode or not."""
    return {**tensor.__dict__, **_replaced}


def asks(name: str, value: Any) -> bool:
    """Whether this is a method or an attribute of tensors that is no function of an operator, and is asked for."""
    return ((name[0] != "_" or name in LANGUAGE) and name not in UNASKED
            and isinstance(value, (FunctionType, property)) and not hasattr(value, "packet"))


def attributes(tensor: type) -> dict[str, Any]:
    """The methods and attributes of tensors that are no functions of operators, by name."""
    return {name: value for name, value in own(tensor).items() if asks(name, value)}


def complete(tensor: type) -> None:
    """Give ``Overridable`` what tensors have got since."""
    for name, value in attributes(tensor).items():
        if name not in Overridable.__dict__:
            setattr(Overridable, name, _Method(name, value) if isinstance(value, FunctionType) else _Attribute(value))


def of_class(name: str, function: Any) -> Any:
    """What ``Tensor.name`` is: the method as it asks, the same each time. A tensor's own calls take the shorter way."""
    method = Overridable.__dict__.get(name)
    if method is None or function not in (method.function, method.asking):  # a user has put another one there
        if not asks(name, function):
            return function
        method = _Method(name, function)
        setattr(Overridable, name, method)
    return method.asking


def order_of_bases(cls: type, order: list[type]) -> list[type]:
    """A tensor class's order of bases, with ``Overridable`` before ``Tensor`` if its objects are asked."""
    found = next((base.__dict__["__torch_function__"] for base in order if "__torch_function__" in base.__dict__), None)
    tensor = next((base for base in order[1:] if base in TENSOR_TYPES and TENSOR_TYPES.isdisjoint(base.__bases__)),
                  None)
    if tensor is None or Overridable in order or found is disabled_torch_function:
        return order
    complete(tensor)
    at = order.index(tensor)
    return [*order[:at], Overridable, *order[at:]]


# -- modes -------------------------------------------------------------------------------------------------------------


#: What functions remember of the types of their arguments, for modes to clear: then every call asks.
remembered: list[dict[Any, Any]] = []


def count_mode(tensor: type, change: int) -> None:
    """Note that a ``TorchFunctionMode`` was entered (1) or left (-1): with the first, everything asks."""
    global _modes
    with dispatcher._lock:
        _modes += change
        set_mode(FUNCTION, _modes > 0)
        if change > 0 and _modes == 1:
            for memory in remembered:
                memory.clear()
            complete(tensor)
            _replaced.update(attributes(tensor))
            for name in _replaced:
                setattr(tensor, name, Overridable.__dict__[name])
        elif not _modes:
            for name, value in _replaced.items():
                setattr(tensor, name, value)
            _replaced.clear()


class _Off:
    """A block with ``__torch_function__`` switched off in this thread."""

    state: int

    def __enter__(self) -> None:
        self.before, local.function_off = local.function_off, max(local.function_off, self.state)

    @leaving(state_of("function_off"))
    def __exit__(self, *exc: object) -> None:
        local.function_off = self.before


class DisableTorchFunctionSubclass(_Off):
    """A block in which classes are not asked, modes are (``torch._C.DisableTorchFunctionSubclass``)."""

    state = SUBCLASSES_OFF


class DisableTorchFunction(_Off):
    """A block in which nobody is asked (``torch._C.DisableTorchFunction``)."""

    state = ALL_OFF
