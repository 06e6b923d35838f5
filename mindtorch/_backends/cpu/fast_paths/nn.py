"""Fast paths of losses."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...._dtype import int64
from ...._tensor import from_array
from . import FAST_PATHS, LARGEST, PLAIN, fast_path, ndarray

lowest, add, arange = np.minimum.reduce, np.add.reduce, np.arange  # type: Any, Any, Any
FEW = 16  #: up to this many elements, Python numbers beat several NumPy calls


@fast_path
def nll_loss(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    """Compute the unweighted mean or sum over a batch with no ignored class. NumPy finds indices that are too large."""
    logs, chosen, dtype = self._array, target._array, self._dtype
    if (weight is not None or not reduction or dtype not in PLAIN or target._dtype is not int64 or logs.ndim != 2
            or chosen.shape != logs.shape[:1] or not chosen.size):
        return None
    count = len(chosen)
    if ignore_index >= 0 and (chosen == ignore_index).any():
        return None
    if logs.size <= FEW:
        classes = chosen.tolist()
        picked = [line[i] for line, i in zip(logs.tolist(), classes, strict=True)]
        if min(classes) < 0 or not sum(map(abs, picked)) < LARGEST:  # otherwise a partial sum may overflow
            return None
        total = sum(picked)
    elif lowest(chosen) < 0:
        return None
    else:
        total = add(logs[arange(count), chosen])
    loss = -total / count if reduction == 1 else -total
    return from_array(np.array(loss, dtype.np), dtype), from_array(np.array(count, dtype.np), dtype)


@fast_path
def nll_loss_backward(grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignored: int,
                      total_weight: Any) -> ndarray | None:
    """Compute the gradient of the same mean; ``total_weight`` shows that no class was ignored."""
    chosen, shape, dtype = target._array, self._array.shape, self._dtype
    count = len(chosen) if chosen.ndim else 0
    if (weight is not None or reduction != 1 or dtype not in PLAIN or grad_output._dtype is not dtype
            or len(shape) != 2 or not count or total_weight._array.item() != count or lowest(chosen) < 0):
        return None
    array: ndarray = np.zeros(shape, dtype.np)
    array[arange(count), chosen] = grad_output._array.item() / -count
    return array


FAST_PATHS.update({"nll_loss_forward": nll_loss, "nll_loss_backward": nll_loss_backward})
