"""``__torch_function__``: handlers that are asked before a public function runs.

A handler is the thread's ``TorchFunctionMode``, or an argument whose class defines the method (a tensor subclass or an
unrelated class). Operators' functions ask while they bind argument types that are not cached. Python's operators ask if
the dispatcher finds the ``TorchFunction`` key. Other functions, methods and attributes ask through ``overridable`` and
``Overridable``.
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
#: Classes without a handler: one set operation clears most arguments.
PLAIN: set[type] = {bool, int, float, complex, str, slice, type(None), type(Ellipsis), DType, Size, device,
                    formats.layout, formats.memory_format}
#: The number of ``TorchFunctionMode`` blocks in all threads; the dispatch key is set while there are any.
_modes = 0


MISSING = object()  #: an argument that is not given, of functions that are written out for few


def present(*args: Any) -> tuple[Any, ...]:
    """Return the arguments that are given."""
    return tuple([arg for arg in args if arg is not MISSING])


def disabled_torch_function(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Call the function without classes' ``__torch_function__`` (``torch._C._disabled_torch_function_impl``)."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def overrides(kind: Any) -> bool:
    """Return True if a class defines its own ``__torch_function__``."""
    found = getattr(kind, "__torch_function__", None)
    return found is not None and found is not disabled_torch_function


def overriding(values: Iterable[Any]) -> list[Any]:
    """Return the values to ask: one of each class, subclasses before their bases."""
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
    """Insert a value before those whose classes are bases of its class."""
    at = next((i for i, other in enumerate(found) if issubclass(type(value), type(other))), len(found))
    found.insert(at, value)


def asked(args: Iterable[Any], kwargs: dict[str, Any]) -> list[Any] | None:
    """Return the values to ask before a function runs, an empty list if only a mode is to be asked, or None."""
    if local.function_off == ALL_OFF:
        return None
    if local.function_skipped:
        local.function_skipped = False
        return None
    found = [] if local.function_off else overriding((*args, *kwargs.values()) if kwargs else args)
    return found if found or local.function_modes else None


def handle(function: Any, found: list[Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """Return the first result that is not ``NotImplemented``: the mode's, then those of the values' classes.

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
    """Return the error for a call for which all handlers returned ``NotImplemented``."""
    lines = ([f"  - mode object {modes[-1]}"] if modes else []) + [f"  - tensor subclass {kind}" for kind in types]
    return TypeError(f"Multiple dispatch failed for '{name}'; all {protocol} handlers returned NotImplemented:\n\n"
                     + "\n".join(lines) + "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented")


def check_plain_method(mode: Any, name: str) -> None:
    """Raise RuntimeError if a mode defines its method as a classmethod, which would not receive the mode."""
    if isinstance(inspect.getattr_static(mode, name), classmethod):
        raise RuntimeError(f"Defining your mode's `{name}` as a classmethod is not supported, please make it a plain "
                           "method")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return True if a mode or one of these values has a ``__torch_function__`` to call (``torch.overrides``)."""
    if not isinstance(relevant_args, Iterable):
        raise TypeError(f"expected a sequence, got {type(relevant_args).__name__}")
    return asked([value for value in relevant_args if not isinstance(value, (list, tuple))], {}) is not None


def has_torch_function_unary(obj: Any) -> bool:
    """Apply ``has_torch_function`` to one value (``torch.overrides.has_torch_function_unary``)."""
    return asked((obj,), {}) is not None


def has_torch_function_variadic(*args: Any) -> bool:
    """Apply ``has_torch_function`` to several values (``torch.overrides.has_torch_function_variadic``)."""
    return has_torch_function(args)


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any,
                          **kwargs: Any) -> Any:
    """Have the mode, or the first of these values that wants it, do a call (``torch.overrides.handle_torch_function``).
    Raises TypeError if all return ``NotImplemented``.
    """
    return handle(public_api, overriding(relevant_args), args, kwargs)


def overridable(function: Callable[..., Any], creates: bool = False, refuses: bool = False,
                switch: Callable[[Iterable[Any]], bool] = has_torch_function) -> Any:
    """Wrap a Python function to ask handlers first; only a mode, if it ``creates`` a tensor of other values, but values
    too where it ``refuses`` them, as sizes that are proxies of FX. A ``switch`` that returns False for the values has
    the function run.
    """
    if getattr(function, "overridable", False):
        return function
    in_python = "functional" in function.__module__.split(".")  # in PyTorch, other functions are in C++

    def ask(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = asked(args, kwargs)
        if found is None or not switch(found):
            return function(*args, **kwargs)
        return handle(call, found, *(in_full(function, args, kwargs) if in_python else (args, kwargs)))

    def call(first: Any = MISSING, second: Any = MISSING, /, *more: Any, **kwargs: Any) -> Any:
        if not (kwargs or more or dispatcher.mode & FUNCTION) and first.__class__ in PLAIN:
            if second is MISSING:
                return function(first)
            if second.__class__ in PLAIN:
                return function(first, second)
        args = (first,) if second is MISSING is not first else present(first, second, *more)
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

    def create_or_ask(*args: Any, **kwargs: Any) -> Any:
        try:
            return create(*args, **kwargs)
        except Exception:
            if not (found := asked(args, kwargs)):
                raise
        return handle(call, found, args, kwargs)

    call = functools.wraps(function)(create_or_ask if refuses else create if creates else call)
    call.overridable = True  # type: ignore[attr-defined]
    return call


def in_full(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the arguments as PyTorch's Python functions hand them on: those with defaults by keyword, and all."""
    signature = inspect.signature(function)
    parameters = signature.parameters.values()
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        options = {parameter.name: parameter.default for parameter in parameters
                   if parameter.kind is parameter.KEYWORD_ONLY and parameter.name != "out"}
        return args, {**options, **kwargs}
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    required = [parameter.name for parameter in parameters
                if parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY]
    values = bound.arguments
    return tuple(values.pop(name) for name in required), values


def overridable_names(namespace: dict[str, Any], names: Iterable[str], creates: bool = False,
                      refuses: bool = False) -> None:
    """Wrap the Python functions among a namespace's names to ask handlers; replace them in their own modules, too. A
    ``has_torch_function`` that replaces the namespace's own decides for them, as it does in PyTorch.
    """
    def switch(found: Iterable[Any]) -> bool:
        return bool(namespace.get("has_torch_function", has_torch_function)(found))

    for name in names:
        function = namespace[name]
        if isinstance(function, FunctionType) and not hasattr(function, "packet"):
            namespace[name] = overridable(function, creates, refuses, switch)
            setattr(sys.modules[function.__module__], name, namespace[name])


#: Operator methods whose TypeError makes Python try the other operand.
LEFT_TO_THE_OTHER = frozenset({"__pow__", "__ipow__", "__floordiv__", *(f"__r{name}__" for name in (
    "sub", "div", "truediv", "mod", "pow", "floordiv", "lshift", "rshift", "matmul"))})


def offered(name: str, function: Callable[[], Any], swapped: bool = False) -> Callable[..., Any]:
    """Return the ``offer`` for an operator's entry: handlers are asked in the name of the method ``function()``, with
    the two arguments exchanged if ``swapped``.
    """

    def offer(inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            found = asked(args, {})
            if found is None:
                return inner(*args)
            try:
                return handle(function(), found, args[::-1] if swapped else args, {})
            except TypeError:  # these methods of PyTorch turn any TypeError into NotImplemented
                if name not in LEFT_TO_THE_OTHER:
                    raise
                return NotImplemented

        return call

    return offer


# -- methods and attributes of tensors ---------------------------------------------------------------------------------


class _Method:
    """A method of tensors that asks handlers first, also if fetched from the class."""

    def __init__(self, name: str, function: Any):
        @functools.wraps(function)
        def asking(*args: Any, **kwargs: Any) -> Any:
            found = asked(args, kwargs)
            return function(*args, **kwargs) if found is None else handle(asking, found, args, kwargs)

        asking.__module__ = __name__.replace("_dispatch.torch_function", "_tensor")
        asking.__qualname__ = f"Tensor.{name}"  # for pickle
        self.function, self.asking = function, asking

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.asking if instance is None else MethodType(self.asking, instance)


class _Attribute:
    """An attribute of tensors that asks handlers first: for ``shape``, in the name of ``Tensor.shape.__get__``."""

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
    """The base that precedes ``Tensor`` in the method resolution order of a subclass with a handler. Its methods and
    attributes ask first, so those of ``Tensor`` cost nothing more. During a ``TorchFunctionMode``, ``Tensor`` itself
    has them.
    """


#: Special methods that ask handlers; those that construct, copy or describe classes do not.
LANGUAGE = frozenset({
    "__getitem__", "__setitem__", "__delitem__", "__len__", "__contains__", "__bool__", "__int__", "__float__",
    "__complex__", "__index__", "__repr__", "__format__", "__array__", "__deepcopy__", "__reduce_ex__",
    "__setstate__", "__dlpack__", "__dlpack_device__", "__reversed__", "__array_wrap__"})
#: Names that do not ask handlers, as in PyTorch.
UNASKED = frozenset({"as_subclass", "solve", "lstsq", "eig", "symeig"})
_replaced: dict[str, Any] = {}


def own(tensor: type) -> dict[str, Any]:
    """Return the original methods and attributes of tensors, whether there is a mode or not."""
    return {**tensor.__dict__, **_replaced}


def asks(name: str, value: Any) -> bool:
    """Return True if this method or attribute of tensors asks handlers and does not belong to an operator."""
    return ((name[0] != "_" or name in LANGUAGE) and name not in UNASKED
            and isinstance(value, (FunctionType, property)) and not hasattr(value, "packet"))


def attributes(tensor: type) -> dict[str, Any]:
    """Return the methods and attributes of tensors that ask handlers and do not belong to an operator, by name."""
    return {name: value for name, value in own(tensor).items() if asks(name, value)}


def complete(tensor: type) -> None:
    """Add methods and attributes to ``Overridable`` that tensors have gained since."""
    for name, value in attributes(tensor).items():
        if name not in Overridable.__dict__:
            setattr(Overridable, name, _Method(name, value) if isinstance(value, FunctionType) else _Attribute(value))


def replaced(name: str, value: Any) -> None:
    """Let handlers see the method or attribute that a user has put in the place of another."""
    before = Overridable.__dict__.get(name)
    if before is not None and not isinstance(value, (_Method, _Attribute)) and value not in vars(before).values():
        delattr(Overridable, name)
        if asks(name, value):
            setattr(Overridable, name, _Method(name, value) if isinstance(value, FunctionType) else _Attribute(value))


def of_class(name: str, function: Any) -> Any:
    """Return ``Tensor.name`` as fetched from the class: the asking method, always the same object."""
    method = Overridable.__dict__.get(name)
    if method is None or function not in (method.function, method.asking):  # a user has replaced it
        if not asks(name, function):
            return function
        method = _Method(name, function)
        setattr(Overridable, name, method)
    return method.asking


def order_of_bases(cls: type, order: list[type]) -> list[type]:
    """Return a class's method resolution order, with ``Overridable`` before ``Tensor`` if it has a handler."""
    found = next((base.__dict__["__torch_function__"] for base in order if "__torch_function__" in base.__dict__), None)
    tensor = next((base for base in order[1:] if base in TENSOR_TYPES and TENSOR_TYPES.isdisjoint(base.__bases__)),
                  None)
    if tensor is None or Overridable in order or found is disabled_torch_function:
        return order
    complete(tensor)
    at = order.index(tensor)
    return [*order[:at], Overridable, *order[at:]]


def note_handler(kind: type) -> None:
    """Note for the callers of operators whether a class has a handler."""
    (PLAIN.discard if overrides(kind) else PLAIN.add)(kind)


def handler_changed(cls: type) -> None:
    """Make the order of the bases anew, for a class and its subclasses, after ``__torch_function__`` was assigned."""
    cls.__bases__ = cls.__bases__
    changed = [cls]
    for kind in changed:
        note_handler(kind)
        changed += type.__subclasses__(kind)
    forget_binders()


# -- modes -------------------------------------------------------------------------------------------------------------


#: Caches of binders by argument types. Entering the first mode clears them: then every call asks.
remembered: list[dict[Any, Any]] = []


def forget_binders() -> None:
    """Choose binders anew, which ask handlers or not, for all types of arguments."""
    for memory in remembered:
        memory.clear()


def count_mode(tensor: type, change: int) -> None:
    """Record that a ``TorchFunctionMode`` was entered (1) or left (-1). With the first, all methods of tensors ask."""
    global _modes
    with dispatcher._lock:
        _modes += change
        set_mode(FUNCTION, _modes > 0)
        if change > 0 and _modes == 1:
            forget_binders()
            complete(tensor)
            _replaced.update(attributes(tensor))
            for name in _replaced:
                setattr(tensor, name, Overridable.__dict__[name])
        elif not _modes:
            for name, value in _replaced.items():
                setattr(tensor, name, value)
            _replaced.clear()


class _Off:
    """A block in which ``__torch_function__`` is switched off in this thread."""

    state: int

    def __enter__(self) -> None:
        self.before, local.function_off = local.function_off, max(local.function_off, self.state)

    @leaving(state_of("function_off"))
    def __exit__(self, *exc: object) -> None:
        local.function_off = self.before


class DisableTorchFunctionSubclass(_Off):
    """A block in which modes are asked but classes are not (``torch._C.DisableTorchFunctionSubclass``)."""

    state = SUBCLASSES_OFF


class DisableTorchFunction(_Off):
    """A block in which no handler is asked (``torch._C.DisableTorchFunction``)."""

    state = ALL_OFF


def redispatch_function(func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """Call a function without asking handlers for it; calls inside of it ask them, if it is a Python function in
    PyTorch (``torch.overrides.redispatch_function``).
    """
    module = (getattr(func, "__module__", None) or __package__).split(".")
    if module[0] == __package__.split(".")[0] and "functional" not in module:
        with DisableTorchFunction():
            return func(*args, **(kwargs or {}))
    before, local.function_skipped = local.function_skipped, True
    try:
        return func(*args, **(kwargs or {}))
    finally:
        local.function_skipped = before
