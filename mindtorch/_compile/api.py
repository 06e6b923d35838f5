"""``torch.compile``."""
from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from ..nn.module import Module
from .breaks import InvalidBackend
from .function import CompiledFunction, config
from .modules import OptimizedModule
from .recording import is_recording

Model = TypeVar("Model", bound=Callable[..., Any])
#: The names of backends. All of them make programs of NumPy here.
BACKENDS = ("inductor", "aot_eager", "eager")
MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_compiled: weakref.WeakSet[CompiledFunction] = weakref.WeakSet()


def compile(model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: Any = "inductor",
            mode: str | None = None, options: dict[str, Any] | None = None, disable: bool = False) -> Any:
    """Return a function or module that runs as an optimised program; also a decorator (``torch.compile``).

    The program is recorded at the first call with arguments of given shapes, dtypes and values;
    ``torch._dynamo.explain(f)(x)`` shows it. Each new shape makes a program of its own, even if ``dynamic`` is set. A
    call that cannot be one graph runs as it is written; with ``fullgraph`` it raises. ``mode`` and ``options`` make no
    difference on a CPU.

    Raises:
        RuntimeError: if both ``mode`` and ``options`` are given, or the mode does not exist.
        InvalidBackend: (``torch._dynamo.exc``) if there is no backend of that name.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if model is None:
        return lambda function: compile(function, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
                                        options=options, disable=disable)
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise InvalidBackend(f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available "
                             "backends.")
    if disable:
        return model
    if not callable(model):
        raise RuntimeError(f"torch.compile expects a function or a module, but got {type(model).__name__}")
    if isinstance(model, OptimizedModule):
        model = model._orig_mod
    function = getattr(model, "_torchdynamo_orig_callable", model)
    compiled = CompiledFunction(function, fullgraph)
    _compiled.add(compiled)
    if isinstance(model, Module):
        return OptimizedModule(model, compiled)

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) if is_recording() else compiled(*args, **kwargs)

    call._torchdynamo_orig_callable = function  # type: ignore[attr-defined]
    call._compiled = compiled  # type: ignore[attr-defined]
    return call


def reset() -> None:
    """Forget all programs (``torch.compiler.reset``, ``torch._dynamo.reset``)."""
    for compiled in [*_compiled]:
        compiled.reset()


__all__ = ["compile", "config", "reset"]
