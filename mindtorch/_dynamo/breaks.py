"""Make graph breaks errors in a part of a program (``torch._dynamo.error_on_graph_break``)."""
from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any


class _State(threading.local):
    wanted = False


_state = _State()


def is_error() -> bool:
    """Return True in a block of ``error_on_graph_break(True)`` of this thread."""
    return _state.wanted


class error_on_graph_break:
    """A block, or a decorated function, in which a graph break is an error or is none
    (``torch._dynamo.error_on_graph_break``). With ``torch.compile(fullgraph=True)`` it always is one.
    """

    def __init__(self, error_on_graph_break: bool) -> None:
        self.error_on_graph_break = error_on_graph_break
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(_state.wanted)
        _state.wanted = self.error_on_graph_break

    def __exit__(self, *exc: object) -> None:
        _state.wanted = self._before.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function."""
        wanted = self.error_on_graph_break

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with error_on_graph_break(wanted):
                return function(*args, **kwargs)

        return call
