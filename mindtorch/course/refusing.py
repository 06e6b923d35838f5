"""A part may not call the very operator that it is to be: names that a lab refuses while the part runs.

A name without a dot is an operator, under which the dispatcher calls it; a dotted one is a function of the library, by
its path below ``mindtorch``. Both are found however the part came by them. This is for readers who take a short cut by
mistake or out of curiosity; code that shares the process can switch it off.
"""
from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, ModuleType
from typing import Any

from .parts import add_key, excluded
from .said import Refused

KEY = "Refusing"
torch = sys.modules[__name__.partition(".")[0]]


def refusing(function: Callable[..., Any], names: Iterable[str]) -> Callable[..., Any]:
    """Return the function, in whose calls these operators and functions raise ``Refused``."""
    operators = frozenset(name for name in names if "." not in name)
    codes = {_code(name): name for name in names if "." in name}
    if not operators and not codes:
        return function

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        called: list[str] = []
        with _without_operators(operators, called), _without_functions(codes, called):
            try:
                return function(*args, **kwargs)
            finally:
                if called:  # also where the part has caught the first error
                    raise _refused(called[0])

    return guarded


def _refused(name: str) -> Refused:
    return Refused(f"it calls {name}, which already does what you are to write: build it from simpler parts")


@contextmanager
def _without_operators(names: frozenset[str], called: list[str]) -> Iterator[None]:
    """Refuse operators in a block, by a dispatch key in front of all others, and note which are called."""
    if not names:
        yield
        return

    def kernel(op: Any, *args: Any) -> Any:
        if op.packet in names:
            called.append(op.packet)
            raise _refused(op.packet)
        with excluded(KEY):
            return op(*args)

    with add_key(KEY, kernel):
        yield


@contextmanager
def _without_functions(codes: dict[CodeType, str], called: list[str]) -> Iterator[None]:
    """Refuse Python functions in a block of this thread, by their code, and note which are called."""
    if not codes:
        yield
        return

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in codes:
            called.append(codes[frame.f_code])
            raise _refused(called[-1])

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(before)


def _code(path: str) -> CodeType:
    """Return the code of a function below ``mindtorch``, without its wrappers, whose code other functions share."""
    found: Any = torch
    for name in path.split("."):
        if isinstance(found, ModuleType) and not hasattr(found, name):
            importlib.import_module(f"{found.__name__}.{name}")
        found = getattr(found, name)
    return inspect.unwrap(found).__code__
