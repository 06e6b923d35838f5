"""``Settings``: a module whose attributes are the settings of a part of the library."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


class Settings(ModuleType):
    """A module's class with ``patch``, which sets attributes for a while."""

    @contextmanager
    def patch(self, changes: Any = None, value: Any = None, **named: Any) -> Iterator[None]:
        """Set options for a block or a function (``torch._dynamo.config.patch``, ``torch._inductor.config.patch``).

        Takes one name and its value, a dictionary, or keywords.

        Raises:
            AttributeError: if there is no such option.
        """
        wanted = {changes: value} if isinstance(changes, str) else {**(changes or {}), **named}
        before = {name: getattr(self, name) for name in wanted}
        try:
            for name, new in wanted.items():
                setattr(self, name, new)
            yield
        finally:
            for name, old in before.items():
                setattr(self, name, old)
