"""Meta kernels of what the library is written in."""
from __future__ import annotations

from typing import Any

from ...._layout import Spec, like_strides
from . import META_KERNELS


def like(self: Any) -> Spec:
    return Spec(tuple(self.shape), self._dtype, like_strides(tuple(self.shape), self._strides()))


def like_input(grad_output: Any, self: Any, *rest: Any) -> Spec:
    """A gradient: contiguous, of the input's shape."""
    return Spec(tuple(self.shape), self._dtype)


META_KERNELS.update({"ones_like": like, "zeros_like": like})
