"""CPU kernels of pooling, in two and three dimensions.

Maxima compare all windows at once: one array for each window offset. The index of a maximum is flat over the last
dimensions; the first of equal elements counts, and NaN is greatest. Means are sums along one dimension after the other.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...._base import loops
from ...._base.determinism import alert_not_deterministic
from ...._storage import allocate
from ...common.blocks import BLOCK, LARGE, SMALL, each_block
from ...common.half import converted
from ...common.shapes import places
from ..along import taken_along
from ..precision import is_half, narrowed, to_opmath
from ..rows import MOST, Prepared, by_matrix
from ..taps import region_places, region_sums, regions
from ..windows import Array, Ints, keys_of_positions, middle, padded, room
from . import AT_ONCE, CPU_KERNELS
from .sums import mean
from .writes import extreme, scatter_add_

#: Where windows begin and end along a dimension: for all planes, or for each one.
Ends = tuple[Array, Array]
CALL = 1 << 11  #: elements that NumPy computes in the time that it takes to be called


class Window(NamedTuple):
    """A window that slides over arrays of one size; ``wide`` is the size of an array that holds all windows."""

    size: Ints
    out: Ints
    kernel: Ints
    stride: Ints
    padding: Ints
    dilation: Ints
    wide: Ints

    @classmethod
    def over(cls, size: Ints, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool,
             dilation: Ints = (1,)) -> Window:
        """Return the window of an operator's settings, which hold one number for all dimensions, or one for each."""
        dims = len(size)
        kernel, padding, dilation = (tuple(v) * dims if len(v) == 1 else tuple(v) for v in (kernel, padding, dilation))
        stride = (tuple(stride) * dims if len(stride) == 1 else tuple(stride)) if stride else kernel
        settings = zip(size, kernel, stride, padding, dilation, strict=True)
        out = tuple(places(n, k, s, p, d, ceil_mode) for n, k, s, p, d in settings)
        return cls(size, out, kernel, stride, padding, dilation, room(size, padding, out, kernel, stride, dilation))

    def padded(self, x: Array, value: Any = 0) -> Array:
        """Return a contiguous array that holds all windows; ``x`` itself if it does."""
        return padded(x, self.padding, self.wide, value)

    def keys(self) -> list[Any]:
        """Return an index for each window offset, in an array that holds all windows."""
        return keys_of_positions(self.out, self.kernel, self.stride, self.dilation)

    def parts(self, x: Array, value: Any = 0) -> list[Array]:
        """Return the elements at each window offset; ``value`` in the padding."""
        wide = self.padded(x, value)
        return [wide[key] for key in self.keys()]

    def steps(self) -> list[list[Any]]:
        """Return an index for each offset along a dimension, for one dimension after the other."""
        return [[(..., slice(k * d, k * d + (n - 1) * step + 1, step), *(slice(None),) * (len(self.size) - 1 - axis))
                 for k in range(length)]
                for axis, (n, length, step, d) in enumerate(
                    zip(self.out, self.kernel, self.stride, self.dilation, strict=True))]

    def by_loop(self, otherwise: Callable[..., Any], x: Array) -> Callable[..., Any]:
        """Return the function of the maxima of all windows; ``otherwise`` computes them, too, and many floats faster.
        """
        if x.dtype.char in "fd" and x.size > SMALL:
            return otherwise
        ends = []
        for n, o, k, s, p, d, _ in zip(*self, strict=True):
            start = np.arange(o) * s - p
            ends.append((start + d * np.maximum(-(start // d), 0), np.minimum(start + (k - 1) * d + 1, n)))
        return by_loop(otherwise, x, ends, prod(self.kernel), self.dilation)


# -- maxima ------------------------------------------------------------------------------------------------------------

def greatest(numbers: Sequence[Array]) -> Callable[[Sequence[Array]], tuple[Array, Array]]:
    """Return the function from parts of an array to their elementwise maximum and its element number. ``numbers`` are
    the numbers of each part's elements in the last dimensions; -1 excludes an element.
    """
    table = np.stack(numbers)
    count, small = table[0].size, np.uint8 if len(table) < 256 else np.intp
    first = (table >= 0).argmax(0).astype(small)  # the first part that takes part
    flat, places = table.reshape(-1), np.arange(count)

    def maxima(parts: Sequence[Array]) -> tuple[Array, Array]:
        shape = parts[0].shape
        values, best = allocate((len(parts), *shape), parts[0].dtype), allocate(shape, parts[0].dtype)
        np.stack(parts, out=values)
        best[...] = parts[0]
        if not best.size:
            return best, np.zeros(best.shape, np.int64)
        chosen = np.broadcast_to(first.reshape(first.shape if first.ndim < best.ndim else shape), shape).copy()
        for k in range(1, len(parts)):
            better = (values[k] > best).view(np.uint8)
            np.maximum(chosen, better * small(k), out=chosen)
            np.maximum(best, values[k], out=best)
        if best.dtype.kind not in "iu" and np.isnan(best.sum()):  # the last NaN counts
            for k, part in enumerate(values):
                np.copyto(chosen, k, where=np.isnan(part))
        at = chosen.reshape(-1, count) * np.intp(count) + places
        return best, flat.take(at, mode="clip").reshape(shape)

    return maxima


def numbered(size: Ints) -> Array:
    return np.arange(prod(size)).reshape(size)


def looped(x: Array, out: Ints, taps: int, step: Ints) -> Callable[..., Any] | None:
    """Return the function from an array, and where its windows of about so many ``taps`` begin and end, to their maxima
    and the places of these: a loop's. It returns None until the loop is compiled.
    """
    dims, kind = len(out), x.dtype
    fill, lead = (1,) * (3 - dims), x.shape[:x.ndim - dims]
    of_volumes, of_windows = (prod(lead), *fill, *x.shape[x.ndim - dims:]), (prod(lead), *fill, *out)
    bits, work = np.dtype(np.uint16) if is_half(x) else kind, taps * max(2 * prod(of_windows), CALL)
    steps, shape, index = np.array((*fill, *step)), (*lead, *out), np.dtype(np.int64)
    block, dense = max(BLOCK * prod(lead) // work, 1) if work >= LARGE else 0, x.flags.c_contiguous
    if not x.size or kind.char not in loops.maxima.loops:
        return None

    def run(x: Array, *ends: Array) -> Any:
        if not dense:
            x = np.ascontiguousarray(x)
        if (loop := loops.maxima.compiled(work, x)) is None:
            return None
        volumes, best = x.view(bits).reshape(of_volumes), allocate(of_windows, bits)
        found = allocate(of_windows, index)
        if block:
            each_block(lambda part: loop(volumes[part], *[row[part] if len(row) > 1 else row for row in ends], steps,
                                         best[part], found[part]), len(volumes), block, work)
        else:
            loop(volumes, *ends, steps, best, found)
        return best.view(kind).reshape(shape), found.reshape(shape)

    return run


def by_loop(otherwise: Callable[..., Any], x: Array, ends: Sequence[Ends], taps: int,
            step: Ints = (1, 1, 1)) -> Callable[..., Any]:
    """Return the function of arrays that computes ``otherwise`` until the loop is compiled, if all windows hold an
    element.
    """
    out, most = tuple([len(begin) for begin, _ in ends]), max([len(begin) for begin, _ in ends])
    loop = looped(x, out, taps, step[:len(ends)])
    if loop is None or any((begin >= end).any() for begin, end in ends):
        return otherwise
    rows = [np.full((1, 3, most), value) for value in (0, 1)]
    for d, pair in enumerate(ends, 3 - len(ends)):
        for row, line in zip(rows, pair, strict=True):
            row[0, d, :len(line)] = line
    return lambda x: otherwise(x) if (found := loop(x, *rows)) is None else found


class Few:
    """The maxima of windows over few elements, which are taken side by side. ``parts`` are as in ``greatest``."""

    @classmethod
    def of(cls, x: Array, out: Ints, parts: Sequence[Array], most: int = MOST >> 2) -> Few | None:
        """Return None for many elements, or a window without any."""
        table = np.stack([part.ravel() for part in parts], 1)
        lines, half = prod(x.shape[:-len(out)]) * len(table), is_half(x)
        few = 0 < lines * table.shape[1] <= most and (half or x.dtype.kind in "iuf")
        return cls(x, out, table, lines, half) if few and (table.max(1) >= 0).all() else None

    def __init__(self, x: Array, out: Ints, table: Array, lines: int, half: bool) -> None:
        dims, width = len(out), table.shape[1]
        first = np.take_along_axis(table, (table >= 0).argmax(1)[:, None], 1)
        table = np.where(table < 0, first, table)
        outer, size = prod(x.shape[:-dims]), prod(x.shape[x.ndim - dims:])
        self.source = (table + np.arange(outer)[:, None, None] * size).reshape(lines, width)
        self.numbers, self.starts = np.tile(table.ravel(), outer), np.arange(0, lines * width, width)
        self.shape, self.half = (*x.shape[:-dims], *out), half

    def places(self, x: Array) -> tuple[Array, Array]:
        """Return the elements of all windows, and the places of the maxima among them: of the first NaN, if any."""
        elements = x.take(self.source)
        at = (elements.astype(np.float32) if self.half else elements).argmax(1)
        at += self.starts
        return elements, at

    def values(self, x: Array) -> Array:
        elements, at = self.places(x)
        return elements.take(at.reshape(self.shape))

    def numbered(self, x: Array) -> tuple[Array, Array] | None:
        """Return the maxima and their numbers; None if one is NaN."""
        elements, at = self.places(x)
        at = at.reshape(self.shape)
        values = elements.take(at)
        return None if has_nan(values) else (values, self.numbers.take(at))

    def before(self, row: Callable[[Array], Any]) -> Callable[[Array], Any]:
        """Return the function of both that leaves NaN to ``row``, where the last one counts."""
        def run(x: Array) -> tuple[Array, Array]:
            if (found := self.numbered(x)) is None:
                values, numbers = row(x)
                found = values.astype(x.dtype, copy=False), numbers
            return found

        return run


def max_pool(dims: int) -> Prepared:
    def settled(size: Ints, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), dilation: Ints = (1,),
                ceil_mode: bool = False) -> tuple[Window, list[Array], Callable[[Array], tuple[Array, Array]]]:
        """Return the window, the numbers of its elements, and the function of arrays of any number of elements."""
        window = Window.over(size, kernel_size, stride, padding, ceil_mode, dilation)
        keys, numbers = window.keys(), window.parts(numbered(size), -1)
        maxima = greatest(numbers)

        def row(self: Array) -> tuple[Array, Array]:
            x = to_opmath(self)
            least, shape = extreme(False, x.dtype), (*x.shape[:-dims], *window.out)
            planes = x.reshape(prod(x.shape[:-dims]), *size)
            found: dict[int, tuple[Array, Array]] = {}  # by start of a block

            def work(some: slice) -> None:
                wide = window.padded(planes[some], least)
                found[some.start] = maxima([wide[key] for key in keys])

            if x.size < LARGE:
                work(slice(0, None))
            else:
                each_block(work, len(planes), max(BLOCK // prod(size), 1), x.size)
            blocks = [found[start] for start in sorted(found)]
            best, at = blocks[0] if len(blocks) == 1 else map(np.concatenate, zip(*blocks, strict=True))
            return best.reshape(shape), at.reshape(shape)

        return window, numbers, row

    def plain(x: Array, *settings: Any) -> tuple[Array, Array]:
        return settled(x.shape[-dims:], *settings)[2](x)

    def prepare(x: Array, *settings: Any) -> Any:
        window, numbers, row = settled(x.shape[-dims:], *settings)
        few = Few.of(x, window.out, numbers)
        return window.by_loop(row, x) if few is None else few.before(row)

    return Prepared(prepare, plain=plain)


def over_regions(otherwise: Callable[..., Any], x: Array, out: Ints) -> Callable[..., Any]:
    """Return the function of maxima of regions."""
    size = x.shape[-len(out):]
    tables = [region_places(n, o)[0] for n, o in zip(size, out, strict=True)]
    return by_loop(otherwise, x, [(table[:, 0], table[:, -1] + 1) for table in tables],
                   prod([table.shape[1] for table in tables]))


def adaptive_max_pool(dims: int) -> Prepared:
    def settled(x: Array, output_size: Ints) -> tuple[list[Any], list[Array]]:
        size = x.shape[-dims:]
        tables = [region_places(n, o)[0].T for n, o in zip(size, output_size, strict=True)]  # a short region repeats
        keys = [(..., *np.ix_(*at)) for at in product(*tables)]  # its last element
        return keys, [numbered(size)[key] for key in keys]

    def by_region(size: Ints, output_size: Ints) -> Callable[[Array], tuple[Array, Array]]:
        """Return the function that finds the maxima of one region after the other; of NaN, the last one counts."""
        ends = [[(int(at[0]), int(at[-1]) + 1) for at in region_places(n, o)[0]]
                for n, o in zip(size, output_size, strict=True)]
        boxes: list[Any] = [(..., *[slice(*end) for end in box]) for box in product(*ends)]
        numbers = [numbered(size)[box].ravel() for box in boxes]

        def row(x: Array) -> tuple[Array, Array]:
            x, lead = to_opmath(x), x.shape[:-dims]
            best, found = np.empty((len(boxes), prod(lead)), x.dtype), np.empty((len(boxes), prod(lead)), np.int64)
            for values, chosen, box, number in zip(best, found, boxes, numbers, strict=True):
                part = x[box].reshape(prod(lead), number.size)
                at = part.argmax(1)
                values[:] = taken_along(part, at[:, None], 1)[:, 0]
                if np.isnan(values).any():
                    at = np.where(np.isnan(values), number.size - 1 - np.isnan(part[:, ::-1]).argmax(1), at)
                number.take(at, out=chosen)
            shape = *lead, *output_size
            return best.T.reshape(shape), found.T.reshape(shape)

        return row

    def prepare(x: Array, output_size: Ints) -> Callable[[Array], tuple[Array, Array]]:
        size = x.shape[-dims:]
        taps = prod([region_places(n, o)[0].shape[1] for n, o in zip(size, output_size, strict=True)])
        if x.size > MOST and prod(output_size) < taps:
            return over_regions(by_region(size, output_size), x, output_size)
        keys, numbers = settled(x, output_size)
        maxima = greatest(numbers)

        def row(x: Array) -> tuple[Array, Array]:
            x = to_opmath(x)
            return maxima([x[key] for key in keys])

        few = Few.of(x, output_size, numbers)
        return over_regions(row, x, output_size) if few is None else few.before(row)

    return Prepared(prepare)


def highest(dims: int) -> Callable[..., Any]:
    """Return a function that prepares maxima without their indices (``max_pool1d``), along one dimension after the
    other.
    """
    def prepare(x: Array, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), *rest: Any) -> Any:
        window = Window.over(x.shape[-dims:], kernel_size, stride, padding, *(*rest, *((1,), False)[len(rest):])[::-1])
        if x.size <= MOST and (few := Few.of(x, window.out, window.parts(numbered(window.size), -1), MOST)) is not None:
            return few.values
        steps, block = window.steps(), max(SMALL // max(prod(window.size), 1), 1)
        shape, least = (*x.shape[:-dims], *window.out), extreme(False, x.dtype)

        def highest(x: Array) -> Array:
            x = to_opmath(x)
            x = x if window.wide == window.size else window.padded(x, least)
            for first, *others in steps:
                best = np.maximum(x[first], x[others[0]]) if others else x[first]
                for key in others[1:]:
                    np.maximum(best, x[key], out=best)
                x = best
            return x

        def in_blocks(x: Array) -> Array:
            out = allocate(shape, x.dtype)
            planes, results = x.reshape(-1, *window.size), out.reshape(-1, *window.out)

            def work(some: slice) -> None:
                best = highest(planes[some])
                results[some] = converted(best, x.dtype)

            each_block(work, len(planes), block, x.size)
            return out

        if x.size > SMALL:
            return in_blocks
        return narrowed(highest, x) if is_half(x) else highest

    return prepare


def has_nan(x: Array) -> bool:
    """Return True if one of few numbers is NaN."""
    if x.dtype.kind in "iu":
        return False
    line = to_opmath(x).ravel()
    squares = line.dot(line)
    return bool(squares != squares)


def fractional_starts(size: int, kernel: int, out: int, samples: Array) -> Array:
    """Return where the windows begin along a dimension, for each sample: (samples, out)."""
    if out < 2:
        return np.full((len(samples), out), size - kernel)
    dtype = samples.dtype.type
    step = dtype(size - kernel) / dtype(out - 1)
    number = np.arange(out - 1, dtype=dtype)
    starts = ((number + samples[:, None]) * step).astype(np.intp) - (samples * step).astype(np.intp)[:, None]
    return np.concatenate([np.clip(starts, 0, size - kernel), np.full((len(samples), 1), size - kernel)], 1)


def fractional_max_pool(dims: int) -> Prepared:
    order = (1, 0) if dims == 2 else (0, 1, 2)  # ATen's order of the samples

    def row(self: Array, kernel_size: Ints, output_size: Ints, random_samples: Array) -> tuple[Array, Array]:
        x, samples, size = to_opmath(self), samples_of(self, random_samples), self.shape[-dims:]
        steps = [prod(size[d + 1:]) for d in range(dims)]
        starts = [fractional_starts(n, k, o, samples[:, order[d]])
                  for d, (n, k, o) in enumerate(zip(size, kernel_size, output_size, strict=True))]
        corners: Any = 0
        for d, start in enumerate(starts):
            line = [len(start), *[start.shape[1] if e == d else 1 for e in range(dims)]]
            corners = corners + start.reshape(line) * steps[d]
        offsets = [sum(a * s for a, s in zip(at, steps, strict=True)) for at in product(*map(range, kernel_size))]
        shape, planes = (*self.shape[:-dims], *output_size), np.arange(0, x.size, prod(size)).reshape(-1, *[1] * dims)
        numbers = [corners + offset for offset in offsets]
        best, at = greatest(numbers)([x.take(number + planes) for number in numbers])
        return best.reshape(shape), at.reshape(shape)

    def samples_of(x: Array, samples: Array) -> Array:
        batch = x.shape[0] if x.ndim == dims + 2 else 1
        found: Array = to_opmath(samples)[:batch, :x.shape[-dims - 1]].reshape(-1, dims)
        return found

    def prepare(x: Array, kernel_size: Ints, output_size: Ints, samples: Array) -> Any:
        if (loop := looped(x, output_size, prod(kernel_size), (1,) * dims)) is None:
            return None
        planes, most, lead = prod(x.shape[:-dims]), max(output_size), 3 - dims
        settings = *map(np.array, (order, x.shape[-dims:], kernel_size, output_size)),
        work = planes * sum(output_size) + 16 * CALL

        def run(x: Array, kernel_size: Ints, output_size: Ints, random_samples: Array) -> tuple[Array, Array]:
            samples, found = np.ascontiguousarray(samples_of(x, random_samples)), None
            if (place := loops.fractional_ends.compiled(work, samples)) is not None:
                begin, end = np.zeros((planes, 3, most), np.int64), np.ones((planes, 3, most), np.int64)
                place(samples, *settings, begin[:, lead:], end[:, lead:])
                found = loop(x, begin, end)
            return found or row(x, kernel_size, output_size, random_samples)

        return run

    return Prepared(prepare, 4, row)


def starts_of(shape: Ints, dims: int) -> Array:
    """Return the flat places at which the last dimensions of an array of this shape begin, as a column."""
    return np.arange(prod(shape[:-dims]))[:, None] * prod(shape[-dims:])


def max_pool_backward(dims: int) -> Prepared:
    """Return the backward kernel of all max pooling: the gradient is added to the maxima."""

    def prepare(grad_output: Array, self: Array, *settings: Any) -> Callable[..., Array]:
        shape, size, starts = self.shape, self.size, starts_of(self.shape, dims)
        lines = len(starts), prod(grad_output.shape[-dims:])
        one_by_one = is_half(grad_output) or grad_output.size <= MOST  # ATen accumulates half precision unwidened

        def run(grad: Array, self: Array, *settings: Any) -> Array:
            total, indices = np.zeros(size, grad.dtype), settings[-1].reshape(lines)
            if one_by_one:
                np.add.at(total, (indices + starts).ravel(), grad.ravel())
            else:
                planes = total.reshape(len(starts), prod(shape[-dims:]))
                scatter_add_(planes, 1, indices, np.ascontiguousarray(grad).reshape(lines))
            return total.reshape(shape)

        return run

    return Prepared(prepare, 9)


def max_unpool(dims: int) -> Callable[..., Array]:
    def row(self: Array, indices: Array, output_size: Ints, *settings: Ints) -> Array:
        alert_not_deterministic(f"max_unpooling{dims}d_forward_out")
        count, shape = prod(output_size), (*self.shape[:-dims], *output_size)
        if indices.size and not 0 <= indices.min() <= indices.max() < count:
            wrong = indices[(indices < 0) | (indices >= count)]
            raise RuntimeError(f"Found an invalid max index: {wrong.flat[0]} (output volumes are of size "
                               f"{'x'.join(map(str, output_size))})")
        result = np.zeros(prod(shape), self.dtype)
        starts = starts_of(shape, dims)
        result[indices.reshape(len(starts), prod(indices.shape[-dims:])) + starts] = self.reshape(
            len(starts), prod(self.shape[-dims:]))
        return result.reshape(shape)

    return row


# -- means -------------------------------------------------------------------------------------------------------------

def divisors(window: Window, include_pad: bool, override: int | None) -> Any:
    """Return the divisor of each window's sum: its number of elements, with or without padding."""
    if override is not None:
        return np.array(override)
    total = np.ones((1,) * len(window.size), np.int64)
    for d, (n, o, k, s, p, *_) in enumerate(zip(*window, strict=True)):
        start = np.arange(o) * s - p
        stop = np.minimum(start + k, n + p)
        count = stop - start if include_pad else np.minimum(stop, n) - np.maximum(start, 0)
        total = total * count.reshape([-1 if e == d else 1 for e in range(total.ndim)])
    return total


def quotient(total: Array, divisor: Any) -> Array:
    """Divide; integers as C does."""
    if total.dtype.kind == "i":
        return (total - np.fmod(total, divisor)) // divisor
    return total / divisor.astype(total.dtype)


def avg_pool(dims: int) -> Prepared:
    def prepare(x: Array, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), ceil_mode: bool = False,
                count_include_pad: bool = True, divisor_override: int | None = None) -> Callable[[Array], Array]:
        window = Window.over(x.shape[-dims:], kernel_size, stride, padding, ceil_mode)
        kind, counts = to_opmath(x[:0]).dtype, divisors(window, count_include_pad, divisor_override)
        steps = window.steps()
        if kind.kind == "f":
            counts = counts.astype(kind)
            counts = counts.ravel()[0] if counts.size and (counts == counts.ravel()[0]).all() else counts

        def summed(x: Array) -> Array:
            x = x if window.wide == window.size else window.padded(x)
            for first, *others in steps:
                total = x[first] + x[others[0]] if others else x[first].copy()
                for key in others[1:]:
                    total += x[key]
                x = total
            return x

        if kind.kind == "f":
            return by_matrix(summed, x, dims, divisor=counts)
        sums = by_matrix(summed, x, dims)
        return lambda x: quotient(sums(x), counts)

    return Prepared(prepare)


def avg_pool_backward(dims: int) -> Prepared:
    def prepare(grad_output: Array, self: Array, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool,
                count_include_pad: bool, divisor_override: int | None) -> Callable[..., Array]:
        window = Window.over(self.shape[-dims:], kernel_size, stride, padding, ceil_mode)
        counts, keys = divisors(window, count_include_pad, divisor_override), window.keys()[::-1]

        def spread(grad: Array) -> Array:
            share = quotient(grad, counts)
            total = np.zeros((*grad.shape[:-dims], *window.wide), share.dtype)
            for key in keys:  # in the order of the windows, which matters for half precision
                part = total[key]
                np.add(part, share, out=part)
            return middle(total, window.padding, window.size)

        run = by_matrix(spread, grad_output, dims) if grad_output.dtype.char in "fd" else spread
        return lambda grad, self: run(grad)

    return Prepared(prepare, 2)


def adaptive_avg_pool(dims: int) -> Prepared:
    def prepare(x: Array, output_size: Ints) -> Callable[[Array], Array]:
        size, narrow = x.shape[-dims:], x.dtype

        def averaged(x: Array) -> Array:
            for d in range(-1, -dims - 1, -1):
                x = regions(size[d], output_size[d]).along(x, d)
            return x

        def run(x: Array) -> Array:
            x = to_opmath(x)
            if set(output_size) == {1} and x.size:
                return np.asarray(mean(x.reshape(*x.shape[:-dims], -1), (x.ndim - dims,))).reshape(
                    *x.shape[:-dims], *output_size)
            return averaged(x).astype(narrow, copy=False)

        if x.size > 4 * MOST or set(output_size) == {1}:
            return run
        return by_matrix(averaged, x, dims, np.float64 if narrow.itemsize > 2 else None)  # PyTorch adds in float64

    return Prepared(prepare)


def adaptive_avg_pool_backward(dims: int) -> Prepared:
    def prepare(grad_output: Array, self: Array) -> Callable[..., Array]:
        sums, lengths = zip(*map(region_sums, self.shape[-dims:], grad_output.shape[-dims:]), strict=True)
        shares = reduce(np.multiply.outer, lengths)

        def spread(grad: Array) -> Array:
            grad = grad / shares.astype(grad.dtype)
            for d, sum_of in zip(range(-dims, 0), sums, strict=True):
                grad = sum_of.adjoint.along(grad, d)
            return grad

        run = by_matrix(spread, grad_output, dims)
        return lambda grad, self: run(grad)

    return Prepared(prepare, 2)


AT_ONCE.update({f"max_pool{_n}d": highest(_n) for _n in (1, 2, 3)})
AT_ONCE.update({f"adaptive_avg_pool{_n}d": adaptive_avg_pool(_n).prepare for _n in (1, 2, 3)})
AT_ONCE.update({"avg_pool1d": avg_pool(1).prepare, "max_pool1d_with_indices": max_pool(1).prepare,
                "adaptive_max_pool1d": adaptive_max_pool(1).prepare})
for _n in (2, 3):
    CPU_KERNELS.update({
        f"max_pool{_n}d_with_indices": max_pool(_n), f"avg_pool{_n}d": avg_pool(_n),
        f"_adaptive_avg_pool{_n}d": adaptive_avg_pool(_n), f"adaptive_max_pool{_n}d": adaptive_max_pool(_n),
        f"fractional_max_pool{_n}d": fractional_max_pool(_n), f"max_unpool{_n}d": max_unpool(_n),
        f"avg_pool{_n}d_backward": avg_pool_backward(_n),
        f"_adaptive_avg_pool{_n}d_backward": adaptive_avg_pool_backward(_n),
        **{f"{name}{_n}d{form}_backward": max_pool_backward(_n) for name, form in (
            ("max_pool", "_with_indices"), ("adaptive_max_pool", ""), ("fractional_max_pool", ""))},
    })
