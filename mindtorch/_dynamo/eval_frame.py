"""``torch.compile``, and what it makes of functions and modules (``torch._dynamo.eval_frame``)."""
from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

from .._compile.modules import OptimizedModule
from .._compile.options import check_options
from .._compile.stance import set_stance
from ..nn.module import Module
from .backends.registry import get_default_backend, lookup_backend
from .convert_frame import Compiler, Entry, Frame, has_hooks
from .decorators import compiled_inside
from .trace_rules import is_in_graph
from .variables.builtin import SPECIAL
from .variables.higher_order import TRANSFORMS

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_compiled: weakref.WeakSet[Any] = weakref.WeakSet()


def compile(model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: Any = None,
            mode: str | None = None, options: dict[str, Any] | None = None, name: str | None = None,
            disable: bool = False, recompile_limit: int | None = None, isolate_recompiles: bool = False) -> Any:
    """Return a function or module that runs as an optimised program; also a decorator (``torch.compile``).

    ``backend`` is a name (``list_backends``), or a function that takes a ``torch.fx.GraphModule`` and a list of example
    inputs and returns the function that runs; None is ``torch.compiler.get_default_backend()``. The bytecode is
    interpreted, and divided at graph breaks; with ``fullgraph`` a break raises. ``mode`` and ``options`` are passed to
    a backend that is a function, but for ``options["guard_filter_fn"]``, which is given all guards of a program and
    returns for each whether it is kept. A program without guards on its tensors raises AssertionError for others.

    ``recompile_limit`` is the number of programs of one function, after which calls that fit none run as they are
    written, or raise with ``fullgraph``; None is ``torch._dynamo.config.recompile_limit``. Each call of ``compile``
    counts its own programs, with ``isolate_recompiles`` or without. Logs and warnings have the ``name``.

    Raises:
        RuntimeError: if both ``mode`` and ``options`` are given, or the mode or, for ``inductor``, an option does not
            exist.
        InvalidBackend: (``torch._dynamo.exc``) if there is no backend of that name.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    backend = get_default_backend() if backend is None else backend
    if model is None:
        return lambda function: compile(function, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
                                        options=options, name=name, disable=disable, recompile_limit=recompile_limit,
                                        isolate_recompiles=isolate_recompiles)
    found = lookup_backend(backend)
    if disable:
        return model
    if not callable(model):
        raise RuntimeError(f"torch.compile expects a function or a module, but got {type(model).__name__}")
    if isinstance(model, OptimizedModule):
        model = model._orig_mod
    function = getattr(model, "_torchdynamo_orig_callable", model)
    guard_filter = None if options is None else options.get("guard_filter_fn")
    if guard_filter is not None:
        options = {key: value for key, value in (options or {}).items() if key != "guard_filter_fn"} or None
    if options is not None and backend == "inductor":
        check_options(options)
    given = {key: value for key, value in (("mode", mode), ("options", options)) if value is not None}
    compiled = Optimized(function, Compiler(functools.partial(found, **given) if given and not isinstance(
        backend, str) else found, fullgraph, dynamic, guard_filter, recompile_limit, name))
    _compiled.add(compiled)
    return wrapped(model, function, compiled)


def wrapped(model: Any, function: Any, compiled: Any) -> Any:
    """Return the compiled callable: a module around a module, or a function."""
    if isinstance(model, Module):
        return OptimizedModule(model, compiled)

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return compiled(*args, **kwargs)

    call._torchdynamo_orig_callable = function  # type: ignore[attr-defined]
    call._compiled = compiled  # type: ignore[attr-defined]
    return call


class Optimized:
    """A function, method, module or other callable whose frames are compiled."""

    _torchdynamo_disable = True  #: guards skip its attributes

    def __init__(self, function: Any, compiler: Compiler) -> None:
        self.function, self.compiler = function, compiler
        self._calling: tuple[Any, Any] | None = None
        #: The frame of a function in Python, and the code and defaults that it is of.
        self._known: tuple[Any, Any, Any, Frame] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the compiled frame of the function."""
        function, known = self.function, self._known
        if known is not None and known[0] is function.__code__ and known[1] is function.__defaults__ and (
                known[2] is function.__kwdefaults__):
            return known[3](function.__closure__ or (), *args, **kwargs)
        if isinstance(function, Module):
            function = function._hooked_call if has_hooks(function) else (
                function.forward if type(function).__call__ is Module.__call__ else function.__call__)
        elif not isinstance(function, (types.FunctionType, types.MethodType)):
            call = vars(type(function)).get("__call__")
            function = types.MethodType(call, function) if isinstance(call, types.FunctionType) else function
        if isinstance(function, types.MethodType) and not is_in_graph(function.__func__):
            args, function = (function.__self__, *args), function.__func__
        if getattr(function, "_torchdynamo_disable", False):
            return function(*args, **kwargs)
        if not isinstance(function, types.FunctionType) or is_in_graph(function) or id(function) in SPECIAL or (
                function.__code__ in TRANSFORMS):
            function = self.calling(function)
        frame = self.compiler.frame(function)
        if function is self.function and not hasattr(function, "_torchdynamo_disable"):
            self._known = function.__code__, function.__defaults__, function.__kwdefaults__, frame
        return frame(function.__closure__ or (), *args, **kwargs)

    def calling(self, function: Any) -> Any:
        """Return a function that calls one that is not interpreted itself, such as an operator."""
        if self._calling is None or self._calling[0] is not function:
            self._calling = function, lambda *args, **kwargs: function(*args, **kwargs)
        return self._calling[1]

    def __reduce__(self) -> tuple[Any, ...]:
        compiler = self.compiler  # a copy makes its own programs
        return Optimized, (self.function, Compiler(
            compiler.backend, compiler.fullgraph, compiler.dynamic, compiler.guard_filter, compiler.recompile_limit,
            compiler.name))

    @property
    def entries(self) -> list[Entry]:
        """The programs made so far, of the function and of the functions that its graph breaks led to."""
        return self.compiler.entries

    def reset(self) -> None:
        """Forget all programs."""
        self._known = None
        self.compiler.frames.clear()
        self.compiler.entries.clear()


def optimize(backend: Any = "inductor", *, nopython: bool = False, dynamic: bool | None = None,
             disable: bool = False, guard_filter_fn: Callable[..., Any] | None = None,
             recompile_limit: int | None = None, isolate_recompiles: bool = False,
             **options: Any) -> Callable[[Any], Any]:
    """Return a decorator that compiles (``torch._dynamo.optimize``)."""
    given = None if guard_filter_fn is None else {"guard_filter_fn": guard_filter_fn}
    return lambda function: compile(function, backend=backend, fullgraph=nopython, dynamic=dynamic, disable=disable,
                                    options=given, recompile_limit=recompile_limit,
                                    isolate_recompiles=isolate_recompiles)


def optimize_assert(backend: Any, **options: Any) -> Callable[[Any], Any]:
    """Return a decorator that compiles to one graph (``torch._dynamo.optimize_assert``)."""
    return optimize(backend, nopython=True)


def run(fn: Callable[..., Any] | None = None) -> Any:
    """Return a function that runs the programs that a compiled function has, and makes no others
    (``torch._dynamo.run``). Without ``fn``, return a decorator.
    """
    if fn is None:
        return run

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        with set_stance("eager_on_recompile"):
            return fn(*args, **kwargs)

    return call


def reset() -> None:
    """Forget all programs (``torch.compiler.reset``, ``torch._dynamo.reset``)."""
    for compiled in [*_compiled]:
        compiled.reset()


def is_dynamo_supported() -> bool:
    """Return True: functions are captured wherever this library runs (``torch._dynamo.is_dynamo_supported``)."""
    return True


SPECIAL[id(compile)] = compiled_inside
__all__ = ["OptimizedModule", "compile", "is_dynamo_supported", "optimize", "optimize_assert", "reset", "run"]
