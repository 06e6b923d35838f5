"""Lazy packages: a module is loaded when one of its names is first used."""
from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from os.path import exists
from pathlib import Path
from typing import Any

from .forks import load_module
from .left_out import IMPORTED, Absent, reason

#: Modules with a private name that programs reach as attributes, below ``torch``.
PRIVATE = ("_custom_ops", "_decomp", "_functorch", "_library", "fx._compatibility", "optim._adafactor", "optim._muon",
           "utils._contextlib", "utils._foreach_utils", "utils._mode_utils", "utils._python_dispatch", "utils._pytree")


def has_module(folder: Path, name: str) -> bool:
    """Return True if a package's folder has a module or package of that name."""
    return exists(folder / f"{name}.py") or exists(folder / name / "__init__.py")  # False if no file can have it


def lazily(package: str, file: str, hint: str = "") -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package that imports names under ``if TYPE_CHECKING``.

    Readers and type checkers find the names there, and so does this function: there is no second list. A module of the
    package is an attribute even if no import names it, as in PyTorch, which loads all modules at once. ``hint`` ends
    the message of the error for a missing name.
    """
    module_of: dict[str, str] = {}
    modules: set[str] = set()  # names that are modules themselves: ``from . import fft``
    for block in ast.parse(Path(file).read_text("utf-8")).body:
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING":
            for statement in block.body:
                if isinstance(statement, ast.ImportFrom) and statement.level:
                    for alias in statement.names:
                        module_of[alias.name] = "." * statement.level + (statement.module or alias.name)
                        modules |= {alias.name} if statement.module is None else set()

    def load(name: str) -> Any:
        if name not in module_of:
            below = f"{package}.{name}".partition(".")[2]
            is_reached = not name.startswith("_") or below in (*IMPORTED, *PRIVATE)
            if is_reached and name.isidentifier() and has_module(Path(file).parent, name):
                return load_module(f".{name}", package)
            if below in IMPORTED:
                setattr(sys.modules[package], name, absent := Absent(below))
                return absent
            raise AttributeError(f"module {package!r} has no attribute {name!r}: {reason(below)}" if reason(below)
                                 else f"module {package!r} has no attribute {name!r}{hint}")
        module = load_module(module_of[name], package)
        value = module if name in modules else getattr(module, name)
        setattr(sys.modules[package], name, value)  # from now on, the name is found without this function
        return value

    return load, lambda: sorted(module_of)
