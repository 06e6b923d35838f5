"""How Python functions become CANN's: a ``Fault`` that is raised inside comes out as a return code.

pyACL's functions are the public ones of the modules ``acl_*``, under their own names; their annotations say how many
results come before the code.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType, ModuleType
from typing import Any

from ...._base.interrupts import is_uninterrupted, uninterrupted
from ..constants import ACL_ERROR_INTERNAL_ERROR
from . import errors, faults, watch
from .errors import Fault

Code = int  #: what a function returns that gives a code and nothing else


def exported(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return the functions that a module defines, as pyACL has them: after a failure they return zeros and the code."""
    return {name: _returning_codes(name, function) for name, function in vars(module).items()
            if isinstance(function, FunctionType) and function.__module__ == module.__name__ and name[0] != "_"}


def _returning_codes(name: str, function: FunctionType) -> Callable[..., Any]:
    returns = function.__annotations__["return"]
    if returns in ("None", "Code"):
        return guarded(name, function, lambda result: result or 0, lambda code: code)
    if not returns.startswith("tuple"):
        return guarded(name, function, lambda result: (result, 0), lambda code: (0, code))
    zeros = (0,) * (returns.count(",") + 1)
    return guarded(name, function, lambda results: (*results, 0), lambda code: (*zeros, code))


def guarded(name: str, function: Callable[..., Any], done: Callable[[Any], Any], failed: Callable[[int], Any],
            from_c: bool = False) -> Callable[..., Any]:
    """Return a function for C that never raises, but returns ``done(result)`` or ``failed(code)``."""

    @wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            if faults.armed and (fault := faults.strike(name, "call")):
                raise fault
            if is_uninterrupted():
                return done(function(*arguments))
            with uninterrupted():
                return done(function(*arguments))
        except Fault as fault:
            code, message = fault.code, fault.message
            watch.mistake(name, fault)
        except BaseException as error:
            if not from_c:
                raise
            code, message = ACL_ERROR_INTERNAL_ERROR, f"{name}: {error.__class__.__name__}: {error}"
        errors.remember(code, message)
        return failed(code)

    call.__name__ = name
    return call


def raise_fault(fault: Fault | None) -> None:
    """Report what had gone wrong on a stream to the caller that waited for it."""
    if fault is not None:
        raise Fault(fault.code, fault.message)
