"""``torch.compiler``: queries and settings of the compiler."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ._compile.stance import set_stance
from ._creation import as_tensor
from ._dynamo.backends.registry import get_default_backend, list_backends, set_default_backend
from ._dynamo.decorators import (
    allow_in_graph, assume_constant_result, disable, is_compiling, is_dynamo_compiling, is_exporting,
    substitute_in_graph,
)
from ._dynamo.eval_frame import compile, reset
from ._dynamo.guards import GuardFilterEntry
from ._tensor import Tensor
from ._transforms.pytree import tree_map
from .nn.module import Module
from .nn.parameter import Parameter

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
           "get_default_backend", "is_compiling", "is_dynamo_compiling", "is_exporting", "keep_portable_guards_unsafe",
           "keep_tensor_guards_unsafe", "list_backends", "nested_compile_region", "reset", "set_default_backend",
           "set_stance", "skip_all_guards_unsafe", "skip_guard_on_all_nn_modules_unsafe",
           "skip_guard_on_globals_unsafe", "skip_guard_on_inbuilt_nn_modules_unsafe", "substitute_in_graph",
           "wrap_numpy"]
__dir__ = __all__.copy


def cudagraph_mark_step_begin() -> None:
    """Do nothing: there are no CUDA graphs (``torch.compiler.cudagraph_mark_step_begin``)."""


def nested_compile_region(fn: Any = None, *, options: Any = None, max_reuse_entries: int = 8,
                          reuse_hash_fn: Callable[..., int] | None = None) -> Any:
    """Return a function as it is: a region that repeats is compiled with its caller, since compiling is fast here
    (``torch.compiler.nested_compile_region``). Without ``fn``, return a decorator.
    """
    return (lambda function: function) if fn is None else fn


def skip_all_guards_unsafe(guard_entries: list[GuardFilterEntry]) -> list[bool]:
    """Keep no guards: the program runs whatever has changed (``torch.compiler.skip_all_guards_unsafe``).

    This and the following functions are values of ``options["guard_filter_fn"]`` of ``torch.compile``.
    """
    return [False] * len(guard_entries)


def skip_guard_on_globals_unsafe(guard_entries: list[GuardFilterEntry]) -> list[bool]:
    """Keep no guards on globals (``torch.compiler.skip_guard_on_globals_unsafe``)."""
    return [not entry.is_global for entry in guard_entries]


def skip_guard_on_all_nn_modules_unsafe(guard_entries: list[GuardFilterEntry]) -> list[bool]:
    """Keep no guards on modules and their attributes (``torch.compiler.skip_guard_on_all_nn_modules_unsafe``)."""
    return [entry.orig_guard.module is None for entry in guard_entries]


def skip_guard_on_inbuilt_nn_modules_unsafe(guard_entries: list[GuardFilterEntry]) -> list[bool]:
    """Keep no guards on modules of ``torch.nn`` and their attributes
    (``torch.compiler.skip_guard_on_inbuilt_nn_modules_unsafe``).
    """
    return [not type(entry.orig_guard.module).__module__.startswith(Module.__module__.rpartition(".")[0])
            for entry in guard_entries]


def keep_tensor_guards_unsafe(guard_entries: list[GuardFilterEntry], keep_parameters: bool = False) -> list[bool]:
    """Keep the guards on tensors alone, those on parameters if asked for
    (``torch.compiler.keep_tensor_guards_unsafe``).
    """
    return [entry.guard_type == "TENSOR_MATCH" and (keep_parameters or not isinstance(entry.value, Parameter))
            for entry in guard_entries]


def keep_portable_guards_unsafe(guard_entries: list[GuardFilterEntry]) -> list[bool]:
    """Keep the guards on tensors that are no globals, on sizes and on modes of the thread
    (``torch.compiler.keep_portable_guards_unsafe``).
    """
    return [entry.guard_type in ("GLOBAL_STATE", "SHAPE_ENV") or (
        entry.guard_type == "TENSOR_MATCH" and not entry.is_global) for entry in guard_entries]


def wrap_numpy(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of tensors for one of NumPy arrays; the arrays share the tensors' memory
    (``torch.compiler.wrap_numpy``).

    Raises:
        RuntimeError: from the call, for a tensor that requires grad.
    """
    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map(lambda value: value.numpy() if isinstance(value, Tensor) else value, (args, kwargs))
        return tree_map(lambda value: as_tensor(value) if isinstance(value, np.ndarray) else value, f(*args, **kwargs))

    return call
