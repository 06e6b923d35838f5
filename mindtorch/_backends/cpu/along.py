"""Gather and scatter along a dimension of an array."""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..._base.layout import Ints, contiguous_strides

Array = np.ndarray
#: Most indices whose offsets are cached; and from how many on NumPy looks at their bounds in less time than it takes to
#: compute the place of each.
FEW, SEVERAL = 1 << 11, 1 << 7


@lru_cache(256)
def starts(shape: Ints, dim: int, of_index: Ints) -> tuple[int, Array] | None:
    """Return the cached stride and offsets that turn indices along a dimension of a contiguous array into flat indices.

    None if the shapes do not match or the indices are many. The offsets must not be written to.
    """
    if len(shape) != len(of_index) or not -len(shape) <= dim < len(shape) or prod(of_index) > FEW or any(
            n > m for d, (n, m) in enumerate(zip(of_index, shape, strict=True)) if d != dim % len(shape)):
        return None
    dim %= len(shape)
    steps = contiguous_strides(shape)
    parts = [np.arange(n).reshape(-1, *[1] * (len(shape) - d - 1)) * step
             for d, (n, step) in enumerate(zip(of_index, steps, strict=True)) if d != dim]
    return steps[dim], np.asarray(sum(parts, np.zeros((1,) * len(shape), np.int64)))


@lru_cache(256)
def finder(shape: Ints, dim: int, of_index: Ints) -> Callable[[Array], Array] | None:
    """Return the function that turns few indices along a dimension of a contiguous array into flat indices. It raises
    ValueError if one is out of bounds. None if the shapes do not match, or have no elements, or the indices are many.
    """
    whole, places = shape or (1,), of_index or (1,)
    if not prod(whole) * prod(places) or (found := starts(whole, dim, places)) is None:
        return None
    step, others = found
    size = whole[dim]
    if prod(places) > SEVERAL:
        length, offsets = np.asarray(step), np.broadcast_to(others, places).reshape(of_index).copy()

        def find(at: Array) -> Array:
            line = at.ravel()
            if line[line.argmin()] < 0 or line[line.argmax()] >= size:
                raise ValueError
            return np.add(at if step == 1 else np.multiply(at, length), offsets)

        return find
    before, others = prod(whole) // (size * step), others.reshape(others.shape if of_index else ())
    box, inner = others // (size * step), others % step
    if before == step == 1:
        return lambda at: np.ravel_multi_index((at,), (size,))
    if before == 1:
        return lambda at: np.ravel_multi_index((at, inner), (size, step))
    if step == 1:
        return lambda at: np.ravel_multi_index((box, at), (before, size))
    return lambda at: np.ravel_multi_index((box, at, inner), (before, size, step))


def taken_along(x: Array, index: Array, axis: int) -> Array:
    """Gather elements along an axis, with indices in range and matching other sizes. Returns the result of
    ``np.take_along_axis``, in a sixth of the time for few indices.
    """
    found = starts(x.shape, axis, index.shape) if x.flags.c_contiguous else None
    if found is None:
        return np.take_along_axis(x, index, axis)
    step, others = found
    return x.take((index if step == 1 else index * step) + others)


def put_along(x: Array, index: Array, values: Any, axis: int) -> None:
    """Scatter values along an axis, as ``np.put_along_axis`` does."""
    found = starts(x.shape, axis, index.shape) if x.flags.c_contiguous else None
    if found is None:
        np.put_along_axis(x, index, values, axis)
        return
    step, others = found
    x.reshape(-1)[(index if step == 1 else index * step) + others] = values
