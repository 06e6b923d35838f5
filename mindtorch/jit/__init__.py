"""``torch.jit``: programs that ask for TorchScript run as the Python that they are.

A scripted or traced function calls the function; a scripted module is a module with the same parameters. ``code`` is
the source. There is no TorchScript graph, and no archive of one: asking for either raises an error.
"""
from __future__ import annotations

import builtins
import contextlib
import copy
import inspect
import textwrap
import types
import typing
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, NoReturn, TypeVar

from .._autograd.grad_mode import no_grad
from ..futures import Future
from ..nn import Module

Function = Callable[..., Any]
T = TypeVar("T")

__all__ = ["Attribute", "CompilationUnit", "Error", "Final", "Future", "RecursiveScriptModule", "ScriptFunction",
           "ScriptModule", "ScriptWarning", "TopLevelTracedModule", "TracedModule", "TracerWarning",
           "TracingCheckError", "annotate", "enable_onednn_fusion", "export", "export_opnames", "fork", "freeze",
           "fuser", "ignore", "interface", "is_scripting", "is_tracing", "isinstance",
           "last_executed_optimized_graph", "load", "onednn_fusion_enabled", "optimize_for_inference",
           "optimized_execution", "save", "script", "script_if_tracing", "script_method", "set_fusion_strategy",
           "strict_fusion", "trace", "trace_module", "unused", "wait"]
__dir__ = __all__.copy

NO_GRAPH = ("mindtorch runs scripted programs as Python and has no TorchScript graph; `.code` is the source, "
            "torch.fx.symbolic_trace records a graph")
NO_ARCHIVE = ("TorchScript archives hold compiled programs, which mindtorch neither writes nor reads; save the "
              "module's state_dict() with torch.save, and build the module again where it is loaded")


class Error(RuntimeError):
    """An error of a scripted program (``torch.jit.Error``)."""


class TracingCheckError(Exception):
    """A traced program differs from the function (``torch.jit.TracingCheckError``); never raised here."""


class ScriptWarning(Warning):
    """A doubt about a scripted program (``torch.jit.ScriptWarning``)."""


class TracerWarning(Warning):
    """A doubt about a traced program (``torch.jit.TracerWarning``)."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Ignore these warnings from the library itself."""
        warnings.filterwarnings("ignore", category=TracerWarning, module="mindtorch.(?!jit)")


class Attribute(NamedTuple):
    """A module's attribute with its TorchScript type (``torch.jit.Attribute``)."""

    value: Any
    type: Any


def _source(function: Any) -> str:
    return textwrap.dedent(inspect.getsource(inspect.unwrap(function)))


class _Scripted:
    """Attributes and methods of scripted functions and modules."""

    @property
    def graph(self) -> NoReturn:
        """Raise an error: there is no TorchScript graph."""
        raise RuntimeError(NO_GRAPH)

    inlined_graph = graph

    def save(self, f: Any, **kwargs: Any) -> NoReturn:
        """Raise an error: there are no TorchScript archives."""
        raise RuntimeError(f"torch.jit.save: {NO_ARCHIVE}")

    def save_to_buffer(self, **kwargs: Any) -> NoReturn:
        """Raise an error: there are no TorchScript archives."""
        self.save(None)


class ScriptFunction(_Scripted):
    """A function that a program scripted or traced: calling it calls the function (``torch.jit.ScriptFunction``)."""

    __name__: str
    __qualname__: str

    def __init__(self, function: Function):
        self._function = function
        self.__dict__.update({name: getattr(function, name) for name in ("__name__", "__qualname__", "__doc__",
                                                                         "__module__", "__wrapped__")
                              if hasattr(function, name)})
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    @property
    def name(self) -> str:
        """The function's name."""
        return self.__name__

    @property
    def code(self) -> str:
        """The function's source."""
        return _source(self._function)

    def __repr__(self) -> str:
        return f"<torch.jit.ScriptFunction of {self.__module__}.{self.__qualname__}>"


class ScriptModule(_Scripted, Module):
    """A module that a program scripts itself: a module as any other (``torch.jit.ScriptModule``)."""

    @property
    def code(self) -> str:
        """The source of ``forward``."""
        return _source(builtins.type(self).forward)

    @property
    def original_name(self) -> str:
        """The name of the module's class before it was scripted."""
        return builtins.type(self).__name__


class RecursiveScriptModule(ScriptModule):
    """A scripted module: it shares parameters, buffers and children with the module that was scripted."""

    def _get_name(self) -> str:
        return f"{builtins.type(self).__bases__[0].__name__}(original_name={self.original_name})"


class TracedModule(RecursiveScriptModule):
    """A traced module (``torch.jit.TracedModule``)."""


class TopLevelTracedModule(TracedModule):
    """The module that ``torch.jit.trace`` was given (``torch.jit.TopLevelTracedModule``)."""


def _scripted(module: Module, kind: type[RecursiveScriptModule]) -> Module:
    """Return a module of the same parts, whose class is the module's and ``kind``."""
    if builtins.isinstance(module, ScriptModule):
        return module
    original = builtins.type(module)
    scripted: Module = object.__new__(types.new_class(original.__name__, (kind, original)))
    scripted.__dict__.update(module.__dict__)
    for part in ("_parameters", "_buffers", "_modules"):
        scripted.__dict__[part] = copy.copy(module.__dict__[part])
    return scripted


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """Return a function or module that runs as the Python that it is (``torch.jit.script``); a class is returned
    unchanged.

    Raises:
        RuntimeError: if ``obj`` is none of these.
    """
    if builtins.isinstance(obj, ScriptFunction | type):
        return obj
    if builtins.isinstance(obj, Module):
        return _scripted(obj, RecursiveScriptModule)
    if not callable(obj):
        raise RuntimeError(f"torch.jit.script takes a function, a module or a class, not {builtins.type(obj).__name__}")
    return ScriptFunction(obj)


def trace(func: Any = None, example_inputs: Any = None, *args: Any, example_kwarg_inputs: dict[str, Any] | None = None,
          **options: Any) -> Any:
    """Call a function or module once with the example, as PyTorch does, and return what ``script`` returns: control
    flow is not frozen to that of the example (``torch.jit.trace``).
    """
    example = example_inputs if builtins.isinstance(example_inputs, tuple | list) else (example_inputs,)
    with no_grad():
        func(**example_kwarg_inputs) if example_kwarg_inputs is not None else func(*example)
    return _scripted(func, TopLevelTracedModule) if builtins.isinstance(func, Module) else script(func)


def trace_module(mod: Module, inputs: dict[str, Any], *args: Any, **options: Any) -> Module:
    """Call methods of a module once with their examples, and return the module as ``trace`` does (``torch.jit``)."""
    with no_grad():
        for method, example in inputs.items():
            getattr(mod, method)(*(example if builtins.isinstance(example, tuple | list) else (example,)))
    return _scripted(mod, TopLevelTracedModule)


def freeze(mod: Module, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Module:
    """Return a scripted module, which must be in evaluation mode, as it is (``torch.jit.freeze``).

    Raises:
        RuntimeError: PyTorch's, if it is not scripted, or trains.
    """
    if not builtins.isinstance(mod, ScriptModule):
        raise RuntimeError("Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace "
                           "to script your 'nn.Module'.")
    if mod.training:
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Please call .eval() on "
                           "your module before freezing.")
    return mod


def optimize_for_inference(mod: Module, other_methods: list[str] | None = None) -> Module:
    """Return a scripted module as it is (``torch.jit.optimize_for_inference``)."""
    return freeze(mod.eval(), other_methods)


def save(m: Any, f: Any, _extra_files: Any = None) -> NoReturn:
    """Raise an error: there are no TorchScript archives (``torch.jit.save``)."""
    raise RuntimeError(f"torch.jit.save: {NO_ARCHIVE}")


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> NoReturn:
    """Raise an error: there are no TorchScript archives (``torch.jit.load``)."""
    raise RuntimeError(f"torch.jit.load: {NO_ARCHIVE}")


def export_opnames(m: Any) -> NoReturn:
    """Raise an error: there is no TorchScript graph (``torch.jit.export_opnames``)."""
    raise RuntimeError(NO_GRAPH)


def _get_trace_graph(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise an error: there is no TorchScript graph."""
    raise RuntimeError(NO_GRAPH)


def last_executed_optimized_graph() -> NoReturn:
    """Raise an error: there is no TorchScript graph (``torch.jit.last_executed_optimized_graph``)."""
    raise RuntimeError(NO_GRAPH)


class CompilationUnit:
    """TorchScript from a string, which mindtorch does not compile (``torch.jit.CompilationUnit``)."""

    def __init__(self, lang: str | None = None, _frames_up: int = 0):
        if lang is not None:
            raise RuntimeError("torch.jit.CompilationUnit: mindtorch does not compile TorchScript; write a Python "
                               "function")


def is_scripting() -> bool:
    """Return False: programs run as Python (``torch.jit.is_scripting``)."""
    return False


def is_tracing() -> bool:
    """Return False: programs run as Python (``torch.jit.is_tracing``)."""
    return False


def export(fn: Function) -> Function:
    """Mark a method as one to compile (``torch.jit.export``); the method itself."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Mark a function as one not to compile (``torch.jit.ignore``); the function itself, also as ``@ignore(...)``."""
    return drop if callable(drop) else export


unused = script_method = script_if_tracing = interface = export
_script_if_tracing = _overload = _overload_method = export


def annotate(the_type: Any, the_value: T) -> T:
    """Return the value; its type is a note for TorchScript (``torch.jit.annotate``)."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Check an object's type, that of the items of a list, tuple or dict included: ``List[int]``, ``Optional[Tensor]``
    or a tuple of types (``torch.jit.isinstance``).
    """
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, kind) for kind in target_type)
    origin, args = typing.get_origin(target_type), typing.get_args(target_type)
    if origin in (typing.Union, types.UnionType):
        return any(isinstance(obj, kind) for kind in args)
    if origin is None:
        return builtins.isinstance(obj, builtins.type(None) if target_type is None else target_type)
    if not builtins.isinstance(obj, origin):
        return False
    if origin is tuple and Ellipsis not in args:
        return len(obj) == len(args) and all(map(isinstance, obj, args))
    if issubclass(origin, dict):
        return all(isinstance(key, args[0]) and isinstance(value, args[1]) for key, value in obj.items())
    return all(isinstance(item, args[0]) for item in obj)


def fork(func: Function, *args: Any, **kwargs: Any) -> Future[Any]:
    """Call a function now, and return a future of its result (``torch.jit.fork``, which may run it in parallel)."""
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[T]) -> T:
    """Return the result of ``fork`` (``torch.jit.wait``)."""
    return future.wait()


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Do nothing: there is no compiler to switch (``torch.jit.optimized_execution``)."""
    yield


@contextlib.contextmanager
def fuser(name: str) -> Iterator[None]:
    """Do nothing: there is no fuser to choose (``torch.jit.fuser``)."""
    yield


@contextlib.contextmanager
def strict_fusion() -> Iterator[None]:
    """Do nothing: nothing is fused (``torch.jit.strict_fusion``)."""
    yield


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the strategy, a list: nothing is fused (``torch.jit.set_fusion_strategy``)."""
    if not isinstance(strategy, list):
        raise TypeError(f"set_fusion_strategy(): expected a list of names and depths, got {type(strategy).__name__}")
    return strategy


def enable_onednn_fusion(enabled: bool) -> None:
    """Do nothing: oneDNN is not used (``torch.jit.enable_onednn_fusion``)."""


def onednn_fusion_enabled() -> bool:
    """Return False: oneDNN is not used (``torch.jit.onednn_fusion_enabled``)."""
    return False
