"""Settings of a module of ``torch.backends``, for a block."""
from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from .._base.interrupts import contextmanager


@contextmanager
def flags_of(module: str, settings: dict[str, Any]) -> Iterator[None]:
    """Run a block in which a module's variables have these values, except those that are None."""
    names = vars(sys.modules[module])
    before = {name: names[name] for name in settings}
    names.update({name: value for name, value in settings.items() if value is not None})
    try:
        yield
    finally:
        names.update(before)
