"""What wraps the fast paths of composites: they are for calls that nothing watches.

The operators that a composite is written in are for observers, modes, pipelines and gradients to see. Where the keys
are those of contiguous CPU tensors alone, and the dispatcher's mode is none, nobody looks at them.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._dispatch import dispatcher
from ..._dispatch.keys import REDIRECTING
from ..._tensor import Tensor
from .fast_paths import Row, fast_path


def unwatched(fast: Row, general: Row) -> Row:
    """The fast path of a composite, for calls that nothing watches."""

    def call(*args: Any) -> Any:
        return general(*args) if dispatcher.mode & REDIRECTING else fast(*args)

    return call


def computing(compute: Row) -> Callable[[Row], Row]:
    """The fast path of a composite by what computes it, as ``fast_path`` takes it."""
    return lambda general: unwatched(fast_path(compute)(general), general)


def drawing(draw: Callable[..., Tensor | None]) -> Callable[[Row], Row]:
    """The same for what draws random numbers, which must not be drawn a second time: an error is raised as it is."""

    def make(general: Row) -> Row:
        def fast(*args: Any) -> Any:
            drawn = draw(*args)
            return general(*args) if drawn is None else drawn

        return unwatched(fast, general)

    return make
