"""CPU kernels of convolution: the windows as columns, and one matrix product for each group.

Convolution in any number of dimensions is three linear maps of ``large`` (N, C, ...), over which the window moves,
``weight`` (O, C / groups, ...) and ``small`` (N, O, ...), which has an element for each place of the window: what the
window makes of ``large``, the adjoint of that, and the gradient of the weight. The transposed convolution is the same
with the roles of input and output exchanged.
"""
from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from ...meta.ops.convolution import output_size
from ..windows import Array, Columns, Ints, middle, padded, room
from . import CPU_KERNELS
from .reduction import to_opmath

#: How many bytes of columns are made at a time: they stay in the cache until they are multiplied.
BLOCK = 1 << 20


class Correlation:
    """The three maps, for arrays of certain sizes: ``size`` is that of ``large``, ``out`` that of ``small``."""

    def __init__(self, size: Ints, out: Ints, filters: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int):
        kernel = filters[2:]
        self.size, self.out, self.padding, self.groups = size, out, padding, groups
        self.room = room(size, padding, out, kernel, stride, dilation)
        self.columns = Columns(self.room, out, kernel, stride, dilation)
        self.filters = filters
        self.length = filters[1] * prod(kernel)  # of a column

    def matrices(self, weight: Array) -> Array:
        """The filters as a matrix for each group."""
        return weight.reshape(self.groups, self.filters[0] // self.groups, self.length)

    def blocks(self, count: int, itemsize: int) -> Iterator[slice]:
        """Which samples to take at a time."""
        column = self.groups * self.length * self.columns.count * itemsize
        step = max(1, BLOCK // max(column, 1))
        for start in range(0, count, step):
            yield slice(start, min(start + step, count))

    def gathered(self, large: Array) -> Array:
        """The windows of some samples, with room for all, as a matrix for each group."""
        return np.ascontiguousarray(self.columns.of(large)).reshape(len(large), self.groups, self.length,
                                                                            self.columns.count)

    def spread(self, small: Array) -> Array:
        """The places of all samples, as the windows lie in columns: a matrix for each group."""
        return self.columns.rows(small).reshape(len(small), self.groups, self.filters[0] // self.groups,
                                                self.columns.count)

    def forward(self, large: Array, weight: Array, bias: Array | None) -> Array:
        """``small``: what the window makes of ``large``."""
        large, matrices = padded(large, self.padding, self.room), self.matrices(weight)
        result = np.empty((len(large), self.filters[0], *self.out), large.dtype)
        for block in self.blocks(len(large), large.itemsize):
            made = np.matmul(matrices, self.gathered(large[block]))
            made = made.reshape(len(made), self.filters[0], self.columns.count)
            if bias is not None:
                made += bias[:, None]
            result[block] = self.columns.places(made)
        return result

    def adjoint(self, small: Array, weight: Array) -> Array:
        """``large``: what each element of ``small`` gives to those of its window."""
        wide = np.zeros((len(small), self.filters[1] * self.groups, *self.room), small.dtype)
        windows, matrices, rows = self.columns.of(wide), self.matrices(weight).swapaxes(1, 2), self.spread(small)
        for block in self.blocks(len(small), small.itemsize):
            target = windows[block]
            made = np.matmul(matrices, rows[block]).reshape(target.shape)
            for at in np.ndindex(self.filters[2:]):
                key = (slice(None), slice(None), *at)
                np.add(target[key], made[key], out=target[key])
        return middle(wide, self.padding, self.size)

    def weigh(self, large: Array, small: Array) -> Array:
        """The gradient of the weight."""
        large, rows = padded(large, self.padding, self.room), self.spread(small)
        total = np.zeros((self.groups, self.filters[0] // self.groups, self.length), large.dtype)
        for block in self.blocks(len(large), large.itemsize):
            total += np.matmul(rows[block], self.gathered(large[block]).swapaxes(2, 3)).sum(0)
        return total.reshape(self.filters)


def maps_of(input: Ints, weight: Array, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
            output_padding: Ints, groups: int) -> Correlation:
    """The maps of a convolution of an input of this shape."""
    kernel, size = weight.shape[2:], input[2:]
    stride, padding, dilation, output_padding = (
        values * len(kernel) if len(values) == 1 else values for values in (stride, padding, dilation, output_padding))
    out = output_size(size, kernel, stride, padding, dilation, transposed, output_padding)
    large, small = (out, size) if transposed else (size, out)
    return Correlation(large, small, weight.shape, stride, padding, dilation, groups)


def convolution(input: Array, weight: Array, bias: Array | None, stride: Ints, padding: Ints, dilation: Ints,
                transposed: bool, output_padding: Ints, groups: int) -> Array:
    input, weight, bias = map(to_opmath, (input, weight, bias))
    maps = maps_of(input.shape, weight, stride, padding, dilation, transposed, output_padding, groups)
    if not input.shape[1]:  # ATen makes no channels of none
        return np.empty((len(input), 0, *(maps.size if transposed else maps.out)), input.dtype)
    if not transposed:
        return maps.forward(input, weight, bias)
    result = maps.adjoint(input, weight)
    return result if bias is None else result + bias.reshape(len(bias), *[1] * (result.ndim - 2))


def convolution_backward(grad_output: Array, input: Array, weight: Array, bias_sizes: Any, stride: Ints, padding: Ints,
                         dilation: Ints, transposed: bool, output_padding: Ints, groups: int,
                         output_mask: Any) -> list[Array | None]:
    """The gradients of input, weight and bias, or those of them that ``output_mask`` says."""
    grad, input, weight = map(to_opmath, (grad_output, input, weight))
    maps = maps_of(input.shape, weight, stride, padding, dilation, transposed, output_padding, groups)
    if not input.shape[1]:
        return [np.zeros(sizes, grad.dtype) if wanted else None
                for sizes, wanted in zip((input.shape, weight.shape, bias_sizes), output_mask, strict=True)]
    results: list[Array | None] = [None, None, None]
    if output_mask[0]:
        results[0] = maps.forward(grad, weight.conj(), None) if transposed else maps.adjoint(grad, weight.conj())
    if output_mask[1]:
        results[1] = maps.weigh(grad, input.conj()) if transposed else maps.weigh(input.conj(), grad)
    if output_mask[2]:
        results[2] = grad.reshape(*grad.shape[:2], prod(grad.shape[2:])).sum(2).sum(0)
    return results


CPU_KERNELS.add(convolution, convolution_backward)
