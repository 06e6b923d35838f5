"""Finalisers: handles of the device to release after garbage collection, which happens at any moment, in any thread."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any


class End(weakref.ref[Any]):
    """The end of an object of Python's that has something of the device, and what it has (``of``)."""

    __slots__ = ("of",)
    of: Any


def end(owner: Any, tell: Callable[[End], None], of: Any) -> End:
    """Watch for the end of an object. ``tell``, a function of C, gets the End once nothing refers to the object any
    more. A method ``__del__`` would run Python, and an interrupt that arrives there is lost.
    """
    made = End(owner, tell)
    made.of = of
    return made
