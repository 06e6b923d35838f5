"""Examples of tensors while a frame is interpreted: with shapes and dtypes, without data."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._creation.factories import empty_strided
from .._tensor import Tensor
from .exc import Break


class Mode:
    """Makes examples of inputs, and runs operators on examples."""

    def input(self, value: Tensor) -> Tensor:
        """Return an example of a tensor that exists."""
        made = empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
        made.requires_grad_(value.requires_grad) if value.requires_grad else None
        return made

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run a call of the graph on examples; what it raises is a graph break, and raised again outside of it."""
        try:
            return function(*args, **kwargs)
        except NotImplementedError as error:
            raise Break(f"Dynamic shape operator: {error}") from error
        except Exception as error:
            raise Break(f"RuntimeError when making fake tensor call: {type(error).__name__}: {error}") from error


def has_tensors(value: Any) -> bool:
    """Return whether there are tensors in a value."""
    if isinstance(value, (tuple, list)):
        return any(map(has_tensors, value))
    return isinstance(value, Tensor)
