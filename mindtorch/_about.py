"""What errors are about: the facts that they arose from, and the calls that they went through.

An error of the library is raised as ``about(error, kind, **facts)``; on its way out, the calls that led there are noted
on it with ``note``. What explains errors, ``mindtorch.introspect.why``, reads these, and neither messages nor the
library's frames.
"""
from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

E = TypeVar("E", bound=BaseException)


class Call(NamedTuple):
    """A call that an error went through: of an operator, of a module, or of a function by its name."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    depth: int  #: how many frames lie between the call and the place where the error was raised


@dataclass
class About:
    """What an error is about: its kind, the facts that it arose from, and the calls that it went through, the innermost
    first. Objects are referred to weakly, so that an error keeps no tensor alive longer than its traceback does.
    """

    kind: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)

    def __reduce__(self) -> tuple[Any, ...]:
        """An error that is copied or sent to another process leaves behind what it refers to weakly."""
        return About, (self.kind,)


def about(error: E, kind: str, **facts: Any) -> E:
    """The error, which now tells what it is about."""
    error.__dict__["_about"] = About(kind, weakly(facts))  # also of an error whose attributes cannot be set
    return error


def note(error: BaseException, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None) -> None:
    """Note a call that an error goes through. It is called where the error passes, in an ``except`` clause, so that a
    call without an error costs nothing.
    """
    found = error.__dict__.setdefault("_about", About())
    depth, trace = -1, error.__traceback__
    while trace is not None:
        depth, trace = depth + 1, trace.tb_next
    found.calls.append(Call(weakly(function), weakly(args), weakly(kwargs or {}), depth))


#: Types of values that hold nothing else.
_PLAIN = {int, float, complex, bool, str, bytes, type(None), type}


def weakly(value: Any) -> Any:
    """A value in which objects are replaced by weak references to them, also inside of lists, tuples and dicts."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, (list, tuple)):
        return [weakly(item) for item in value] if isinstance(value, list) else tuple(map(weakly, value))
    if kind is dict:
        return {key: weakly(item) for key, item in value.items()}
    if kind is slice:
        return slice(weakly(value.start), weakly(value.stop), weakly(value.step))
    try:
        return weakref.ref(value)
    except TypeError:  # a device, a dtype, a number of NumPy's
        return value


def strongly(value: Any) -> Any:
    """What ``weakly`` was given, with None for what is gone."""
    if isinstance(value, (list, tuple)):
        return [strongly(item) for item in value] if isinstance(value, list) else tuple(map(strongly, value))
    if type(value) is dict:
        return {key: strongly(item) for key, item in value.items()}
    return value() if isinstance(value, weakref.ref) else value
