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
from .softmax import BLOCK as SMALL, log_softmax_grad, log_softmax_of, softmax_grad, softmax_of


def whole_lane(function: Callable[[np.ndarray], Any]) -> Callable[..., Any]:
    """A reduction of all elements that keeps the dtype."""

    def make(general: Callable[..., Any]) -> Callable[..., Any]:
        def lane(self: Any, *rest: Any) -> Any:
            dtype = self._dtype
            if rest and rest != (None,) or dtype.category != FLOATING or dtype.itemsize < 4:
                return general(self, *rest)
            out = new(Tensor)
            out._array, out._dtype, out._keys = np.asarray(function(self._array)), dtype, CPU
            return out

        return lane

    return make


def sum_dim_lane(general: Callable[..., Any]) -> Callable[..., Any]:
    """``sum`` over some dimensions of a small tensor. What NumPy refuses goes to the general kernel."""
    reduce = np.add.reduce

    def lane(self: Any, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
        array, have = self._array, self._dtype
        if dtype is not None or not dim or have.category != FLOATING or have.itemsize < 4 or array.size > SMALL:
            return general(self, dim, keepdim, dtype)
        try:
            result = reduce(array, dim, keepdims=keepdim)
        except (ValueError, TypeError):
            return general(self, dim, keepdim, dtype)
        out = new(Tensor)
        out._array, out._dtype, out._keys = np.asarray(result), have, CPU
        return out

    return lane


def along_lane(compute: Callable[..., None], count: int) -> Callable[..., Any]:
    """Operators that compute along a dimension of ``count`` small tensors of one shape and dtype, into an output."""

    def make(general: Callable[..., Any]) -> Callable[..., Any]:
        def lane(*args: Any) -> Any:
            dtype, dim = args[0]._dtype, args[count]
            arrays = [tensor._array for tensor in args[:count]]
            shape = arrays[0].shape
            if (dtype.category != FLOATING or dtype.itemsize < 4 or not 0 < arrays[0].size <= SMALL
                    or not -len(shape) <= dim < len(shape) or args[count + 1] not in (False, dtype)
                    or count == 2 and (args[1]._dtype is not dtype or arrays[1].shape != shape)):
                return general(*args)
            out = new(Tensor)
            array = out._array = np.empty(shape, dtype.np)
            compute(*arrays, array, dim % len(shape))
            out._dtype, out._keys = dtype, CPU
            return out

        return lane

    return make


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
    "sum": whole_lane(lambda x: np.add.reduce(x, None)),
    "sum.dim_IntList": sum_dim_lane,
    "mean": whole_lane(lambda x: np.add.reduce(x, None) / x.dtype.type(x.size)),
    "_softmax": along_lane(softmax_of, 1),
    "_log_softmax": along_lane(log_softmax_of, 1),
    "_softmax_backward_data": along_lane(softmax_grad, 2),
    "_log_softmax_backward_data": along_lane(log_softmax_grad, 2),
    "ones_like": filled_like_lane(1),
    "zeros_like": filled_like_lane(0),
}
