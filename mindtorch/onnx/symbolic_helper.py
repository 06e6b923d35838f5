"""``torch.onnx.symbolic_helper``: a decorator that libraries use when they are imported."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that returns the function itself (``torch.onnx.symbolic_helper.parse_args``)."""
    return lambda function: function
