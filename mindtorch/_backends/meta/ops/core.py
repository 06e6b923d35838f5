"""What meta kernels of several families share."""
from __future__ import annotations

from typing import Any

from ...._base.layout import Spec


def like_input(grad_output: Any, self: Any, *rest: Any) -> Spec:
    """A gradient: contiguous, of the input's shape."""
    return Spec(tuple(self.shape), self._dtype)
