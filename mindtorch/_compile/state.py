"""The Python state that a call can read: values reached from its function, its arguments and the globals that its code
names. Guards compare it before every call, so that a change of ``self.training``, a closure or a global is noticed.
"""
from __future__ import annotations

import enum
import functools
import inspect
import re
import types
import weakref
from _collections import _tuplegetter
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from .._backends.random.generator import Generator
from .._base.formats import layout, memory_format
from .._base.size import Size
from .._device import device
from .._dispatch.dispatcher import TENSOR_TYPES
from .._dtype import DType
from .breaks import CannotCompile, is_library

LIBRARY = __name__.partition(".")[0]
MISSING = object()  #: stands for a name that does not exist
#: Values that never change and are compared by type and value.
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), range, slice, Size)
#: Values that never change, or whose changes do not affect results; they are compared by identity.
OPAQUE = (DType, device, layout, memory_format, Generator, enum.Enum, types.BuiltinFunctionType, types.ModuleType,
          types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType, np.ufunc, np.dtype,
          types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
          types.CodeType, types.GenericAlias, np.generic, _tuplegetter)
SEQUENCES = (list, tuple, set, frozenset, deque)
#: What a value of these types leads to; it cannot be replaced.
PARTS: dict[Any, Callable[[Any], tuple[Any, ...]]] = {
    functools.partial: lambda value: (value.func, value.args, value.keywords),
    staticmethod: lambda value: (value.__func__,), classmethod: lambda value: (value.__func__,),
    property: lambda value: (value.fget, value.fset),
    weakref.ref: lambda value: (value(),), weakref.KeyedRef: lambda value: (value(),),
}
MANY = 20_000  #: values: more would cost more to compare than a graph saves
WRITTEN_IN_PYTHON = 1 << 9  #: in a type's flags (CPython's Py_TPFLAGS_HEAPTYPE)
SMALL_ARRAY = 1 << 16  #: bytes of a NumPy array that is compared


def same(old: Any, new: Any) -> bool:
    """Return whether two values are the same object, or equal numbers or strings of one type."""
    if old is new:
        return True
    kind = old.__class__
    if kind is not new.__class__:
        return False
    if kind in (float, complex):
        return repr(old) == repr(new)
    if kind is tuple:
        return len(old) == len(new) and all(map(same, old, new))
    if kind is types.MethodType:
        return old.__self__ is new.__self__ and old.__func__ is new.__func__
    return kind in PLAIN and bool(old == new)


class Place:
    """A container such as a dictionary, a list or a closure's cell, and the values that it held."""

    __slots__ = ("path", "target", "read", "values", "ids")

    def __init__(self, path: str, target: Any, read: Callable[[Any], list[Any]]) -> None:
        self.path, self.target, self.read = path, target, read
        self.take(read(target))

    def take(self, values: list[Any]) -> None:
        """Store the values to compare with."""
        self.values, self.ids = values, [*map(id, values)]

    def holds(self) -> bool:
        """Return whether the container still holds equal values, and store them."""
        now = self.read(self.target)
        if [*map(id, now)] == self.ids:
            return True
        if len(now) != len(self.values) or not all(map(same, self.values, now)):
            return False
        self.take(now)
        return True


def items_of(target: Any) -> list[Any]:
    """Return a dictionary's keys and values."""
    return [*target, *target.values()]


def content_of(cell: Any) -> list[Any]:
    """Return the content of a closure's cell."""
    try:
        return [cell.cell_contents]
    except ValueError:
        return [MISSING]


class State:
    """The places found so far, and the tensors in them."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.objects: list[Any] = []  #: objects whose class may be reassigned
        self.tensors: list[tuple[Any, str]] = []
        self.on_tensor: Callable[[Any], None] = lambda tensor: None
        self._seen: dict[int, Any] = {}  # keeps the values alive, so that no id is reused

    def add(self, path: str, target: Any, read: Callable[[Any], list[Any]]) -> Place:
        """Watch a place."""
        place = Place(path, target, read)
        self.places.append(place)
        if len(self.places) > MANY:
            raise CannotCompile(f"{plainly(path)} is part of more Python state than guards can compare")
        return place

    def names(self, path: str, space: dict[str, Any], names: list[str]) -> None:
        """Watch some names of a dictionary such as a function's globals."""
        if not names:
            return
        place = self.add(path, space, lambda d: [d.get(name, MISSING) for name in names])
        for name, value in zip(names, place.values, strict=True):
            self.visit(value, f"{path}[{name!r}]")

    def visit(self, value: Any, path: str) -> None:
        """Watch everything that can be reached from a value.

        Raises:
            CannotCompile: if a change of it would not be noticed.
        """
        kind = value.__class__
        if kind in PLAIN or kind is object or isinstance(value, OPAQUE) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if kind in TENSOR_TYPES:
            self.tensors.append((value, path))
            self.on_tensor(value)
        elif isinstance(value, dict):
            for key, item in zip(value, self.add(path, value, items_of).values[len(value):], strict=True):
                self.visit(item, f"{path}[{key!r}]")
                self.visit(key, f"a key of {path}")
            if kind is not dict:
                self._attributes(value, path)
        elif isinstance(value, SEQUENCES):
            items = [*value] if kind in (tuple, frozenset) else self.add(path, value, list).values
            for number, item in enumerate(items):
                self.visit(item, f"{path}[{number}]")
            if kind not in SEQUENCES:
                self._attributes(value, path)
        elif kind is types.FunctionType:
            self._function(value, path)
        elif kind is types.MethodType:
            self.visit(value.__self__, f"{path}.__self__")
            self.visit(value.__func__, path)
        elif kind in PARTS:
            for part in PARTS[kind](value):
                self.visit(part, path)
        elif kind is types.MappingProxyType:
            self.add(path, value, items_of)
            for key, item in [*value.items()]:
                self.visit(item, f"{path}[{key!r}]")
        elif isinstance(value, type):
            self._class(value, path)
        elif kind is np.ndarray:
            self._array(value, path)
        else:
            self._object(value, path)

    def _function(self, function: Any, path: str) -> None:
        if "_torchdynamo_orig_callable" in vars(function):  # compiled: only the function inside it counts
            self.visit(vars(function)["_torchdynamo_orig_callable"], path)
            return
        if is_library(function.__code__.co_filename) and (not function.__closure__ or (
                function.__module__.startswith(LIBRARY) and "<locals>" not in function.__qualname__)):
            return  # a function of the library's, which does not change; not one that it made around the user's
        self.add(path, function, lambda f: [f.__code__, f.__defaults__, f.__kwdefaults__])
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            inside = f"{path}'s {name}"
            for content in self.add(inside, cell, content_of).values:
                self.visit(content, inside)
        for default in (function.__defaults__, function.__kwdefaults__):
            self.visit(default, f"{path}'s defaults")

    def _class(self, kind: type, path: str) -> None:
        for base in kind.__mro__:
            if base.__module__.partition(".")[0] in STILL or (id(base) in self._seen and base is not kind):
                continue
            self._seen[id(base)] = base
            space = vars(base)
            names = [name for name in space if name not in ("__dict__", "__weakref__", "__doc__", "__module__",
                                                            "__annotations__")]
            self.names(f"{path}:{base.__name__}", space, names)  # type: ignore[arg-type]

    def _array(self, array: np.ndarray, path: str) -> None:
        if array.nbytes > SMALL_ARRAY or array.dtype.hasobject:
            raise CannotCompile(f"{plainly(path)} is a NumPy array, whose elements guards do not compare")
        self.add(path, array, lambda a: [str(a.dtype), a.shape, a.tobytes()])

    def _object(self, value: Any, path: str) -> None:
        kind = type(value)
        if vars(kind).get("_torchdynamo_disable"):
            return
        if not kind.__flags__ & WRITTEN_IN_PYTHON and kind is not types.SimpleNamespace:
            raise _unseen(path, kind)
        for base in kind.__mro__[:-1]:
            if not base.__flags__ & WRITTEN_IN_PYTHON and base not in (dict, *SEQUENCES, types.SimpleNamespace):
                raise _unseen(path, kind)
        self._attributes(value, path)

    def _attributes(self, value: Any, path: str) -> None:
        """Watch an object's attributes and its class."""
        if type(value).__flags__ & WRITTEN_IN_PYTHON:
            self.visit(type(value), type(value).__name__)
            self.objects.append(value)
        if isinstance(space := getattr(value, "__dict__", None), dict):
            for name, item in [*zip(space, self.add(path, space, items_of).values[len(space):], strict=True)]:
                self.visit(item, f"{path}.{name}")
        slots = [name for base in type(value).__mro__ for name in _slots(base)]
        if slots:
            place = self.add(path, value, lambda v: [inspect.getattr_static(v, n) and getattr(v, n, MISSING)
                                                     for n in slots])
            for name, item in zip(slots, place.values, strict=True):
                self.visit(item, f"{path}.{name}")


#: Packages whose classes do not change.
STILL = frozenset({"builtins", LIBRARY, "collections", "abc", "typing", "numpy", "enum", "types"})


def _slots(kind: type) -> list[str]:
    slots = vars(kind).get("__slots__", ())
    return [name for name in ((slots,) if isinstance(slots, str) else slots) if name not in ("__dict__", "__weakref__")]


def _unseen(path: str, kind: type) -> CannotCompile:
    return CannotCompile(f"{plainly(path)} is a {kind.__module__}.{kind.__qualname__}, which may change unseen")


def plainly(path: str) -> str:
    """Return a path as a program would write it: ``model.0.weight``."""
    path = re.sub(r"^(globals|builtins) of [^\[]*\['([^']*)'\]", r"\2", path)
    path = re.sub(r"\._(modules|parameters|buffers)\b", "", path)
    return re.sub(r"\['?([^'\]]*)'?\]", r".\1", path)


#: The names of anonymous code for readers.
CALLED = {"<lambda>": "the function", "<module>": "the cell"}


def said_of(places: list[Place]) -> list[str]:
    """Describe places for readers: the mode of modules, and for other places that they are unchanged."""
    said = []
    for place in places:
        name = plainly(place.path)
        if place.path.endswith(("_hooks", "__dict__")) or not place.values or "_hooks" in place.path or (
                place.path.startswith("builtins of")):
            continue
        owner = place.target
        if isinstance(owner, dict) and "training" in owner and "_modules" in owner:
            mode = "training" if owner["training"] else "evaluation"
            said.append(f"{name} is in {mode} mode, with the same attributes")
        elif place.path.endswith(("_modules", "_parameters", "_buffers")):
            continue
        else:
            owner = name.removeprefix("globals of ")
            called = CALLED.get(owner, owner)
            said.append(f"{called} is unchanged" if owner == name else f"the globals that {called} uses are unchanged")
    return [*dict.fromkeys(said)]
