"""Watching a call's Python: the functions that run, the globals that they name, and calls with outside effects.

TorchDynamo interprets a function's bytecode and guards the state that it reads. Here the function simply runs once
while ``sys.setprofile`` reports every call in it: the globals of each user function are watched from then on, and a
call whose result may differ the next time (a clock, a file, Python's random numbers) is a graph break.
"""
from __future__ import annotations

import cProfile
import gc
import os
import sys
import types
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._backends.npu import random as npu_random
from .._backends.random import default as default_random
from .._backends.random.generator import Generator
from .._base.interrupts import leaving
from .._dispatch.torch_function import own
from .._tensor import Tensor
from .breaks import CannotCompile, break_here, is_library
from .state import State

#: Functions in C that a graph may call: their results depend on their arguments alone, which guards compare.
PURE = frozenset([
    "abs", "all", "any", "bin", "bool", "bytes", "callable", "chr", "complex", "dict", "divmod", "enumerate",
    "filter", "float", "format", "frozenset", "getattr", "hasattr", "hex", "int", "isinstance", "issubclass",
    "iter", "len", "list", "map", "max", "min", "next", "oct", "ord", "pow", "range", "reversed", "round", "set",
    "setattr", "delattr", "slice", "sorted", "str", "sum", "super", "tuple", "type", "zip", "__build_class__",
    "__import__",
])
PURE_MODULES = frozenset([
    "math", "cmath", "_operator", "operator", "itertools", "_functools", "_collections", "_abc", "_struct",
    "_bisect", "_heapq", "_typing", "_warnings",
])
PURE_TYPES = (str, int, float, complex, bytes, tuple, frozenset, range, slice, list, dict, set, type, property,
              types.MappingProxyType, types.GeneratorType, types.FunctionType, BaseException)
SEEDS = ("manual_seed", "manual_seed_all", "seed", "initial_seed", "get_rng_state", "set_rng_state", "get_state",
         "set_state")
#: Folders of code that the library calls: it keeps no state that a program could read.
HELPERS = ("<frozen ", os.path.dirname(os.__file__), os.path.dirname(np.__file__))
#: The globals of functions that the standard library generates, for example for named tuples.
GENERATED = (__name__.partition(".")[0] + ".", "namedtuple_")
IGNORED = frozenset({"warn", "setprofile"})


def _codes(*functions: Any) -> dict[Any, str]:
    return {function.__code__: function.__qualname__ for function in functions}


#: Library functions that read or change state that guards do not compare.
LOOKS = _codes(
    *[own(Tensor)[name] for name in ("untyped_storage", "data_ptr", "is_set_to", "register_hook", "retain_grad",
                                      "register_post_accumulate_grad_hook", "share_memory_", "module_load",
                                      "is_shared")],
    *[getattr(own(Tensor)[name], part) for name in ("storage", "grad_fn", "is_leaf", "grad", "output_nr",
                                                    "retains_grad", "_version", "_base")
      for part in ("fget", "fset") if getattr(own(Tensor).get(name), part, None) is not None],
    *[vars(owner)[name] for owner in (default_random, npu_random, Generator) for name in SEEDS if name in vars(owner)],
)


def _end(profile: Any, collects: bool, gone: Any = None) -> None:
    if isinstance(profile, cProfile.Profile):  # which cannot be called
        profile.enable()
    else:
        sys.setprofile(profile)
    if collects:
        gc.enable()


class Watch:
    """A block whose Python calls are watched; ``on_break`` is called with the first that guards cannot cover."""

    def __init__(self, state: State, on_break: Callable[[Any], None]) -> None:
        self.state, self.on_break = state, on_break
        self._entered: set[tuple[int, int]] = set()
        self._kept: list[Any] = []
        self._before: Any = None
        self._collects = True
        self._broken = False
        self._inside: Any = None  #: what the library called of Python's library or NumPy, or an import

    def __enter__(self) -> Watch:
        self._before, self._collects = sys.getprofile(), gc.isenabled()
        gc.disable()  # which would call what others want to know of it, or finalizers, in the middle of the program
        sys.setprofile(self._told)
        return self

    @leaving(lambda watch: partial(_end, sys.getprofile(), gc.isenabled()))
    def __exit__(self, *exc: object) -> None:
        _end(self._before, self._collects)

    def _break(self, reason: str, frame: Any) -> None:
        if not self._broken:
            self._broken = True
            self.on_break(break_here(reason, frame))

    def _told(self, frame: Any, event: str, arg: Any) -> None:
        if self._broken:
            return
        if self._inside is not None:
            if event == "return" and frame is self._inside:
                self._inside = None
            return
        if event == "call" and is_helper(frame.f_code.co_filename) and (
                frame.f_code.co_name == "_find_and_load" or is_library(frame.f_back.f_code.co_filename)):
            self._inside = frame
            return
        if event == "call":
            code = frame.f_code
            if is_library(code.co_filename) or frame.f_globals.get("__name__", "").startswith(GENERATED):
                name = LOOKS.get(code)
                if name is not None and not is_library(frame.f_back.f_code.co_filename):
                    self._break(f"{name} reads state that a graph does not have", frame)
            elif (id(code), id(frame.f_globals)) not in self._entered:
                self._entered.add((id(code), id(frame.f_globals)))
                self._kept.append(code)
                try:
                    self.globals_of(code, frame.f_globals)
                except CannotCompile as error:
                    self._break(str(error), frame)
        elif event == "c_call" and not is_library(frame.f_code.co_filename) and not is_pure(arg):
            module = getattr(arg, "__module__", None) or type(getattr(arg, "__self__", None)).__name__
            self._break(f"{module}.{arg.__qualname__.rpartition('.')[2]}() is called, which cannot be part of a graph",
                        frame)

    def globals_of(self, code: Any, space: dict[str, Any]) -> None:
        """Watch the globals that a function's code names, and those of modules among them."""
        names = sorted({name for part in codes_in(code) for name in part.co_names})
        builtins = space.get("__builtins__")
        self.state.names(f"globals of {code.co_qualname}", space, names)
        shadowed = builtins if isinstance(builtins, dict) else vars(builtins)
        self.state.names(f"builtins of {code.co_qualname}", shadowed, [name for name in names if name in shadowed])
        modules = [value for name in names if isinstance(value := space.get(name), types.ModuleType)]
        for module in modules:
            top = module.__name__.partition(".")[0]
            if top in ("numpy", "math", "torch") or is_library(getattr(module, "__file__", None) or ""):
                continue
            if "getattr" in names:
                raise CannotCompile(f"getattr may read any name of the module {module.__name__}")
            named = [name for name in names if name in vars(module)]
            self.state.names(module.__name__, vars(module), named)
            modules += [value for name in named if isinstance(value := vars(module)[name], types.ModuleType)
                        and value not in modules]


def is_helper(file: str) -> bool:
    """Return whether a file belongs to the standard library or to NumPy."""
    return file.startswith(HELPERS[2]) or (file.startswith(HELPERS[:2]) and "site-packages" not in file)


def codes_in(code: Any) -> list[Any]:
    """Return a function's code and the code of functions and comprehensions inside it."""
    found = [code]
    for part in found:
        found += [constant for constant in part.co_consts if isinstance(constant, types.CodeType)]
    return found


def is_pure(function: Any) -> bool:
    """Return whether a C function depends on its arguments alone, and changes nothing else."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, types.ModuleType):
        name = owner.__name__
        return (name == "builtins" and function.__name__ in PURE) or name in PURE_MODULES or (
            function.__name__ in IGNORED)
    if owner is None:  # a method of a class in C, called with its object
        return getattr(function, "__objclass__", object) in (*PURE_TYPES, object)
    return isinstance(owner, PURE_TYPES)
