"""Linear maps along one dimension in which each element of the output is the weighted sum of a few of the input: what
resampling and adaptive pooling are made of.
"""
from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np

Array = np.ndarray


class Taps:
    """``index`` and ``weight`` (outputs, taps) say which elements of ``size`` an output takes, times what. Where
    outputs have fewer taps than others, ``filled`` up with those of weight 0, these take part in nothing; of others
    a weight of 0 makes NaN of infinity.
    """

    def __init__(self, index: Array, weight: Array, size: int, filled: bool = False):
        self.index, self.weight, self.size, self.filled = index, weight, size, filled

    @cached_property
    def adjoint(self) -> Taps:
        """The map with inputs and outputs exchanged: what a gradient goes through."""
        outs, taps = np.nonzero(self.weight)
        source, weight = self.index[outs, taps], self.weight[outs, taps]
        order = np.argsort(source, kind="stable")
        source, outs, weight = source[order], outs[order], weight[order]
        counts = np.bincount(source, minlength=self.size)
        number = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)  # of a tap of its output
        shape = self.size, max(1, int(counts.max(initial=0)))
        index, weights = np.zeros(shape, np.intp), np.zeros(shape, self.weight.dtype)
        index[source, number], weights[source, number] = outs, weight
        return Taps(index, weights, len(self.index), filled=True)

    @cached_property
    def matrix(self) -> Array:
        """The whole map as a matrix (outputs, inputs)."""
        whole = np.zeros((len(self.index), self.size), self.weight.dtype)
        np.add.at(whole, (np.arange(len(self.index))[:, None], self.index), self.weight)
        return whole

    @cached_property
    def plain(self) -> bool:
        """Whether each output is one input as it is."""
        return self.index.shape[1] == 1 and bool((self.weight == 1).all())

    def along(self, x: Array, axis: int) -> Array:
        """The map along one dimension of an array, whose dtype the result has. Where it takes much of the input for
        each output, it is a product of matrices.
        """
        if self.plain:
            return np.take(x, self.index[:, 0], axis)
        weight = self.weight.astype(x.dtype, copy=False)
        finite = True
        if self.filled or 2 * self.index.shape[1] > self.size:
            with np.errstate(all="ignore"):
                finite = bool(np.isfinite(x.sum()))  # if it overflows, the slower way is right, too
        if finite and 2 * self.index.shape[1] > self.size:
            return np.moveaxis(np.tensordot(x, self.matrix.astype(x.dtype, copy=False), (axis, 1)), -1, axis)
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
    """The means of regions, as even as they can be: those of adaptive pooling."""
    index, inside = region_places(size, out)
    return Taps(index, inside / inside.sum(1, keepdims=True), size, filled=True)


def region_places(size: int, out: int) -> tuple[Array, Array]:
    """The elements of each of these regions (outputs, longest region), and which of them there are; the others repeat
    the last one.
    """
    number = np.arange(out)
    start, stop = number * size // max(out, 1), -(-(number + 1) * size // max(out, 1))
    index = start[:, None] + np.arange(int((stop - start).max(initial=1)))
    inside = index < stop[:, None]
    return np.minimum(index, stop[:, None] - 1), inside
