"""CPU kernels of joining, reversing and triangles."""
from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ...._dtype import from_numpy_dtype, promote_types
from ...._storage import allocate, out_of_host_memory
from ...common.blocks import LARGE, SMALL, each_block
from . import CPU_KERNELS

Array = np.ndarray


def of_one_dtype(arrays: list[Array]) -> list[Array]:
    """Convert arrays to the dtype that they promote to."""
    if len({array.dtype for array in arrays}) == 1:
        return arrays
    dtype = reduce(promote_types, (from_numpy_dtype(array.dtype) for array in arrays)).np
    return [array.astype(dtype, copy=False) for array in arrays]


def cat(arrays: list[Array], dim: int = 0) -> Array:
    kept = [array for array in of_one_dtype(arrays) if array.shape != (0,)]
    return np.concatenate(kept, dim) if kept else arrays[0]


def stack(arrays: list[Array], dim: int = 0) -> Array:
    return stacked(of_one_dtype(arrays), dim)


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


def triangle(cut: Callable[[Array, int], Array]) -> Callable[..., Array]:
    """Return the kernel of ``tril`` or ``triu`` from NumPy's function, which compares the positions of all elements."""
    lower = cut is np.tril

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

    return row


tril, triu = triangle(np.tril), triangle(np.triu)
CPU_KERNELS.add(cat, stack, tril_indices, triu_indices)
CPU_KERNELS.update({
    "flip": lambda x, dims: np.flip(x, dims) if dims and x.ndim else x,
    "tril": tril,
    "triu": triu,
    "tril_": lambda x, diagonal=0: np.copyto(x, tril(x, diagonal)),
    "triu_": lambda x, diagonal=0: np.copyto(x, triu(x, diagonal)),
    "repeat_interleave.Tensor": repeat_interleave,
})
