"""Checks that many meta kernels make, with PyTorch's exceptions."""
from __future__ import annotations

from typing import Any


def check(condition: Any, message: str, error: type[Exception] = RuntimeError) -> None:
    """Raise ``error(message)`` unless the condition holds."""
    if not condition:
        raise error(message)
