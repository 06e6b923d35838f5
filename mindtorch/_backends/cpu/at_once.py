"""Fast paths of composites, which compute at once what several operators do.

Modes, pipelines and gradients act on the operators that a composite calls. A fast path may skip them only for
contiguous CPU tensors without other keys, and with no mode on that redirects calls. Observers change nothing: they
are told of the operators as parts of the call.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._dispatch import dispatcher
from ..._dispatch.keys import REDIRECTING
from ..._tensor import Tensor
from .fast_paths import Row, fast_path


def at_once(fast: Row, general: Row) -> Row:
    """Return a composite's kernel that uses the fast path unless a mode redirects calls."""

    def call(*args: Any) -> Any:
        return general(*args) if dispatcher.mode & REDIRECTING else fast(*args)

    return call


def computing(compute: Row) -> Callable[[Row], Row]:
    """Build a composite's fast path from a function as ``fast_path`` takes it."""
    return lambda general: at_once(fast_path(compute)(general), general)


def drawing(draw: Callable[..., Tensor | None]) -> Callable[[Row], Row]:
    """Build a composite's fast path that draws random numbers. Errors are raised: a retry would draw again."""

    def make(general: Row) -> Row:
        def fast(*args: Any) -> Any:
            drawn = draw(*args)
            return general(*args) if drawn is None else drawn

        return at_once(fast, general)

    return make
