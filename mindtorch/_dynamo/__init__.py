"""``torch._dynamo``: functions and settings of the compiler besides ``torch.compiler``."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._compile.explain import Explanation, explanation_of
from .._compile.function import CompiledFunction, config
from .._compile.modules import OptimizedModule
from .._compile.recording import recording
from ..compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset
from . import exc

__all__ = ["OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "exc", "explain",
           "graph_break", "is_compiling", "list_backends", "mark_dynamic", "mark_static", "reset"]
__dir__ = __all__.copy


def graph_break(msg: str = "") -> None:
    """Divide the program here: a compiled function that calls this runs as it is written
    (``torch._dynamo.graph_break``).
    """
    if (found := recording()) is not None:
        found.stop(f"torch._dynamo.graph_break({repr(msg) if msg else ''}) was called")


def mark_dynamic(t: Any, index: Any, **options: Any) -> None:
    """Do nothing: all dimensions have a fixed size here (``torch._dynamo.mark_static``)."""


def mark_static(t: Any, index: Any = None) -> None:
    """Do nothing: all dimensions have a fixed size here (``torch._dynamo.mark_static``)."""


def explain(f: Callable[..., Any]) -> Callable[..., Explanation]:
    """Return a function that compiles ``f`` for its arguments, and returns the recorded graph, the guards and the
    programs, or the place and the reason of a graph break; ``print`` shows it as text (``torch._dynamo.explain``).
    """
    function = getattr(f, "_torchdynamo_orig_callable", f)
    compiled = CompiledFunction(function._orig_mod if isinstance(function, OptimizedModule) else function)

    def run(*args: Any, **kwargs: Any) -> Explanation:
        compiled(*args, **kwargs)
        return explanation_of(compiled)

    return run
