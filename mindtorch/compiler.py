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
    allow_in_graph, assume_constant_result, disable, is_compiling, is_dynamo_compiling, substitute_in_graph,
)
from ._dynamo.eval_frame import compile, reset
from ._tensor import Tensor
from ._transforms.pytree import tree_map

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
           "get_default_backend", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends",
           "nested_compile_region", "reset", "set_default_backend", "set_stance", "substitute_in_graph", "wrap_numpy"]
__dir__ = __all__.copy


def is_exporting() -> bool:
    """Return True if the program is being exported, which is never so (``torch.compiler.is_exporting``)."""
    return False


def cudagraph_mark_step_begin() -> None:
    """Do nothing: there are no CUDA graphs (``torch.compiler.cudagraph_mark_step_begin``)."""


def nested_compile_region(fn: Any = None, *, options: Any = None, max_reuse_entries: int = 8,
                          reuse_hash_fn: Callable[..., int] | None = None) -> Any:
    """Return a function as it is: a region that repeats is compiled with its caller, since compiling is fast here
    (``torch.compiler.nested_compile_region``). Without ``fn``, return a decorator.
    """
    return (lambda function: function) if fn is None else fn


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
