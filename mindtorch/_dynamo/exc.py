"""Errors of the compiler (``torch._dynamo.exc``)."""
from __future__ import annotations

from typing import Any

from .._compile.breaks import FailOnRecompileLimitHit, InvalidBackend, TorchDynamoException, Unsupported

__all__ = ["BackendCompilerFailed", "FailOnRecompileLimitHit", "InternalTorchDynamoError", "InvalidBackend",
           "RecompileError", "RecompileLimitExceeded", "TorchDynamoException", "TorchRuntimeError", "Unsupported",
           "UserError"]
__dir__ = __all__.copy


class InternalTorchDynamoError(TorchDynamoException):
    """An error of the compiler itself (``torch._dynamo.exc.InternalTorchDynamoError``)."""


class TorchRuntimeError(TorchDynamoException):
    """An operator that cannot run on the shapes of its arguments (``torch._dynamo.exc.TorchRuntimeError``)."""


class RecompileError(TorchDynamoException):
    """Raised for a recompile that ``config.error_on_recompile`` forbids (``torch._dynamo.exc.RecompileError``)."""


class RecompileLimitExceeded(Unsupported):
    """The end of recompiles (``torch._dynamo.exc.RecompileLimitExceeded``)."""


class UserError(Unsupported):
    """A program that no compiler can capture (``torch._dynamo.exc.UserError``)."""


class BackendCompilerFailed(TorchDynamoException):
    """An error that a backend raised (``torch._dynamo.exc.BackendCompilerFailed``)."""

    def __init__(self, backend: Any, inner_exception: BaseException) -> None:
        self.backend_name = getattr(backend, "__name__", "?")
        self.inner_exception = inner_exception
        super().__init__(f"backend={self.backend_name!r} raised:\n{type(inner_exception).__name__}: {inner_exception}")


class Break(Exception):
    """A graph break at the outermost frame: the interpreter cannot put the operation into the graph."""

    def __init__(self, reason: str, *, skip: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.skip = skip  #: whether the whole frame has to run as it is written
        self.stack: list[Any] = []  #: the frames from the user's function inwards, as ``traceback.FrameSummary``
        self.graph: Any = None  #: what was captured of a frame that has to run as it is written


class Restart(Exception):
    """Raised to interpret the frame again: it is known where it breaks, or a lazy module has got its shapes."""


class Raised(Exception):
    """An exception of the interpreted program, on its way to a handler in it."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value
