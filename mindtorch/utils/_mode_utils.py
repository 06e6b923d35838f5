"""``torch.utils._mode_utils``: questions about modes."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .._base.interrupts import contextmanager
from .._dispatch.dispatcher import switched


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Return True if these are the same mode."""
    return all(mode == modes[0] for mode in modes)


@contextmanager
def no_dispatch() -> Iterator[None]:
    """Run a block in which ``__torch_dispatch__`` is not called."""
    with switched(dispatch_off=True):
        yield
