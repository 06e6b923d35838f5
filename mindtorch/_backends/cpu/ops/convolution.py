"""CPU kernels of convolution: im2col, and one matrix product for each group.

Convolution in any number of dimensions relates three arrays: ``large`` (N, C, ...), which the window slides over,
``weight`` (O, C / groups, ...), and ``small`` (N, O, ...), with one element per window. There are three linear maps:
the correlation from large to small, its adjoint, and the gradient of the weight. Transposed convolution exchanges the
roles of input and output.
"""
from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ...._storage import allocate
from ...common.blocks import each_block
from ...common.shapes import output_size
from ..rows import Prepared
from ..windows import Array, Columns, Ints, middle, room
from . import CPU_KERNELS
from .reduction import to_opmath

#: Bytes of columns made at a time: they stay in the cache until they are multiplied.
BLOCK = 1 << 20


class Correlation:
    """The three maps for arrays of given sizes: ``size`` is of ``large``, ``out`` of ``small``."""

    def __init__(self, size: Ints, out: Ints, filters: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int):
        kernel = filters[2:]
        self.size, self.out, self.padding, self.groups = size, out, padding, groups
        self.room = room(size, padding, out, kernel, stride, dilation)
        self.columns = Columns(self.room, out, kernel, stride, dilation)
        self.stride = stride
        self.filters, self.dilation = filters, dilation
        self.single = set(stride) <= {1}  # a window stride of 1
        self.length = filters[1] * prod(kernel)  # of a column

    def matrices(self, weight: Array) -> Array:
        """Return the filters as a matrix for each group."""
        return weight.reshape(self.groups, self.filters[0] // self.groups, self.length)

    def each_block(self, work: Callable[[slice], None], samples: int, itemsize: int) -> None:
        """Call ``work`` with slices of the batch."""
        column = max(self.groups * self.length * self.columns.count, 1)
        each_block(work, samples, max(1, BLOCK // (column * itemsize)), samples * column)

    def gathered(self, large: Array) -> Array:
        """Return the im2col columns of samples as a matrix for each group."""
        windows = self.columns.gathered(large, self.padding)
        return windows.reshape(len(large), self.groups, self.length, self.columns.count)

    def spread(self, small: Array) -> Array:
        """Return ``small`` in the layout of the columns' places, as a matrix for each group."""
        return self.columns.rows(small).reshape(len(small), self.groups, self.filters[0] // self.groups,
                                                self.columns.count)

    def forward(self, large: Array, weight: Array, bias: Array | None) -> Array:
        """Compute ``small``, the correlation of ``large`` with the weight."""
        matrices = self.matrices(weight)
        result = allocate((len(large), self.filters[0], *self.out), large.dtype)

        def work(at: slice) -> None:
            made = np.matmul(matrices, self.gathered(large[at]))
            self.columns.write(made.reshape(len(made), self.filters[0], self.columns.count), bias, result[at])

        self.each_block(work, len(large), large.itemsize)
        return result

    def adjoint(self, small: Array, weight: Array) -> Array:
        """Compute ``large``, the adjoint: add each element of ``small`` times the filter to its window."""
        finite = np.isfinite(weight).all()
        if finite and (turned := self.turned()) is not None:
            by_group = weight.reshape(self.groups, -1, *weight.shape[1:]).swapaxes(1, 2)
            flipped = np.flip(by_group, tuple(range(3, by_group.ndim)))
            return turned.forward(small, np.ascontiguousarray(flipped).reshape(turned.filters), None)
        if not finite and self.columns.joined:
            return self.of_real_places().adjoint(small, weight)
        matrices, channels = self.matrices(weight).swapaxes(1, 2), self.filters[1] * self.groups
        result = allocate((len(small), channels, *self.size), small.dtype)

        def work(at: slice) -> None:
            rows = self.spread(small[at])
            wide = np.zeros((len(rows), channels, *self.room), small.dtype)
            windows = self.columns.of(wide)
            made = np.matmul(matrices, rows).reshape(windows.shape)
            for place in np.ndindex(self.filters[2:]):
                key = (slice(None), slice(None), *place)
                np.add(windows[key], made[key], out=windows[key])
            result[at] = middle(wide, self.padding, self.size)

        self.each_block(work, len(small), small.itemsize)
        return result

    def turned(self) -> Correlation | None:
        """Return the adjoint as a correlation with flipped filters; None if there is none, or its columns are many
        more.
        """
        padding = tuple(d * (k - 1) - p for d, k, p in zip(self.dilation, self.filters[2:], self.padding, strict=True))
        outputs = self.filters[0] // self.groups
        if not self.single or min(padding) < 0 or outputs > 2 * self.filters[1]:
            return None
        filters = (self.filters[1] * self.groups, outputs, *self.filters[2:])
        return Correlation(self.out, self.size, filters, (1,) * len(padding), padding, self.dilation, self.groups)

    def weigh(self, large: Array, small: Array) -> Array:
        """Compute the gradient of the weight."""
        sums: dict[int, Array] = {0: np.zeros(self.filters, large.dtype)}

        def work(at: slice) -> None:
            made = np.matmul(self.spread(small[at]), self.gathered(large[at]).swapaxes(2, 3))
            sums[at.start] = made.sum(0).reshape(self.filters)

        self.each_block(work, len(large), large.itemsize)
        result = np.sum([sums[start] for start in sorted(sums)], 0)
        if self.columns.joined and np.isnan(result).any():
            return self.of_real_places().weigh(large, small)
        return result

    def of_real_places(self) -> Correlation:
        """Return the maps without the places between rows, whose zeros times infinity would be NaN."""
        maps = copy(self)
        maps.columns = Columns(self.room, self.out, self.filters[2:], self.stride, self.dilation, joined=False)
        return maps


def maps_of(input: Ints, weight: Array, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
            output_padding: Ints, groups: int) -> Correlation:
    """Return the maps of a convolution of an input of this shape."""
    kernel, size = weight.shape[2:], input[2:]
    stride, padding, dilation, output_padding = (
        values * len(kernel) if len(values) == 1 else values for values in (stride, padding, dilation, output_padding))
    out = output_size(size, kernel, stride, padding, dilation, transposed, output_padding)
    large, small = (out, size) if transposed else (size, out)
    return Correlation(large, small, weight.shape, stride, padding, dilation, groups)


@partial(Prepared, count=3)
def convolution(input: Array, weight: Array, bias: Array | None, stride: Ints, padding: Ints, dilation: Ints,
                transposed: bool, output_padding: Ints, groups: int) -> Callable[..., Array]:
    maps = maps_of(input.shape, weight, stride, padding, dilation, transposed, output_padding, groups)
    if not input.shape[1]:  # ATen returns no channels for an input without channels
        places = maps.size if transposed else maps.out
        return lambda x, weight, bias: np.empty((len(x), 0, *places), to_opmath(x).dtype)
    if not transposed:
        if input.itemsize != 2:
            return maps.forward
        return lambda x, weight, bias: maps.forward(*map(to_opmath, (x, weight, bias)))

    def run(input: Array, weight: Array, bias: Array | None) -> Array:
        result = maps.adjoint(to_opmath(input), to_opmath(weight))
        return result if bias is None else result + to_opmath(bias).reshape(len(bias), *[1] * (result.ndim - 2))

    return run


@partial(Prepared, count=3)
def convolution_backward(grad_output: Array, input: Array, weight: Array, bias_sizes: Any, stride: Ints, padding: Ints,
                         dilation: Ints, transposed: bool, output_padding: Ints, groups: int,
                         output_mask: Any) -> Callable[..., list[Array | None]]:
    """Compute the gradients of input, weight and bias that ``output_mask`` requests."""
    maps = maps_of(input.shape, weight, stride, padding, dilation, transposed, output_padding, groups)
    has_channels = input.shape[1]

    def run(grad: Array, input: Array, weight: Array) -> list[Array | None]:
        grad, input, weight = map(to_opmath, (grad, input, weight))
        if not has_channels:
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

    return run


CPU_KERNELS.add(convolution, convolution_backward)
