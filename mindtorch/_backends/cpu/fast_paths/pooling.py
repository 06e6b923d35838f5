"""Fast paths of pooling small tensors, by plans with one window for all tensors of a shape."""
from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ...._base.layout import Ints
from ..ops.pooling import Window, divisors, numbered
from ..plans import MOST, planned
from ..taps import region_places
from ..windows import Array
from . import FAST_PATHS


def maxima(take: Callable[[Ints, Window], Any], dims: int) -> Callable[..., Any]:
    """Build a plan of maxima: ``take`` receives the leading sizes and the window over the last dimensions."""

    def plan(shape: Ints, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), dilation: Ints = (1,),
             ceil_mode: bool = False) -> Any:
        return take(shape[:-dims], Window.over(shape[-dims:], kernel_size, stride, padding, ceil_mode, dilation))

    return plan


def highest(outer: Ints, window: Window) -> Callable[[Array], Array]:
    """Return a function that takes maxima, one window offset after the other."""
    first, *others = window.keys()

    def work(x: Array) -> Array:
        x = x if window.wide == window.size else window.padded(x, -np.inf)
        if not others:
            return x[first].copy()
        best = np.maximum(x[first], x[others[0]])
        for key in others[1:]:
            np.maximum(best, x[key], out=best)
        return best

    return work


def highest_with_places(outer: Ints, window: Window) -> Callable[[Array], tuple[Array, Array] | None] | None:
    """Return a function that takes maxima and their indices, with the elements of each window side by side. Padding is
    replaced by the window's first element.
    """
    return by_table(outer, window.size, window.out, window.parts(numbered(window.size), -1))


def by_table(outer: Ints, size: Ints, out: Ints, positions: list[Array]) -> Any:
    """Return a function that takes maxima and indices, given element numbers by window offset (-1 for padding)."""
    table = np.stack([part.ravel() for part in positions], 1)
    width, lines, shape = table.shape[1], prod(outer) * len(table), (*outer, *out)
    if (table.max(1) < 0).any() or lines * width > MOST:
        return None
    first = np.take_along_axis(table, (table >= 0).argmax(1)[:, None], 1)
    table = np.where(table < 0, first, table)
    source = table + np.arange(prod(outer))[:, None, None] * prod(size)
    places, starts = np.broadcast_to(table, source.shape).ravel(), np.arange(0, lines * width, width)

    def work(x: Array) -> tuple[Array, Array] | None:
        elements = x.take(source)
        at = elements.reshape(lines, width).argmax(1)
        at += starts
        values = elements.take(at)
        if np.isnan(values.sum()):  # the last NaN counts
            return None
        return values.reshape(shape), places.take(at).reshape(shape)

    return work


def maxima_of_regions(dims: int) -> Callable[..., Any]:
    """Build a plan of maxima over regions as even as possible (adaptive pooling)."""

    def plan(shape: Ints, output_size: Ints) -> Any:
        size = shape[-dims:]
        tables = [region_places(n, out)[0].T for n, out in zip(size, output_size, strict=True)]
        return by_table(shape[:-dims], size, output_size, [numbered(size)[np.ix_(*at)] for at in product(*tables)])

    return plan


def averaging(dims: int) -> Callable[..., Any]:
    """Build a plan of means over windows of small arrays."""

    def plan(shape: Ints, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), ceil_mode: bool = False,
             count_include_pad: bool = True, divisor_override: int | None = None) -> Callable[[Array], Array]:
        window = Window.over(shape[-dims:], kernel_size, stride, padding, ceil_mode)
        steps: list[list[Any]] = [
            [(..., slice(k, k + (n - 1) * step + 1, step), *(slice(None),) * (dims - 1 - d)) for k in range(length)]
            for d, (n, length, step) in enumerate(zip(window.out, window.kernel, window.stride, strict=True))]
        counts = divisors(window, count_include_pad, divisor_override)
        counts = counts.ravel()[0] if (counts == counts.ravel()[0]).all() else counts
        by = {np.dtype(dtype): counts.astype(dtype) for dtype in (np.float32, np.float64)}

        def work(x: Array) -> Array:
            x = x if window.wide == window.size else window.padded(x)
            for first, *others in steps:
                total = x[first] + x[others[0]] if others else x[first].copy()
                for key in others[1:]:
                    total += x[key]
                x = total
            x /= by[x.dtype]
            return x

        return work

    return plan


FAST_PATHS.update({"max_pool1d": planned(maxima(highest, 1)), "avg_pool1d": planned(averaging(1))})
for _n in (2, 3):
    FAST_PATHS.update({
        f"adaptive_max_pool{_n}d": planned(maxima_of_regions(_n), f"adaptive_max_pool{_n}d"),
        f"max_pool{_n}d": planned(maxima(highest, _n), f"max_pool{_n}d_with_indices"),
        f"max_pool{_n}d_with_indices": planned(maxima(highest_with_places, _n), f"max_pool{_n}d_with_indices"),
        f"avg_pool{_n}d": planned(averaging(_n), f"avg_pool{_n}d"),
    })
