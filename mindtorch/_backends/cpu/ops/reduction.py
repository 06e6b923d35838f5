"""CPU kernels of reductions.

Each is a function of an array, a tuple of axes and ``keepdims``, like NumPy's; ``reduced`` turns it into a row. Half
precision is reduced in float32, and rounded once at the end. ``sums``, ``moments``, ``extrema``, ``norms`` and
``segments`` have most of them; truth values and hashes are here.
"""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.layout import Ints, wrap_dims
from ...._dtype import bool_
from ...common.blocks import LARGE, by_slices, each_block
from ...common.half import NATIVE, part_for
from ..precision import Settled, is_half, narrowed, rounding, to_opmath
from ..rows import Prepared, of_rows
from . import CPU_KERNELS

#: Most elements that are summed row by row: for any number of rows, and for few rows.
FEW, SOME = 512, 1 << 13
#: MANY: elements from which on lines of at least LINE elements are summed by SIMD, in pieces of PIECE, and all elements
#: in pieces of PART.
MANY, LINE, PIECE, PART = 1 << 15, 64, 1 << 11, 1 << 9
Reduce = Callable[[np.ndarray, Ints, bool], Any]
Settle = Callable[[np.ndarray, Ints, bool], Settled | None]
add: Any = np.add.reduce
multiply: Any = np.multiply.reduce
maximum: Any = np.maximum.reduce
minimum: Any = np.minimum.reduce
exclusive_or: Any = np.bitwise_xor.reduce
sqrt: Any = np.sqrt
ndarray = np.ndarray


def converted(x: np.ndarray, dtype: Any) -> np.ndarray:
    """Return an array in the requested dtype, if any; the real part of complex numbers for a real dtype."""
    if dtype is None:
        return x
    return part_for(x, dtype).astype(dtype.np, copy=False)


def first_kept(x: np.ndarray, axis: Ints) -> int | None:
    """Return the first dimension that a reduction keeps; None if it keeps none."""
    return next((d for d in range(x.ndim) if d not in axis), None)


def by_kept(function: Settled, x: np.ndarray, axis: Ints, keepdim: bool) -> Any:
    """Reduce slices of a large array along the first dimension that is kept, so that temporaries are small."""
    kept = first_kept(x, axis)
    assert kept is not None
    return by_slices(function, x, axis=kept, at=kept if keepdim else 0)


def reduced(function: Reduce, loop: loops.Loop | None = None,
            of_few: Settle | None = None, of_half: Settle | None = None, widens: bool = True) -> Prepared:
    """Return a row for ``op(self, dim, keepdim, dtype)`` that cuts large arrays, unless ``loop`` reduces their lines.
    ``of_few`` may settle a shorter function for small contiguous arrays, in float32 for half precision if that
    ``widens``; ``of_half`` may settle one of half precision as it is.
    """

    def sure(x: np.ndarray, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Settled | None:
        if of_few is None or not x.size or (dtype is not None and dtype.np != x.dtype) or not x.flags.c_contiguous:
            return None
        if not (widens and is_half(x)):
            return of_few(x, wrap_dims(dim, x.ndim), keepdim)
        few = x.size < (SOME if of_half else MANY)
        settled = of_few(np.empty(x.shape, loops.SINGLE), wrap_dims(dim, x.ndim), keepdim) if few else None
        return settled and narrowed(settled, x)

    def prepare(x: np.ndarray, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Settled:
        if (settled := sure(x, dim, keepdim, dtype)) is not None:
            return settled
        axis, converts = wrap_dims(dim, x.ndim), dtype is not None and dtype.np != x.dtype

        kept = first_kept(x, axis)

        def compute(x: np.ndarray) -> Any:
            half = is_half(x)
            if x.size < LARGE or kept is None or (kept and not half) or (
                    not half and loop and along_lines(x, axis) and by_loop(loop, x)):
                return function(to_opmath(x), axis, keepdim)
            return by_kept(lambda part: np.asarray(function(to_opmath(part), axis, keepdim)), x, axis, keepdim)

        if not converts and of_half is not None and x.size >= SOME and is_half(x) and (
                of_bits := of_half(x, axis, keepdim)):
            rounded = rounding(x.dtype, len(axis) == x.ndim)
            return lambda x: rounded(of_bits(x))
        if not converts and x.size < LARGE and is_half(x):
            return narrowed(lambda x: function(x, axis, keepdim), x)
        if converts or is_half(x) or x.dtype.kind not in NATIVE:
            return lambda x: compute(converted(x, dtype))
        return compute if x.size >= LARGE else lambda x: function(x, axis, keepdim)

    return Prepared(of_rows(prepare), sure=of_few and sure)


def whole(row: Prepared) -> Prepared:
    """Return a row for ``op(self, dtype)`` over all dimensions."""
    sure = row.sure
    return Prepared(lambda x, dtype=None: row.prepare(x, None, False, dtype),
                    sure=sure and (lambda x, dtype=None: sure(x, None, False, dtype)))


def listed(row: Prepared) -> Prepared:
    """Return a row for which an empty list of dimensions reduces none."""
    return Prepared(lambda x, dim=None, keepdim=False:
                    (lambda x: part_for(x, bool_).astype(bool)) if dim == () else row.prepare(x, dim, keepdim))


def along_lines(x: np.ndarray, axis: Ints) -> bool:
    """Return True if each result reduces a long contiguous line."""
    return axis == (x.ndim - 1,) and x.shape[-1] >= LINE and x.flags.c_contiguous


def count(x: np.ndarray, axis: Ints) -> int:
    """Return how many elements each result reduces."""
    return prod([x.shape[a] for a in axis])


def by_loop(loop: loops.Loop, x: np.ndarray, *settings: Any) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return a function that reduces the last axis by a loop over float32 lines, in blocks; None if there is none."""
    if x.dtype.char not in "fH" or (compiled := loop.compiled(x.size)) is None:  # H: bits of half precision
        return None

    def call(lines: np.ndarray) -> np.ndarray:
        out = np.empty(lines.shape[:-1], np.float32)
        matrix, target = lines.reshape(-1, lines.shape[-1]), out.reshape(-1)
        if x.size < LARGE:
            compiled(matrix, target, *settings)
        else:
            each_block(lambda part: compiled(matrix[part], target[part], *settings),
                       len(matrix), max(LARGE // matrix.shape[1], 1), matrix.size)
        return out

    return call


def by_pieces(of_lines: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """Apply a function of lines to pieces of a contiguous array, and append the remainder."""
    whole = x.size - x.size % PART
    x = x.reshape(-1)
    return np.concatenate([of_lines(x[:whole].reshape(-1, PART)), x[whole:]])


def truth(reduce: Any) -> Reduce:
    return lambda x, axis, keepdims: reduce(part_for(x, bool_).astype(bool, copy=False), axis, keepdims=keepdims)


def few_true(reduce: Any) -> Settle:
    """Return a function that prepares the truth values of numbers that NumPy need not convert first."""
    return lambda x, axis, keepdims: (
        (lambda x: reduce(x, axis, keepdims=keepdims)) if x.dtype.char in "fdlq?" and x.size < LARGE else None)


def hash_tensor(x: np.ndarray, dim: Any = (), keepdim: bool = False, mode: int = 0) -> Any:
    bits = x.astype(np.int64 if x.dtype.kind in "biu" else np.float64).view(np.uint64)
    return exclusive_or(bits, wrap_dims(dim, x.ndim), keepdims=keepdim)


every, some = (reduced(truth(holds), None, few_true(holds)) for holds in (np.logical_and.reduce, np.logical_or.reduce))
CPU_KERNELS.add(hash_tensor)
CPU_KERNELS.update({
    "all": every,
    "all.dim": every,
    "all.dims": listed(every),
    "any": some,
    "any.dim": some,
    "any.dims": listed(some),
})
