"""CPU kernels of joining, reversing and triangles."""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, reduce
from math import prod
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.layout import suggested_order
from ...._dtype import from_numpy_dtype, promote_types
from ...._storage import allocate, out_of_host_memory
from ...common.blocks import LARGE, SMALL, each_block
from ..fast_paths import held
from ..rows import MOST, Prepared, Rows, moving, repeating, taking
from ..windows import Ints, keys_of_positions, middle
from . import AT_ONCE, CPU_KERNELS, MOVES
from .sums import summed

Array = np.ndarray


def of_one_dtype(arrays: list[Array]) -> list[Array]:
    """Convert arrays to the dtype that they promote to."""
    if len({array.dtype for array in arrays}) == 1:
        return arrays
    dtype = reduce(promote_types, (from_numpy_dtype(array.dtype) for array in arrays)).np
    return [array.astype(dtype, copy=False) for array in arrays]


def joined(arrays: list[Array], dim: int) -> Array:
    kept = [array for array in of_one_dtype(arrays) if array.shape != (0,)]
    return np.concatenate(kept, dim) if kept else arrays[0]


def concatenation(arrays: list[Array], dim: int = 0) -> Callable[[list[Array]], Array] | None:
    """Prepare ``cat`` of arrays of one dtype, without any empty vector."""
    dtype = arrays[0].dtype if arrays else None
    for array in arrays:
        if array.dtype is not dtype or array.shape == (0,):
            return None
    return lambda arrays: np.concatenate(arrays, dim)


def cat(arrays: list[Array], dim: int = 0) -> Callable[[list[Array]], Array]:
    """Prepare ``cat``, in rows unless all arrays are in channels-last order: NumPy would keep any order."""
    kept, dtype = [i for i, array in enumerate(arrays) if array.shape != (0,)], arrays[0].dtype
    if not kept or any(array.dtype is not dtype for array in arrays):
        return lambda arrays: joined(arrays, dim)
    blocks, whole = [arrays[i] for i in kept], len(kept) == len(arrays)
    if all(block.flags.c_contiguous or suggested_order(block.shape, block.strides) for block in blocks):
        return lambda arrays: np.concatenate(arrays if whole else [arrays[i] for i in kept], dim)
    shape = [*blocks[0].shape]
    shape[dim] = sum(block.shape[dim] for block in blocks)
    return lambda arrays: np.concatenate(arrays if whole else [arrays[i] for i in kept], dim, np.empty(shape, dtype))


def stack(arrays: list[Array], dim: int = 0) -> Callable[[list[Array]], Array]:
    """Prepare ``stack``; along the first dimension, it is concatenation."""
    first, count = arrays[0], len(arrays)
    at = dim % (first.ndim + 1)
    shape = (*first.shape[:at], count, *first.shape[at:])
    if first.size * count >= LARGE or any(array.dtype is not first.dtype for array in arrays):
        return lambda arrays: stacked(of_one_dtype(arrays), dim)
    if not at and first.ndim:
        joined = count * shape[1], *shape[2:]

        def end_to_end(arrays: list[Array]) -> Array:
            out: Array = np.empty(shape, first.dtype)
            np.concatenate(arrays, 0, out.reshape(joined))
            return out

        return end_to_end
    key = *[slice(None)] * at, None
    return lambda arrays: np.concatenate([array[key] for array in arrays], at)


def stacked(arrays: list[Array], dim: int) -> Array:
    """Stack arrays of one dtype; large ones in blocks, unless stacked along the first dimension."""
    first, size = arrays[0], arrays[0].size * len(arrays)
    if size < LARGE or any(array.shape != first.shape for array in arrays) or (
            not -first.ndim - 1 <= dim <= first.ndim or not dim % (first.ndim + 1)):
        return np.stack(arrays, dim)
    dim %= first.ndim + 1
    out = allocate((*first.shape[:dim], len(arrays), *first.shape[dim:]), first.dtype)
    each_block(lambda at: np.stack([array[at] for array in arrays], dim, out[at]), len(out),
               max(LARGE // 2 * len(out) // size, 1), size)
    return out


def tril_indices(row: int, col: int, offset: int = 0, *options: Any) -> Array:
    rows = np.arange(row)
    return _indices(rows, np.zeros_like(rows), np.clip(rows + offset + 1, 0, col))


def triu_indices(row: int, col: int, offset: int = 0, *options: Any) -> Array:
    rows = np.arange(min(row, max(0, col - offset)))  # rows further down are empty
    start = np.clip(rows + offset, 0, col)
    return _indices(rows, start, col - start)


def _indices(rows: Array, start: Array, counts: Array) -> Array:
    """Return the indices of ``counts`` consecutive elements in each row, beginning at ``start``."""
    shift = np.repeat(start - np.cumsum(counts) + counts, counts)
    return np.stack([np.repeat(rows, counts), shift + np.arange(len(shift))])


def repeat_interleave(repeats: Array, output_size: int | None = None) -> Array:
    if (repeats < 0).any():
        raise RuntimeError("repeats can not be negative")
    if repeats.sum(dtype=np.float64) >= 2**62:  # NumPy's sum would wrap around, and it would write out of bounds
        raise out_of_host_memory((sum(repeats.tolist()),), repeats.dtype)
    total = int(repeats.sum())
    if output_size is not None and output_size != total and len(repeats):
        raise RuntimeError("allocated size does not match required size: "
                           f"output_size is {output_size}, the sum {total}")
    return np.repeat(np.arange(len(repeats)), repeats)


#: Least rows cut at a time: beside the band, whole rows are kept or zeroed.
BAND = 128


KEPT = 1 << 17  #: most bytes of a mask that is kept


@lru_cache(1 << 6)
def mask_of(lower: bool, rows: int, columns: int, diagonal: int, size: int) -> Array:
    """Return the bits of a triangle's elements of so many bytes: all of them, or none outside of it."""
    return -(np.tril if lower else np.triu)(np.ones((rows, columns), f"i{size}"), diagonal)


def triangle(cut: Callable[[Array, int], Array]) -> Prepared:
    """Return the row of ``tril`` or ``triu`` from NumPy's function, which compares the positions of all elements."""
    lower = cut is np.tril

    def prepare(x: Array, diagonal: int = 0) -> Rows | None:
        if x.ndim < 2 or not 0 < prod(x.shape[-2:]) * x.itemsize <= KEPT or x.itemsize > 8 or x.size >= LARGE:
            return None
        bits, shape, dtype = mask_of(lower, *x.shape[-2:], diagonal, x.itemsize), x.shape, x.dtype

        def run(x: Array) -> Array:
            out = np.empty(shape, dtype)
            np.bitwise_and(x.view(bits.dtype), bits, out.view(bits.dtype))
            return out

        return run

    def row(x: Array, diagonal: int = 0) -> Array:
        if x.size < LARGE:
            return cut(x, diagonal)
        out = allocate(x.shape, x.dtype)
        rows, columns = x.shape[-2:]
        height = max(BAND, SMALL // columns)

        def work(part: slice) -> None:
            for first in range(rows)[part][::height]:
                band = slice(first, min(first + height, part.stop))
                left, right = (min(max(end + diagonal, 0), columns) for end in (band.start, band.stop))
                source, target = x[..., band, :], out[..., band, :]
                target[..., :left] = source[..., :left] if lower else 0
                target[..., left:right] = cut(source[..., left:right], first + diagonal - left)
                target[..., right:] = 0 if lower else source[..., right:]

        each_block(work, rows, max(LARGE // 2 * rows // x.size, height), x.size)
        return out

    return Prepared(prepare, plain=row)


@Prepared
def flip(x: Array, dims: Ints) -> Callable[[Array], Array]:
    """Prepare ``flip``: NumPy's index."""
    places = [slice(None)] * x.ndim
    for dim in dims if x.ndim else ():
        places[dim] = slice(None, None, -1)
    key = tuple(places)
    return lambda x: x[key].copy("K")


AT_ONCE.update({name: taking(1)(lambda x, dim=dim: flip.prepare(x, (dim,)) if x.ndim > dim and x.size < SMALL else None)
                for dim, name in enumerate(("flipud", "fliplr"))})


# -- composites ------------------------------------------------------------------------------------------------------

def ends(x: Array, pad: Ints) -> list[Ints]:
    """Return how many elements a padding adds before and after each dimension."""
    return [*[(0, 0)] * (x.ndim - len(pad) // 2), *zip(pad[-2::-2], pad[::-2], strict=True)]


class Padding:
    """The elements at the places of a padded array, in NumPy's mode of padding: those of these rows and columns of its
    planes, -1 for a number. Columns from ``start`` to ``stop`` follow one another.
    """

    def __init__(self, x: Array, pad: Ints, mode: str) -> None:
        self.sides, self.mode, self.given = ends(x, pad), mode, x.shape
        first = next((d for d, side in enumerate(self.sides[:-1]) if any(side)), x.ndim - 1)
        self.shape = tuple([n + sum(side) for n, side in zip(x.shape, self.sides, strict=True)])
        self.planes, self.size = prod(x.shape[:first]), prod(self.shape)
        self.inner = self.planes, prod(x.shape[first:-1]), x.shape[-1]
        self.outer = self.planes, prod(self.shape[first:-1]), self.shape[-1]
        before, after = self.sides[-1]
        self.start, self.stop = max(before, 0), self.shape[-1] - max(after, 0)
        self.few = sum(self.outer[1:]) <= KEPT_PLACES and self.start < self.stop
        if self.few:
            self.rows, self.columns = self.table(x.shape[first:-1], first).ravel(), self.table(x.shape[-1:], x.ndim - 1)
            self.edges = np.r_[:self.start, self.stop:self.shape[-1]]
        self.key, self.cut = zip(*[
            (slice(max(b, 0), n - max(a, 0)), slice(max(-b, 0), m - max(-a, 0)))
            for n, m, (b, a) in zip(self.shape, x.shape, self.sides, strict=True)], strict=True)

    def table(self, shape: Ints, first: int = 0) -> Array:
        """Return the numbers of the elements at the places of these dimensions, the ``first`` one and its followers."""
        sides, numbers = self.sides[first:first + len(shape)], np.arange(prod(shape)).reshape(shape)
        options: Any = {"constant_values": -1} if self.mode == "constant" else {}
        wide = np.pad(numbers, np.maximum(sides, 0), self.mode, **options) if shape else numbers  # type: ignore
        return np.asarray(wide[tuple([slice(max(-b, 0), n - max(-a, 0))
                                      for n, (b, a) in zip(wide.shape, sides, strict=True)])])

    def by_planes(self, loop: Callable[..., None], x: Array, out: Array, *number: Array) -> None:
        """Call a loop from or to an array of ``inner`` elements."""
        each_block(lambda part: loop(x[part], self.rows, self.columns, *number, out[part], *self.inner[1:], self.start,
                                     self.stop), self.planes, max(LARGE * self.planes // self.size, 1), self.size)

    def filled(self, x: Array, number: Any) -> Array:
        out: Array = np.empty(self.shape, x.dtype)
        out.fill(number)
        out[self.key] = x[self.cut]
        return out

    def padded(self, x: Array, number: Any = 0) -> Array:
        bits, out = f"i{x.itemsize}" if x.itemsize <= 8 else x.dtype, allocate(self.outer, x.dtype)
        loop = loops.pad_rows.compiled(self.size, out.view(bits)) if self.few else None
        if loop is None:
            return self.filled(x, number) if self.mode == "constant" else self.by_rows(x)
        self.by_planes(loop, np.ascontiguousarray(x).view(bits).reshape(self.inner), out.view(bits),
                       np.array([number], x.dtype).view(bits))
        return out.reshape(self.shape)

    def by_rows(self, x: Array) -> Array:
        out, given = allocate(self.outer, x.dtype), x.reshape(self.inner)
        taken, first = given if len(self.rows) == 1 else given.take(self.rows, 1), self.columns[self.start]
        out[..., self.start:self.stop] = taken[..., first:first + self.stop - self.start]
        out[..., self.edges] = taken[..., self.columns[self.edges]]
        return out.reshape(self.shape)

    def summed(self, grad: Array) -> Array | None:
        """Return the sums of the gradients of each element's copies, in PyTorch's order; None without a loop."""
        given = np.ascontiguousarray(grad).reshape(self.outer)
        if (loop := loops.add_padded_rows.compiled(self.size, given)) is None:
            return None
        self.by_planes(loop, given, out := np.zeros(self.inner, grad.dtype))
        return out.reshape(self.given)


#: Most rows and columns of a padded array that a plan keeps.
KEPT_PLACES = 1 << 13


def padding(mode: str) -> Callable[..., Any]:
    """Return a function that prepares padding in NumPy's mode, with a number that an array surely holds."""
    def prepare(x: Array, pad: Ints, value: Any = 0) -> Callable[[Array], Array] | None:
        number = value if x.dtype.char in "fdFD" else held(from_numpy_dtype(x.dtype), value)
        if not any(pad) or number is None or not x.size or (mode == "wrap" and min(pad) < 0):
            return None
        form = Padding(x, pad, mode)
        if mode == "constant":
            compute = form.filled if form.size <= MOST else form.padded
            return (lambda x: compute(x, number)) if form.size else None
        return moving(lambda x: form.table(x.shape) + 1)(x) or (form.padded if form.size and form.few else None)

    return prepare


def pad(x: Array, pad: Ints, mode: str = "constant", value: float | None = None) -> Callable[[Array], Array] | None:
    """Prepare padding with elements; as settings, the numbers 0 and -0 are alike."""
    return None if mode == "constant" else padding(
        {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])(x, pad)


def padding_backward(mode: str) -> Callable[..., Any]:
    """Return a function that prepares the gradient of padding with copies of elements."""
    def prepare(grad: Array, x: Array, pad: Ints) -> Callable[..., Array | None] | None:
        if grad.dtype.char not in "fd" or not grad.size:
            return None
        form = Padding(x, pad, mode)
        if grad.size <= MOST:
            run = added(form.table(x.shape), x.shape)
            return lambda grad, x: run(grad)
        return (lambda grad, x: form.summed(grad)) if form.few else None

    return prepare


def added(places: Array, shape: Ints) -> Callable[[Array], Array]:
    """Return the function of arrays that adds their elements at these flat places of zeros; those at -1 are left out.
    """
    holes, size = bool((places < 0).any()), prod(shape)
    places = places.ravel()

    def run(x: Array) -> Array:
        sums = np.zeros(size + holes, x.dtype)
        np.add.at(sums, places, x.ravel())
        return sums[:size].copy().reshape(shape) if holes else sums.reshape(shape)

    return run


def placed(grad: Array, input_sizes: Ints, dim: int, *place: int) -> Callable[[Array], Array] | None:
    """Prepare zeros with a small gradient at an index, or at a slice with its step, along a dimension."""
    if grad.dtype.char not in "fd" or prod(input_sizes) >= SMALL:
        return None
    places: list[Any] = [slice(None)] * len(input_sizes)
    places[dim] = slice(*place) if len(place) > 1 else place[0]
    key = tuple(places)

    def run(grad: Array) -> Array:
        out: Array = np.zeros(input_sizes, grad.dtype)
        out[key] = grad
        return out

    return run


def col2im(x: Array, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints,
           stride: Ints) -> Callable[[Array], Array] | None:
    """Prepare sums of columns: the target of each of few elements, but of padding; or the places of all that are at one
    place of their windows.
    """
    if x.dtype.char not in "fd" or not x.size:
        return None
    shape = *x.shape[:-2], x.shape[-2] // prod(kernel_size), *output_size
    size, planes = prod(output_size), prod(shape[:-2])
    room = tuple([n + 2 * pad for n, pad in zip(output_size, padding, strict=True)])
    out = tuple([(n - step * (length - 1) - 1) // far + 1
                 for n, step, length, far in zip(room, dilation, kernel_size, stride, strict=True)])
    keys = keys_of_positions(out, kernel_size, stride, dilation)
    if x.size <= MOST:
        wide = np.pad(np.arange(size).reshape(output_size), [(pad, pad) for pad in padding], constant_values=-1)
        table = np.stack([wide[key].ravel() for key in keys])
        return added(np.where(table < 0, -1, table + np.arange(planes)[:, None, None] * size), shape)

    def run(x: Array) -> Array:
        columns, images = x.reshape(planes, len(keys), *out), allocate((planes, *output_size), x.dtype)

        def work(some: slice) -> None:
            given = columns[some]
            wide = np.zeros((len(given), *room), x.dtype)
            for k, key in enumerate(keys):
                target = wide[key]
                np.add(target, given[:, k], out=target)
            images[some] = middle(wide, padding, output_size)

        each_block(work, planes, max(SMALL * planes // x.size, 1), x.size)
        return images.reshape(shape)

    return run


FEW = 1 << 5  #: numbers that Python adds in less time than NumPy


def trace(x: Array) -> Rows | None:
    """Prepare the sum of the diagonal of a matrix."""
    if x.ndim != 2 or x.dtype == bool:
        return None
    if min(x.shape) <= FEW and x.dtype.char in "fd":  # which PyTorch, too, adds one by one in float64
        return lambda x: np.asarray(sum(x.diagonal().tolist()), x.dtype)
    if min(x.shape) <= FEW and x.dtype.kind in "iu":
        return lambda x: np.asarray((sum(x.diagonal().tolist()) + (1 << 63)) % (1 << 64) - (1 << 63), np.int64)
    run = summed.prepare(x.diagonal())
    return None if run is None else lambda x: run(x.diagonal())


def concatenated(atleast: Callable[[Array], Array], of_vectors: int, dim: int) -> Callable[[list[Array]], Rows | None]:
    """Return a function that prepares the concatenation of small arrays of at least so many dimensions."""
    def prepare(arrays: list[Array]) -> Rows | None:
        if len({array.dtype for array in arrays}) > 1 or sum([array.size for array in arrays]) >= SMALL:
            return None
        shapes = [atleast(array).shape for array in arrays]
        if len({len(shape) for shape in shapes}) > 1:  # only empty vectors may stand among matrices
            return None
        along = of_vectors if len(shapes[0]) == 1 else dim
        if shapes == [array.shape for array in arrays]:
            return lambda arrays: np.concatenate(arrays, along)
        return lambda arrays: np.concatenate(
            [array.reshape(shape) for array, shape in zip(arrays, shapes, strict=True)], along)

    return prepare


def cartesian_prod(arrays: list[Array]) -> Rows | None:
    """Prepare all combinations of few elements of several vectors of one dtype: their places are a table."""
    shape = tuple([array.size for array in arrays])
    if len(arrays) < 2 or len({array.dtype for array in arrays}) > 1 or not 0 < prod(shape) * len(shape) <= MOST:
        return None
    starts = np.cumsum((0, *shape[:-1]))
    places = np.indices(shape).reshape(len(shape), -1).T + starts
    return lambda arrays: np.concatenate(arrays).take(places)


def block_diag(arrays: list[Array]) -> Rows | None:
    """Prepare zeros with small matrices along the diagonal."""
    if len({array.dtype for array in arrays}) > 1 or sum([array.size for array in arrays]) >= SMALL:
        return None
    rows, columns, places = 0, 0, []
    for height, width in [np.atleast_2d(array).shape for array in arrays]:
        places.append((slice(rows, rows + height), slice(columns, columns + width)))
        rows, columns = rows + height, columns + width
    dtype = arrays[0].dtype

    def run(arrays: list[Array]) -> Array:
        out = np.zeros((rows, columns), dtype)
        for place, array in zip(places, arrays, strict=True):
            out[place] = array
        return out

    return run


AT_ONCE.add(pad, col2im, trace, block_diag, cartesian_prod)
AT_ONCE.update({"hstack": concatenated(np.atleast_1d, 0, 1), "dstack": concatenated(np.atleast_3d, 0, 2),
                **dict.fromkeys(("vstack", "row_stack"), concatenated(np.atleast_2d, 0, 0)),
                "column_stack": concatenated(lambda x: x if x.ndim > 1 else x.reshape(-1, 1), 0, 1)})
AT_ONCE.update({"constant_pad_nd": padding("constant"), "_pad_circular": padding("wrap")})
for _kind, _mode in (("reflection", "reflect"), ("replication", "edge")):
    for _n in (1, 2, 3):
        AT_ONCE.update({f"{_kind}_pad{_n}d": padding(_mode), f"{_kind}_pad{_n}d_backward": padding_backward(_mode)})
AT_ONCE.update({"select_backward": placed, "slice_backward": placed})
AT_ONCE.update(dict.fromkeys((
    "combinations", "roll", "rot90", "diag", "diag_embed", "im2col", "repeat", "tile",
    "repeat_interleave.self_int", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "native_channel_shuffle"),
    MOVES))

tril, triu = triangle(np.tril), triangle(np.triu)
CPU_KERNELS.add(Prepared(stack), repeating(tril_indices, 3), repeating(triu_indices, 3))
CPU_KERNELS.update({
    "cat": Prepared(cat, sure=concatenation),
    "flip": flip,
    "tril": tril,
    "triu": triu,
    "tril_": lambda x, diagonal=0: np.copyto(x, tril(x, diagonal)),
    "triu_": lambda x, diagonal=0: np.copyto(x, triu(x, diagonal)),
    "repeat_interleave.Tensor": repeat_interleave,
})
