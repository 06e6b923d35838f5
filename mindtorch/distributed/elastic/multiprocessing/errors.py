"""``torch.distributed.elastic.multiprocessing.errors``: the launcher learns of errors without help."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def record(fn: F, error_handler: Any = None) -> F:
    """Return the function (``torch.distributed.elastic.multiprocessing.errors.record``): a rank's error, with its line,
    goes to the launcher anyway.
    """
    return fn


__all__ = ["record"]
