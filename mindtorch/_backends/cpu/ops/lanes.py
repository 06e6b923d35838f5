"""Fast lanes of a few operators that small models call all the time.

As for pointwise operators: the dispatcher has seen that all inputs are contiguous CPU tensors and no other key is
set; a lane handles the one case in which nothing is left to check, and leaves every other to the general kernel.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...._dispatch.keys import CPU
from ...._dtype import FLOATING
from ...._tensor import Tensor, new


def sum_lane(general: Callable[..., Any]) -> Callable[..., Any]:
    """``sum`` over everything: the dtype stays."""
    reduce = np.add.reduce

    def lane(self: Any, *rest: Any) -> Any:
        if rest and rest != (None,) or self._dtype.category != FLOATING:
            return general(self, *rest)
        out = new(Tensor)
        out._array, out._dtype, out._keys = np.asarray(reduce(self._array, None)), self._dtype, CPU
        return out

    return lane


def filled_like_lane(value: int) -> Callable[..., Any]:
    """``ones_like`` and ``zeros_like`` of a tensor alone."""

    def make(general: Callable[..., Any]) -> Callable[..., Any]:
        def lane(self: Any, *rest: Any) -> Any:
            if rest:
                return general(self, *rest)
            out = new(Tensor)
            array = out._array = np.empty(self._array.shape, self._dtype.np)
            array.fill(value)
            out._dtype, out._keys = self._dtype, CPU
            return out

        return lane

    return make


LANES: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "sum": sum_lane, "ones_like": filled_like_lane(1), "zeros_like": filled_like_lane(0),
}  # fmt: skip
