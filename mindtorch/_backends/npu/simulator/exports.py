"""How Python functions become those of pyACL: a ``Fault`` that is raised inside comes out as a return code."""
from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from . import errors, faults, watch
from .errors import Fault

F = TypeVar("F", bound=Callable[..., Any])

Table = dict[str, Callable[..., Any]]


def exported(where: Table, *names: str, results: int = 0) -> Callable[[F], F]:
    """Export a function under its name, or under these; a failure returns ``results`` zeros and the code."""

    def export(function: F) -> F:
        for name in names or (function.__name__,):
            where[name] = _returning_codes(function, name, results)
        return function

    return export


def _returning_codes(function: Callable[..., Any], name: str, results: int) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            if faults.armed and (fault := faults.strike(name, "call")):
                raise fault
            result = function(*arguments)
        except Fault as fault:
            code, message = fault.code, fault.message
            watch.mistake(name, fault)
        else:
            if not results:
                return result or 0
            return (*result, 0) if results > 1 else (result, 0)
        errors.remember(code, message)
        return (*(0,) * results, code) if results else code

    call.__name__ = name
    return call


def raise_fault(fault: Fault | None) -> None:
    """Report what had gone wrong on a stream to the caller that waited for it."""
    if fault is not None:
        raise Fault(fault.code, fault.message)
