"""Fast paths of softmax."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops import reduction
from ..ops.softmax import (
    FEW as SMALL, log_softmax_grad, log_softmax_of, log_softmax_of_few, softmax_grad, softmax_of, softmax_of_few,
)
from . import FAST_PATHS, PLAIN, Row, fast_path, ndarray


def along(compute: Callable[..., None], of_few: Callable[[ndarray], ndarray | None]) -> Callable[[Row], Row]:
    """Build the fast path of an operator along a dimension; ``of_few`` may compute short lines of very small tensors.
    """

    def run(self: Any, dim: int, converts: Any) -> ndarray | None:
        source, dtype = self._array, self._dtype
        size, span = source.size, source.ndim
        if dtype not in PLAIN or not 0 < size <= SMALL or converts or not -span <= dim < span:
            return None
        if size <= reduction.FEW and (dim == -1 or dim == span - 1) and (found := of_few(source)) is not None:
            return found
        array: ndarray = np.empty(source.shape, dtype.np)
        compute(source, array, dim % span)
        return array

    return fast_path(run)


def along_both(compute: Callable[..., None]) -> Callable[[Row], Row]:
    """Build the fast path of an operator along a dimension of two small tensors of one shape and dtype."""

    def run(self: Any, other: Any, dim: int, dtype: Any) -> ndarray | None:
        source, second = self._array, other._array
        span = source.ndim
        if (dtype not in PLAIN or self._dtype is not dtype or other._dtype is not dtype or second.shape != source.shape
                or not 0 < source.size <= SMALL or not -span <= dim < span):
            return None
        array: ndarray = np.empty(source.shape, dtype.np)
        compute(source, second, array, dim % span)
        return array

    return fast_path(run)


FAST_PATHS.update({
    "_softmax": along(softmax_of, softmax_of_few),
    "_log_softmax": along(log_softmax_of, log_softmax_of_few),
    "_softmax_backward_data": along_both(softmax_grad),
    "_log_softmax_backward_data": along_both(log_softmax_grad),
})
