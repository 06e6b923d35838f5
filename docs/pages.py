"""Pages that are made."""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Page(NamedTuple):
    """A page: its title, and a function that makes its text."""

    title: str
    make: Callable[[], str]
