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
    """A normalisation of a few elements, by its row; ``fits`` says of what shape the parameters have to be, None if the
    input is left to the general kernel. What is in channels-last order as well is left to it, too.
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
    """The last dimensions, if they have these sizes."""
    return shape if shape and x.shape[-len(shape):] == shape else None


def of_groups(x: ndarray, weight: Any, bias: Any, n: int, c: int, hxw: int, group: int, eps: float) -> Any:
    """The channels, if they are in groups of as many."""
    return (c,) if group > 0 and not c % group and x.size == n * c * hxw else None


def of_channels(x: ndarray, weight: Any, bias: Any, mean: Any, var: Any, training: bool, *settings: Any) -> Any:
    """The channels, without moments that are written to."""
    given = mean is not None, var is not None
    fits = not any(given) if training else all(given)
    return x.shape[1:2] if fits and x.ndim > 1 else None


FAST_PATHS.update({
    "native_layer_norm": normalised(native_layer_norm, of_rows),
    "native_group_norm": normalised(native_group_norm, of_groups),
    "native_batch_norm": normalised(native_batch_norm, of_channels),
})
