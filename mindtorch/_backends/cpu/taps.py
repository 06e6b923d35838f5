"""Sparse linear maps along a dimension, for resampling and adaptive pooling: weighted sums of a few inputs."""
from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..._base.quiet import quietly

Array = np.ndarray
#: A product with a matrix takes less time than a pass for each tap if more than one input in so many is a tap.
MANY = 8


class Taps:
    """A linear map: ``index`` and ``weight`` (outputs, taps) list the inputs of each output, out of ``size``.

    With ``filled``, rows with fewer taps are padded with weights of 0 that are skipped. Other weights of 0 count: they
    turn infinity into NaN.
    """

    def __init__(self, index: Array, weight: Array, size: int, filled: bool = False):
        self.index, self.weight, self.size, self.filled = index, weight, size, filled

    @cached_property
    def adjoint(self) -> Taps:
        """The transposed map, for the backward pass."""
        outs, taps = np.nonzero(self.weight)
        source, weight = self.index[outs, taps], self.weight[outs, taps]
        order = np.argsort(source, kind="stable")
        source, outs, weight = source[order], outs[order], weight[order]
        counts = np.bincount(source, minlength=self.size)
        number = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)  # of a tap in its output
        shape = self.size, max(1, int(counts.max(initial=0)))
        index, weights = np.zeros(shape, np.intp), np.zeros(shape, self.weight.dtype)
        index[source, number], weights[source, number] = outs, weight
        return Taps(index, weights, len(self.index), filled=True)

    @cached_property
    def matrix(self) -> Array:
        """The map as a dense matrix (outputs, inputs)."""
        whole = np.zeros((len(self.index), self.size), self.weight.dtype)
        np.add.at(whole, (np.arange(len(self.index))[:, None], self.index), self.weight)
        return whole

    @cached_property
    def plain(self) -> bool:
        """True if each output is a copy of one input."""
        return self.index.shape[1] == 1 and bool((self.weight == 1).all())

    def along(self, x: Array, axis: int) -> Array:
        """Apply the map along a dimension, keeping the array's dtype. Maps with many taps use a matrix product."""
        if self.plain:
            return np.take(x, self.index[:, 0], axis)
        weight = self.weight.astype(x.dtype, copy=False)
        finite, many = True, self.index.shape[1] * MANY > self.size
        if self.filled or many:
            finite = bool(np.isfinite(quietly(np.add.reduce, x, None)))  # if it overflows, the slower branch is correct
        if finite and many:
            lines, matrix = x.swapaxes(axis, -1), self.matrix.astype(x.dtype, copy=False)
            sums = lines.reshape(-1, self.size).dot(matrix.T)
            return sums.reshape(*lines.shape[:-1], len(matrix)).swapaxes(axis, -1)
        shape = [-1 if d == axis % x.ndim else 1 for d in range(x.ndim)]
        total: Any = None
        for index, factor in zip(self.index.T, weight.T, strict=True):
            part = np.take(x, index, axis)
            part *= factor.reshape(shape)
            if self.filled and not finite:
                np.copyto(part, 0, where=(factor == 0).reshape(shape))
            total = part if total is None else np.add(total, part, out=total)
        return total


@lru_cache(256)
def regions(size: int, out: int) -> Taps:
    """Return the map of adaptive average pooling: means over regions as even as possible."""
    sums, lengths = region_sums(size, out)
    return Taps(sums.index, sums.weight / lengths[:, None], size, filled=True)


@lru_cache(256)
def region_sums(size: int, out: int) -> tuple[Taps, Array]:
    """Return the map to the sums over the regions of ``regions``, and the lengths of these."""
    index, inside = region_places(size, out)
    return Taps(index, inside.astype(np.float64), size, filled=True), inside.sum(1)


def region_places(size: int, out: int) -> tuple[Array, Array]:
    """Return each region's indices (outputs, longest region) and a mask of valid ones; the last index is repeated."""
    number = np.arange(out)
    start, stop = number * size // max(out, 1), -(-(number + 1) * size // max(out, 1))
    index = start[:, None] + np.arange(int((stop - start).max(initial=1)))
    inside = index < stop[:, None]
    return np.minimum(index, stop[:, None] - 1), inside
