"""``torch.compiler``: queries and settings of the compiler."""
from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from ._base.interrupts import leaving
from ._compile.stance import STANCES, stance as _stance
from ._dynamo.backends.registry import list_backends
from ._dynamo.decorators import (
    allow_in_graph, assume_constant_result, disable, is_compiling, is_dynamo_compiling, substitute_in_graph,
)
from ._dynamo.eval_frame import compile, reset

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
           "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance",
           "substitute_in_graph"]
__dir__ = __all__.copy


def is_exporting() -> bool:
    """Return True if the program is being exported, which is never so (``torch.compiler.is_exporting``)."""
    return False


def cudagraph_mark_step_begin() -> None:
    """Do nothing: there are no CUDA graphs (``torch.compiler.cudagraph_mark_step_begin``)."""


class set_stance(ContextDecorator):
    """When compiled functions of this thread are compiled (again): ``default``, ``force_eager``, ``eager_on_recompile``
    or ``fail_on_recompile``; a setting, a ``with`` block or a decorator (``torch.compiler.set_stance``).

    Raises:
        RuntimeError: if there is no such stance.
    """

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False,
                 force_backend: Any = None) -> None:
        if stance not in STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")
        self.stance, self.before = stance, _stance.name
        _stance.name = stance

    def __enter__(self) -> None:
        _stance.name = self.stance

    @leaving(lambda block: lambda gone: block.__exit__())
    def __exit__(self, *exc: object) -> None:
        _stance.name = self.before

    def __call__(self, func: Any) -> Any:
        """Decorate a function, in whose calls alone the stance holds."""
        _stance.name = self.before
        return super().__call__(func)
