"""CPU kernels of convolution: im2col, and one matrix product for each group.

Convolution in any number of dimensions relates three arrays: ``large`` (N, C, ...), which the window slides over,
``weight`` (O, C / groups, ...), and ``small`` (N, O, ...), with one element per window. There are three linear maps:
the correlation from large to small, its adjoint, and the gradient of the weight. Transposed convolution exchanges the
roles of input and output.
"""
from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property, partial
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ...._base import loops
from ...._storage import allocate
from ...common.blocks import each_block
from ...common.half import converted as as_dtype
from ...common.shapes import output_size
from ..precision import is_half, to_opmath
from ..rows import Prepared
from ..windows import Array, Columns, Ints, keys_of_positions, middle, padded, room
from . import CPU_KERNELS

#: The least elements of a column of one group for which reading them where they lie takes less time than im2col.
SHORT = 18
REMAINDERS = 4  #: of places by strides for each of which a convolution pays
PRODUCTS = 8  #: in the time of one element of other loops
NOTHING = np.array([-0.0], np.float32)  #: in place of a bias
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
        self.skips = True  #: whether loops may skip im2col
        #: The maps of the planes of volumes, of which those under a window's elements along the first dimension are
        #: channels.
        self.flat = None if len(out) < 3 else Correlation(
            size[1:], out[1:], (filters[0], filters[1] * kernel[0], *kernel[1:]), stride[1:], padding[1:], dilation[1:],
            groups)

    def looped(self, loop: loops.Loop, samples: int, dtype: Any) -> Callable[..., None] | None:
        """Return the compiled loop for float32 images of several places; None if BLAS multiplies."""
        if self.flat is not None:
            return self.flat.looped(loop, samples * self.out[0], dtype) if self.skips else None
        size = samples * self.filters[0] * self.length * self.columns.real // PRODUCTS
        pays = prod(self.filters[2:]) > 1 and (self.length >= SHORT or self.groups > 1) and size >= loop.least
        return loop.compiled(size) if self.skips and dtype == np.float32 and pays else None

    @cached_property
    def geometry(self) -> list[int]:
        """The numbers of a loop; lines are images of one line."""
        planes = [-(-n // s) for n, s in zip(self.room, self.stride, strict=True)]
        sizes = (planes, 1), (self.filters[2:], 1), (self.padding, 0), (self.stride, 1), (self.dilation, 1)
        return [number for values, of_line in sizes for number in (*[of_line] * (2 - len(self.out)), *values)]

    def images(self, x: Array) -> Array:
        """Return the planes or lines of a loop as images."""
        return np.ascontiguousarray(x).reshape(*x.shape[:2], *(1,) * (2 - len(self.out)), *x.shape[2:])

    def planes(self, large: Array) -> Array:
        """Return the planes under each element of ``small`` along the first dimension of volumes, as channels."""
        samples, channels, depth, *rest = large.shape
        size = prod(rest)
        wide = padded(large.reshape(samples, channels, depth, size), (self.padding[0], 0), (self.room[0], size))
        sample, channel, plane, element = wide.strides
        shape = samples, self.out[0], channels, self.filters[2], size
        strides = sample, plane * self.stride[0], channel, plane * self.dilation[0], element
        windows: Array = np.ndarray(shape, wide.dtype, wide, 0, strides)
        return windows.reshape(samples * self.out[0], channels * self.filters[2], *rest)

    def beside(self, small: Array) -> Array:
        """Return the planes of ``small`` as samples."""
        return np.ascontiguousarray(small.swapaxes(1, 2)).reshape(-1, small.shape[1], *self.out[1:])

    def matrices(self, weight: Array) -> Array:
        """Return the filters as a matrix for each group."""
        return weight.reshape(self.groups, self.filters[0] // self.groups, self.length)

    def each_block(self, work: Callable[[slice], None], samples: int, itemsize: int, by_loop: bool = False) -> None:
        """Call ``work`` with slices of the batch: as few as threads take, or of few columns of im2col."""
        column = max(self.groups * self.length * self.columns.count, 1)
        each_block(work, samples, samples if by_loop else max(1, BLOCK // (column * itemsize)), samples * column)

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
        result = allocate((len(large), self.filters[0], *self.out), large.dtype)
        if (loop := self.looped(loops.correlate, len(large), large.dtype)) is not None:
            self.correlate(loop, large, weight, bias, result, [(0, 1)] * len(self.out))
            return result
        matrices = self.matrices(weight)

        def work(at: slice) -> None:
            made = np.matmul(matrices, self.gathered(large[at]))
            self.columns.write(made.reshape(len(made), self.filters[0], self.columns.count), bias, result[at])

        self.each_block(work, len(large), large.itemsize)
        return result

    def correlate(self, loop: Callable[..., None], large: Array, weight: Array, bias: Array | None, result: Array,
                  places: list[tuple[int, int]]) -> None:
        """Write the correlation by a loop into an array, in each dimension from a place on and so many steps apart."""
        if self.flat is not None:
            key: Any = (..., *[slice(first, first + (n - 1) * step + 1, step)
                               for n, (first, step) in zip(self.out, places, strict=True)])
            for i in range(len(large)):
                made = self.flat.forward(self.planes(large[i:i + 1]), weight.reshape(self.flat.filters), bias)
                result[i][key] = made.swapaxes(0, 1)
            return
        lines = 2 - len(self.out)
        geometry = [*self.geometry, *[1] * lines, *self.out, *[0] * lines, *[first for first, _ in places],
                    *[1] * lines, *[step for _, step in places]]
        images, target, filters = self.images(large), self.images(result), np.ascontiguousarray(self.matrices(weight))
        added = NOTHING if bias is None else np.ascontiguousarray(bias)
        self.each_block(lambda at: loop(images[at], filters, added, target[at], *geometry), len(large), large.itemsize,
                        True)

    def adjoint(self, small: Array, weight: Array) -> Array:
        """Compute ``large``, the adjoint: add each element of ``small`` times the filter to its window."""
        finite = np.isfinite(weight).all()
        if finite and self.turned is not None:
            return self.turned.forward(small, self.flipped(weight), None)
        if not finite and self.columns.joined:
            return self.of_real_places().adjoint(small, weight)
        channels = self.filters[1] * self.groups
        if finite and self.remainders is not None and (
                loop := self.looped(loops.correlate, len(small), small.dtype)) is not None:
            result = np.zeros((len(small), channels, *self.size), small.dtype)
            for maps, taps, places in self.remainders:
                maps.correlate(loop, small, self.flipped(weight[taps]), None, result, places)
            return result
        matrices = self.matrices(weight).swapaxes(1, 2)
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

    @cached_property
    def turned(self) -> Correlation | None:
        """The adjoint as a correlation with flipped filters; None if there is none, or its columns are many more."""
        padding = tuple(d * (k - 1) - p for d, k, p in zip(self.dilation, self.filters[2:], self.padding, strict=True))
        outputs = self.filters[0] // self.groups
        if not self.single or min(padding) < 0 or outputs > 2 * self.filters[1]:
            return None
        filters = (self.filters[1] * self.groups, outputs, *self.filters[2:])
        return Correlation(self.out, self.size, filters, (1,) * len(padding), padding, self.dilation, self.groups)

    def flipped(self, weight: Array) -> Array:
        """Return the filters of the adjoint, which takes outputs for inputs."""
        by_group = weight.reshape(self.groups, -1, *weight.shape[1:]).swapaxes(1, 2)
        backwards: Any = (..., *[slice(None, None, -1)] * len(self.out))
        turned = by_group[backwards]
        return np.ascontiguousarray(turned).reshape(-1, *turned.shape[2:])

    @cached_property
    def remainders(self) -> list[tuple[Correlation, Any, list[tuple[int, int]]]] | None:
        """The adjoint without dilation as a correlation for each remainder of places by the strides, with the elements
        of the filter that it takes, and the first place and step along each dimension; None if there is none, or it
        does not pay.
        """
        kernel, ones = self.filters[2:], (1,) * len(self.out)
        if set(self.dilation) != {1} or not 1 < prod(self.stride) <= min(REMAINDERS, prod(kernel) - 1):
            return None
        found = []
        for remainder in product(*map(range, self.stride)):
            sizes, paddings, places = [], [], []
            for f, s, k, p, n, size in zip(remainder, self.stride, kernel, self.padding, self.out, self.size,
                                           strict=True):
                taps, skipped = len(range(f, k, s)), max(0, -((f - p) // s))
                sizes.append(min(n + taps - 1, (size - 1 + p - f) // s + 1) - skipped)
                paddings.append(taps - 1 - skipped)
                places.append((f + s * skipped - p, s))
            part = tuple([len(range(f, k, s)) for f, s, k in zip(remainder, self.stride, kernel, strict=True)])
            if min(part) and min(sizes) > 0:
                if min(paddings) < 0:
                    return None
                filters = (self.filters[1] * self.groups, self.filters[0] // self.groups, *part)
                maps = Correlation(self.out, tuple(sizes), filters, ones, tuple(paddings), ones, self.groups)
                key = (..., *[slice(f, None, s) for f, s in zip(remainder, self.stride, strict=True)])
                found.append((maps, key, places))
        return found

    def weigh(self, large: Array, small: Array) -> Array:
        """Compute the gradient of the weight."""
        sums: dict[int, Array] = {0: np.zeros(self.filters, large.dtype)}
        loop = self.looped(loops.weigh, len(large), large.dtype)
        if loop is not None and self.flat is not None:
            result = sum(self.flat.weigh(self.planes(large[i:i + 1]), self.beside(small[i:i + 1]))
                         for i in range(len(large)))
            return np.asarray(result).reshape(self.filters)
        if loop is not None:
            images, grads = self.images(large), self.images(small)

        def work(at: slice) -> None:
            if loop is not None:
                sums[at.start] = np.zeros(self.filters, large.dtype)
                loop(images[at], grads[at], self.matrices(sums[at.start]), *self.geometry)
                return
            made = np.matmul(self.spread(small[at]), self.gathered(large[at]).swapaxes(2, 3))
            sums[at.start] = made.sum(0).reshape(self.filters)

        self.each_block(work, len(large), large.itemsize, loop is not None)
        result = np.sum([sums[start] for start in sorted(sums)], 0)
        if (self.columns.joined or loop is not None) and np.isnan(result).any():
            return self.of_real_places().weigh(large, small)
        return result

    def of_real_places(self) -> Correlation:
        """Return the maps without the places between rows, whose zeros times infinity would be NaN."""
        maps = copy(self)
        maps.skips = False
        maps.columns = Columns(self.room, self.out, self.filters[2:], self.stride, self.dilation, joined=False)
        return maps


class FewMaps:
    """The maps of few elements of one real or integer dtype, by a table of the place of each element of the columns in
    ``large``; padding is the place behind all elements.
    """

    def __init__(self, maps: Correlation, samples: int) -> None:
        groups, self.filters = maps.groups, maps.filters
        self.large, self.small = (samples, self.filters[1] * groups, *maps.size), (samples, self.filters[0], *maps.out)
        self.count = prod(self.large)
        wide = padded(np.arange(self.count).reshape(self.large), maps.padding, maps.room, self.count)
        keys = keys_of_positions(maps.out, self.filters[2:], maps.stride, maps.dilation)
        table, outputs = np.stack([wide[key] for key in keys], 2), self.filters[0] // groups
        self.is_padded, self.alone = bool((table == self.count).any()), samples == groups == 1
        lead, by_group = ((), ()) if self.alone else ((samples, groups), (groups,))
        self.rows, self.matrices = (*lead, outputs, prod(maps.out)), (*by_group, outputs, maps.length)
        self.table = table.reshape(*lead, maps.length, prod(maps.out))
        by_number = sorted((outputs, maps.length, prod(maps.out)))[1] == 1  # by which ``dot`` takes 0 times NaN for 0
        self.places, self.product = self.table.ravel(), np.dot if self.alone and not by_number else np.matmul

    def gathered(self, large: Array) -> Array:
        if self.is_padded:
            flat = np.zeros(self.count + 1, large.dtype)
            flat[:-1] = large.ravel()
            return flat.take(self.table)
        return large.take(self.table)

    def forward(self, large: Array, weight: Array, bias: Array | None) -> Array:
        out = np.empty(self.small, large.dtype)
        self.product(weight.reshape(self.matrices), self.gathered(large), out.reshape(self.rows))
        if bias is not None:
            out += bias.reshape(-1, *[1] * (out.ndim - 2))
        return out

    def adjoint(self, small: Array, weight: Array) -> Array:
        made = self.product(weight.reshape(self.matrices).swapaxes(-1, -2), small.reshape(self.rows))
        if made.dtype.kind != "f":  # of which float64 does not hold all sums
            sums = np.zeros(self.count + 1, made.dtype)
            np.add.at(sums, self.places, made.ravel())
        else:
            sums = np.bincount(self.places, made.ravel(), self.count + 1).astype(small.dtype)
        return sums[:-1].reshape(self.large)

    def weigh(self, large: Array, small: Array) -> Array:
        made = self.product(small.reshape(self.rows), self.gathered(large).swapaxes(-1, -2))
        return (made if self.alone else np.add.reduce(made)).reshape(self.filters)


#: Elements of columns up to which they are in a table: with windows side by side, and with others.
FEW, SOME = 1 << 13, 1 << 15


def maps_of(input: Array, weight: Array, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
            output_padding: Ints, groups: int) -> Any:
    """Return the maps of a convolution of inputs of this shape: a ``Correlation``, or ``FewMaps``."""
    kernel, size = weight.shape[2:], input.shape[2:]
    stride, padding, dilation, output_padding = (
        values * len(kernel) if len(values) == 1 else values for values in (stride, padding, dilation, output_padding))
    out = output_size(size, kernel, stride, padding, dilation, transposed, output_padding)
    large, small = (out, size) if transposed else (size, out)
    maps = Correlation(large, small, weight.shape, stride, padding, dilation, groups)
    columns = len(input) * groups * maps.length * maps.columns.real
    few = input.size and 0 < columns <= (FEW if maps.single else SOME)
    kept = is_half(input) or input.dtype.char in "fd" or input.dtype.kind in "iu"
    return FewMaps(maps, len(input)) if few and kept else maps


@partial(Prepared, count=3)
def convolution(input: Array, weight: Array, bias: Array | None, stride: Ints, padding: Ints, dilation: Ints,
                transposed: bool, output_padding: Ints, groups: int) -> Callable[..., Array]:
    maps = maps_of(input, weight, stride, padding, dilation, transposed, output_padding, groups)
    if not input.shape[1]:  # ATen returns no channels for an input without channels
        places = maps.size if transposed else maps.out
        return lambda x, weight, bias: np.empty((len(x), 0, *places), to_opmath(x).dtype)

    def turned(input: Array, weight: Array, bias: Array | None) -> Array:
        result: Array = maps.adjoint(input, weight)
        return result if bias is None else result + bias.reshape(len(bias), *[1] * (result.ndim - 2))

    run: Callable[..., Array] = turned if transposed else maps.forward
    if not is_half(input):
        return run
    return lambda x, weight, bias: as_dtype(run(*map(to_opmath, (x, weight, bias))), input.dtype)


@partial(Prepared, count=3)
def convolution_backward(grad_output: Array, input: Array, weight: Array, bias_sizes: Any, stride: Ints, padding: Ints,
                         dilation: Ints, transposed: bool, output_padding: Ints, groups: int,
                         output_mask: Any) -> Callable[..., list[Array | None]]:
    """Compute the gradients of input, weight and bias that ``output_mask`` requests."""
    maps = maps_of(input, weight, stride, padding, dilation, transposed, output_padding, groups)
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
