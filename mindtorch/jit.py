"""``torch.jit``: queries that programs make without compiling; TorchScript itself is left out."""
from collections.abc import Callable
from typing import Any, NoReturn

from ._base.left_out import reason

Function = Callable[..., Any]


def is_scripting() -> bool:
    """Return False: TorchScript does not compile the program (``torch.jit.is_scripting``)."""
    return False


def is_tracing() -> bool:
    """Return False: the program is not traced into TorchScript (``torch.jit.is_tracing``)."""
    return False


def export(fn: Function) -> Function:
    """Mark a method as one to compile (``torch.jit.export``); the method itself."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Mark a function as one not to compile (``torch.jit.ignore``); the function itself, also as ``@ignore(...)``."""
    return drop if callable(drop) else export


def unused(fn: Function) -> Function:
    """Mark a function as one that compiled programs do not call (``torch.jit.unused``); the function itself."""
    return fn


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(reason(f"jit.{name}"))
