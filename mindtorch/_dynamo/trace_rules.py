"""Which functions the interpreter looks into, and which are nodes of the graph (``torch._dynamo.trace_rules``)."""
from __future__ import annotations

import os
import sys
import types
from typing import Any

PACKAGE = __name__.partition(".")[0]
STANDARD = os.path.dirname(os.__file__)
#: Modules of the library whose functions are nodes of the graph.
IN_GRAPH = tuple(f"{PACKAGE}.{name}" for name in (
    "_methods", "_creation", "functional", "nn.functional", "linalg", "fft", "special", "masked", "_operators",
    "_tensor", "signal", "_transforms", "_dispatch.overloads", "_dispatch.binding", "_base.size"))
#: Modules of the library that are interpreted, as if a user had written them.
INLINED = tuple(f"{PACKAGE}.{name}" for name in (
    "nn.modules", "nn.module", "nn.attention", "nn.utils", "nn.init", "nn._sizes", "nn._hooks", "_autograd.grad_mode",
    "distributions", "optim", "utils._pytree", "_dynamo.polyfills", "_dynamo.variables", "amp"))
#: Modules of the standard library that are interpreted.
STANDARD_INLINED = ("contextlib", "functools", "collections", "dataclasses", "typing", "types", "enum", "abc",
                    "operator", "_collections_abc", "heapq", "bisect", "statistics", "textwrap", "string", "numbers")
#: What is decided for single functions: by ``allow_in_graph``, ``disallow_in_graph``, ``disable``.
allowed: set[int] = set()
disallowed: set[int] = set()
#: Functions that stand in for others, by id of these (``substitute_in_graph``).
substitutes: dict[int, Any] = {}
_kept: list[Any] = []


def decide(table: set[int], function: Any) -> None:
    """Note a decision on a function, which is kept alive."""
    for other in (allowed, disallowed):
        other.discard(id(function))
    table.add(id(function))
    _kept.append(function)


def module_of(value: Any) -> str:
    """Return the name of the module of a function, a class or a module."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    name = getattr(value, "__module__", None)
    return name if isinstance(name, str) else ""


def is_library(value: Any) -> bool:
    """Return whether a function, class or module belongs to the library or to Python: guards take it as fixed."""
    top = module_of(value).partition(".")[0]
    return top in (PACKAGE, "builtins", "typing", "numpy", "torch") or (top in sys.stdlib_module_names
                                                                        and top != "__main__")


def is_in_graph(function: Any) -> bool:
    """Return whether a call of a function is a node of the graph."""
    if id(function) in allowed:
        return True
    if id(function) in disallowed:
        return False
    return module_of(function).startswith(IN_GRAPH)


def of_numpy(function: Any) -> str:
    """Return why a function or type of NumPy's is not interpreted, or an empty string for another one."""
    module = module_of(function)
    if module.partition(".")[0] != "numpy":
        return ""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", function)
    return f"{module}.{name} is NumPy's, whose arrays no graph has: call the torch function in its place"


def why_skipped(function: Any) -> str:
    """Return why a function in Python is not interpreted, or an empty string."""
    name = f"{module_of(function)}.{getattr(function, '__qualname__', function)}"
    if getattr(function, "_torchdynamo_disable", False):
        reason = getattr(function, "_torchdynamo_disable_msg", None)
        return f"Skip calling `torch.compiler.disable()`d function: {name}" + (f" ({reason})" if reason else "")
    if id(function) in disallowed:
        return f"{name} is marked by torch._dynamo.disallow_in_graph"
    module = module_of(function)
    if module.startswith(f"{PACKAGE}.") and not module.startswith(INLINED):
        return f"{name} is a function of the library that no graph has"
    if of_numpy(function):
        return of_numpy(function)
    file = function.__code__.co_filename
    if file.startswith("<frozen") or (file.startswith(STANDARD) and "site-packages" not in file and file[
            len(STANDARD) + 1:].removesuffix(".py").partition(os.sep)[0] not in STANDARD_INLINED):
        return f"{name} is a function of Python's library"
    return ""
