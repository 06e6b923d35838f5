"""Find, in the library under test, the counterpart of a callable of PyTorch's operator database."""

from __future__ import annotations

import dataclasses
import functools
import operator
import types
from collections.abc import Callable
from typing import Any

from tests.support import Porter, Unportable, seed_all, torch

# Where PyTorch keeps functions; the first namespace that holds a callable names it.
NAMESPACES = ("", "nn.functional", "linalg", "special", "fft", "masked", "sparse", "signal.windows", "Tensor")


class Missing(Exception):
    """The library under test has no such name."""


def look_up(root: Any, path: str) -> Any:
    """`look_up(torch, 'nn.functional.relu')`; raises Missing with the whole path."""
    found = root
    for name in filter(None, path.split(".")):
        try:
            found = getattr(found, name)
        except (AttributeError, ImportError) as error:
            raise Missing(path) from error
    return found


def path_of(function: Any, hint: str) -> str | None:
    """Return the dotted path under `torch` at which `function` is found: `hint`, or else its own name."""
    for name in (hint.removeprefix("torch."), getattr(function, "__name__", "")):
        for namespace in NAMESPACES:
            path = f"{namespace}.{name}".lstrip(".")
            try:
                if name and look_up(torch, path) is function:
                    return path
            except Missing:
                continue
    return None


def counterpart(function: Any, lib: types.ModuleType, hint: str = "") -> Callable[..., Any]:
    """Find the counterpart of `function` in `lib`: by its qualified name, or, for a Python function of the database,
    the same code with `torch` meaning `lib`. Raises Missing or Unportable.
    """
    path = path_of(function, hint)
    if path is not None:
        return look_up(lib, path)
    if isinstance(function, functools.partial):
        arguments = LibPorter(lib)
        return functools.partial(counterpart(function.func, lib), *arguments(function.args),
                                 **arguments(function.keywords))
    if isinstance(function, types.FunctionType):
        return rebind(function, lib)
    if type(function).__name__ in ("OpOverload", "OpOverloadPacket"):
        return look_up(lib, f"ops.{function}")
    if getattr(operator, getattr(function, "__name__", ""), None) is function:
        return function  # type: ignore[return-value]
    raise Unportable(f"a callable of type {type(function).__name__}")


def rebind(function: types.FunctionType, lib: types.ModuleType) -> types.FunctionType:
    """Copy a Python function so that the global name `torch` (and the seeding helper) means `lib`'s."""
    used = names_in(function.__code__)
    if not used & {"torch", "wrapper_set_seed"} and not function.__closure__:
        return function
    ours = {name: value for name, value in function.__globals__.items() if name in used}
    ours |= {"torch": lib, "wrapper_set_seed": functools.partial(seeded, lib)}
    port = LibPorter(lib)
    cells = tuple(types.CellType(port(cell.cell_contents)) for cell in function.__closure__ or ())
    bound = types.FunctionType(function.__code__, ours, function.__name__, port(function.__defaults__), cells)
    bound.__kwdefaults__ = port(function.__kwdefaults__)
    return bound


def names_in(code: types.CodeType) -> set[str]:
    """Collect the names that a function and the functions inside it use."""
    inner = (names_in(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*inner)


def seeded(lib: types.ModuleType, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Make the database's `wrapper_set_seed`: call with the generator seeded."""
    seed_all(lib, 42)
    return function(*args, **kwargs)


class LibPorter(Porter):
    """Carries over what the database passes besides tensors, too: functions, and modules as arguments."""

    def other(self, value: Any) -> Any:
        if isinstance(value, torch.nn.Module):
            settings = [getattr(value, name) for name in value.__constants__]
            return look_up(self.lib, f"nn.{type(value).__name__}")(*self(settings))
        if dataclasses.is_dataclass(value) and hasattr(torch.nn, type(value).__name__):
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
            return look_up(self.lib, f"nn.{type(value).__name__}")(**self(fields))
        if type(value).__module__.startswith("torch.testing._internal.opinfo"):
            return value
        if callable(value):
            return counterpart(value, self.lib)
        return super().other(value)
