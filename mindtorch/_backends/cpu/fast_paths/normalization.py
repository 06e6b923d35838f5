"""Fast paths of normalisations."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._dispatch.dispatcher import TENSOR_TYPES
from ...._tensor import from_array
from ..ops import reduction
from ..ops.normalization import native_batch_norm, native_group_norm, native_layer_norm
from . import FAST_PATHS, PLAIN, Row, fast_path, ndarray


def normalised(row: Callable[..., Any], fits: Callable[..., Any]) -> Callable[[Row], Row]:
    """Build the fast path of a normalisation of few elements from its row.

    ``fits`` returns the shape that the parameters must have, or None for the general kernel. Inputs that are
    channels-last as well as contiguous are left to the general kernel.
    """

    def run(self: Any, *args: Any) -> Any:
        dtype, x = self._dtype, self._array
        if dtype not in PLAIN or not 0 < x.size <= reduction.FEW or (x.ndim > 3 and 1 in x.shape):
            return None
        shape = fits(x, *args)
        if shape is None:
            return None
        given = []
        for arg in args:
            if arg.__class__ in TENSOR_TYPES:
                if arg._dtype is not dtype or arg._array.shape != shape:
                    return None
                arg = arg._array
            given.append(arg)
        out, middle, rstd = row(x, *given)
        return from_array(out, dtype), from_array(middle, dtype), from_array(rstd, dtype)

    return fast_path(run)


def of_rows(x: ndarray, shape: Any, *args: Any) -> Any:
    """Return the normalised shape if it matches the last dimensions."""
    return shape if shape and x.shape[-len(shape):] == shape else None


def of_groups(x: ndarray, weight: Any, bias: Any, n: int, c: int, hxw: int, group: int, eps: float) -> Any:
    """Return the parameters' shape if the channels divide into groups."""
    return (c,) if group > 0 and not c % group and x.size == n * c * hxw else None


def of_channels(x: ndarray, weight: Any, bias: Any, mean: Any, var: Any, training: bool, *settings: Any) -> Any:
    """Return the parameters' shape unless running statistics must be updated."""
    given = mean is not None, var is not None
    fits = not any(given) if training else all(given)
    return x.shape[1:2] if fits and x.ndim > 1 else None


FAST_PATHS.update({
    "native_layer_norm": normalised(native_layer_norm, of_rows),
    "native_group_norm": normalised(native_group_norm, of_groups),
    "native_batch_norm": normalised(native_batch_norm, of_channels),
})
