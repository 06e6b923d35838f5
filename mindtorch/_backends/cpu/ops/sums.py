"""CPU kernels of sums, means and products.

NumPy adds pairwise along the innermost axis only. Along others, BLAS adds, a loop, or PyTorch's cascade.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial, reduce
from math import prod
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.layout import Ints
from ...common.blocks import BLOCK, LARGE, by_slices, each_block
from ..precision import Settled, to_opmath
from ..rows import Prepared
from . import CPU_KERNELS
from .reduction import (
    FEW, LINE, MANY, PART, PIECE, SOME, add, along_lines, by_loop, by_pieces, count, multiply, reduced, whole,
)

LEVELS = 4  #: of PyTorch's cascade, for larger sums
#: Most rows that are summed one after the other, and columns that PyTorch, too, does not add up in vectors.
ROWS, VECTORS = 64, 32
#: Lines that are so short are multiplied column by column.
FEW_COLUMNS = 16
#: Elements of a vector that BLAS sums in parts enough to keep rounding errors small; of one of many lines, ``PIECE``.
ALONE = 1 << 14
#: Ones, by dtype letter.
ONES = {kind: np.ones(ALONE, kind) for kind in "fd"}
#: The letters of complex dtypes, and of their parts.
PARTS = {"F": "f", "D": "d"}
SHORT = 1 << 8  #: numbers of a line that are summed one after the other
SLOW = 4  #: passes that a loop of half precision replaces
#: Fewer elements are summed in float64 where NumPy's conversion takes no longer than the steps of the cascade.
WIDENED = 1 << 17


@lru_cache(1 << 10)
def along(number: int, kind: str, most: int = PIECE) -> Settled:
    """Return the function that sums along the last axis, of so many float32 or float64 numbers, by products with ones,
    in a quarter of NumPy's time: lines of more than ``most`` numbers in pieces, whose sums are summed likewise, to keep
    rounding errors small.
    """
    if number <= most:
        ones = ONES[kind][:number]
        return lambda x: x.dot(ones)
    least = -(-number // PIECE)
    count = next((n for n in range(least, 2 * least) if not number % n), least - 1)  # pieces that leave no rest, if any
    size = min(number // count, PIECE)
    ones, of_pieces, whole = ONES[kind][:size], along(count, kind), count * size
    if whole == number < LARGE and most > PIECE:
        return lambda x: of_pieces(x.reshape(count, size).dot(ones))
    if whole == number:
        return lambda x: of_pieces(by_slices(lambda part: part.dot(ones), x.reshape(*x.shape[:-1], count, size)))
    rest = ONES[kind][:number - whole]
    return lambda x: of_pieces(by_slices(lambda part: part.dot(ones), x[..., :whole].reshape(
        *x.shape[:-1], count, size))) + x[..., whole:].dot(rest)


@lru_cache(1 << 10)
def by_ones(sizes: Ints, kind: str, axis: Ints, keepdims: bool = False) -> Settled | None:
    """Return the function that sums contiguous float32 or float64 numbers (``kind``: the dtype's letter), each run of
    adjacent axes by a product with ones, in a quarter of NumPy's time, or by the cascade if PyTorch adds up rows in
    vectors; None for more rows than ``ROWS``.
    """
    end = next((i for i, a in enumerate(axis) if a > axis[0] + i), len(axis))  # of the first run
    first, after = axis[0], sizes[axis[end - 1] + 1:]
    number, last = prod(sizes[first:first + end]), prod(after)
    shape = tuple([1 if a in axis else size for a, size in enumerate(sizes) if keepdims or a not in axis])
    if end < len(axis):
        rest = by_ones((*sizes[:first], *[1] * end, *after), kind, axis[end:])
        begin = rest and by_ones(sizes, kind, axis[:end], True)
        return begin and (lambda x: rest(begin(x)).reshape(shape))  # type: ignore[misc]
    if last > 1 and prod(sizes) > SOME:
        step, total, of_rows = step_of(number), prod(sizes), loops.sum_rows
        given, made = (total // number // last, number, last), (total // number // last, last)

        def run(x: np.ndarray) -> Any:
            if last < VECTORS or total >= BLOCK or (loop := of_rows.compiled(total, x)) is None:
                return cascade(x.reshape(given), 1).reshape(shape)
            loop(x.reshape(given), out := np.empty(made, kind), step, 0, last)
            return out.reshape(shape)

        return run
    if last == 1:
        summed, lines = along(number, kind, PIECE if first else ALONE), (-1, number)[0 if first else 1:]
        if not keepdims and len(shape) == first < 2:
            return summed if len(sizes) == first + 1 else lambda x: summed(x.reshape(lines))
        return lambda x: summed(x.reshape(lines)).reshape(shape)
    if number > ROWS:
        return None
    ones = ONES[kind][:number]
    if len(sizes) == 2 and not keepdims:
        return ones.dot
    return (lambda x: np.matmul(ones, x.reshape(-1, number, last)).reshape(shape)) if first else (
        lambda x: ones.dot(x.reshape(number, last)).reshape(shape))


def few_summed(x: np.ndarray, axis: Ints, keepdims: bool) -> Settled | None:
    """Return the function that sums integers or float32 or float64 numbers that are not many, or both parts of complex
    ones; None for others.
    """
    if x.dtype.char in PARTS and axis and x.flags.c_contiguous:
        kind, whole = PARTS[x.dtype.char], x.dtype
        boxes, number = prod(x.shape[:axis[0]]), count(x, axis)
        if axis[0] == x.ndim - len(axis) and (boxes == 1 or number <= SHORT):
            shape = (*x.shape[:axis[0]], *[1] * len(axis) * keepdims)
            return lambda x: complex_lines(x.reshape(boxes, number), kind).reshape(shape)
        of_parts = few_summed(x[..., None].view(kind), axis, keepdims)
        return of_parts and (lambda x: of_parts(x[..., None].view(kind)).view(whole)[..., 0])
    if x.dtype.char in "lq":
        return lambda x: add(x, axis, None, None, keepdims)
    if x.dtype.char not in ONES or x.size >= LARGE or not (axis or x.size == 1):
        return None
    if x.size == 1:
        shape = (1,) * (x.ndim if keepdims else x.ndim - len(axis))
        return lambda x: x.reshape(shape) + 0.0  # which has no -0
    if len(axis) == x.ndim and not keepdims and x.size <= PIECE:
        ones = ONES[x.dtype.char][:x.size]
        return ones.dot if x.ndim == 1 else partial(np.vdot, ones)
    return by_ones(x.shape, x.dtype.char, axis, keepdims) or (
        (lambda x: add(x, axis, None, None, keepdims)) if x.size <= FEW else None)


def complex_lines(x: np.ndarray, kind: str) -> np.ndarray:
    """Sum short lines of complex numbers, or a long one, at every distance first, by a product with ones."""
    number = x.shape[1]
    if number <= SHORT:
        return np.asarray(np.einsum("ij->i", x))
    whole = number - number % ROWS
    sums = ONES[kind][:ROWS].dot(x[0, :whole].view(kind).reshape(ROWS, -1)).view(x.dtype)
    return complex_lines(np.concatenate((sums, x[0, whole:]))[None], kind)


def few_averaged(x: np.ndarray, axis: Ints, keepdims: bool) -> Settled | None:
    """Return the function that averages few float32 or float64 numbers; None for others."""
    summed = few_summed(x, axis, keepdims) if x.dtype.char in ONES or x.dtype.char in PARTS else None
    if summed is None:
        return None
    number = x.dtype.type(count(x, axis))
    return lambda x: summed(x) / number


def total(x: np.ndarray, axis: Ints, keepdims: bool = False) -> Any:
    """Sum. NumPy adds pairwise along the innermost axis only. Along others, few numbers are added in float64, and long
    axes use PyTorch's cascade.
    """
    if x.dtype.kind == "f" and x.size <= SOME and (x.size <= FEW or x.ndim > 1) and not (
            x.flags.c_contiguous and (x.ndim - 1 in axis or x.size <= FEW)):
        return np.asarray(add(x, axis, np.float64, None, keepdims)).astype(x.dtype, copy=False)
    if x.size <= FEW and x.dtype.kind == "f":
        return add(x, axis, None, None, keepdims)
    if x.dtype.kind in "biu":
        return add(x, axis, np.int64, keepdims=keepdims)
    if 1 < len(axis) < x.ndim and axis[0] == x.ndim - len(axis) and x.flags.c_contiguous:  # all lines of a box
        before = x.shape[:axis[0]]
        sums = total(x.reshape(*before, count(x, axis)), axis[:1])
        return np.reshape(sums, (*before, *[1] * len(axis))) if keepdims else sums
    if x.size >= MANY and x.dtype.kind == "f" and x.flags.c_contiguous and len(axis) == x.ndim:
        return np.reshape(in_vectors(x.reshape(-1)), (1,) * x.ndim if keepdims else ())
    last = (x.ndim - 1,)
    if x.size > SOME and x.dtype.kind == "f" and x.ndim - 1 in axis and x.shape[-1] > 1 and (
            x.shape[-1] < LINE or x.strides[-1] == x.itemsize):
        sums = in_vectors(x)  # NumPy's loop restarts for each short line
        return sums.reshape((*x.shape[:-1], 1)[:x.ndim - 1 + keepdims]) if axis == last else total(
            sums[..., None], axis, keepdims)
    if x.size >= MANY and x.flags.f_contiguous and not x.flags.c_contiguous:
        return np.asarray(total(x.T, tuple([x.ndim - 1 - a for a in reversed(axis)]), keepdims)).T
    if len(axis) == x.ndim > 1 and x.dtype.kind == "f":  # a view
        return (add(x, axis, np.float64, keepdims=keepdims).astype(x.dtype) if x.size < WIDENED else
                total(np.ascontiguousarray(total(x, last, True)), axis, keepdims))
    short, least = 16 if x.size > SOME else ROWS, min(map(abs, x.strides), default=0)
    for a in axis:
        if x.shape[a] > (1 if x.size > SOME and has_short_rows(x, a) else short) and abs(x.strides[a]) > least:
            x = cascade(x, a)
    return add(x, axis, keepdims=keepdims)


def step_of(number: int) -> int:
    """Return how many rows a level of the cascade adds up."""
    return 1 << max(4, (number - 1).bit_length() // LEVELS)


def cascade(x: np.ndarray, a: int) -> np.ndarray:
    """Sum along an axis, which stays with length 1, in the order of PyTorch's ``cascade_sum``: blocks of ``step`` rows,
    then blocks of these sums, and so on, and last the remainder of each level. BLAS sums short rows.
    """
    if has_short_rows(x, a):
        return of_short_rows(x.reshape(-1, x.shape[a], prod(x.shape[a + 1:]))).reshape(
            (*x.shape[:a], 1, *x.shape[a + 1:]))
    step = step_of(x.shape[a])
    if x.flags.c_contiguous and (loop := loops.sum_rows.compiled(x.size, x)) is not None:
        return by_boxes(loop, x, a, step)
    before, over = (slice(None),) * a, list[np.ndarray]()
    for _ in range(LEVELS - 1):
        n = x.shape[a]
        if n < step:
            break
        whole = n - n % step
        if whole < n:
            over.append(add(x[(*before, slice(whole, n))], a, keepdims=True))
        blocks = x[(*before, slice(whole))].reshape((*x.shape[:a], n // step, step, *x.shape[a + 1:]))
        x = add(blocks, a + 1) if a or x.size < LARGE else by_slices(lambda part: add(part, 1), blocks)
    return reduce(np.add, [*over, add(x, a, keepdims=True)])


def by_boxes(loop: Callable[..., None], x: np.ndarray, a: int, step: int) -> np.ndarray:
    """Sum along an axis by a loop, in blocks of boxes, or of columns of a single one."""
    boxes = x.reshape(prod(x.shape[:a]), x.shape[a], prod(x.shape[a + 1:]))
    count, rows, columns = boxes.shape
    out = np.empty((count, columns), loops.SINGLE if x.itemsize == 2 else x.dtype)
    if x.size < LARGE:
        loop(boxes, out, step, 0, columns)
    elif count > 1:
        each_block(lambda part: loop(boxes[part], out[part], step, 0, columns),
                   count, max(LARGE // (rows * columns), 1), x.size)
    else:
        each_block(lambda part: loop(boxes, out, step, part.start, min(part.stop, columns)),
                   columns, max(LARGE // rows, VECTORS), x.size)
    return out.reshape((*x.shape[:a], 1, *x.shape[a + 1:]))


def has_short_rows(x: np.ndarray, a: int) -> bool:
    """Return True if the rows along an axis are contiguous, and PyTorch, too, does not add them up in vectors."""
    return x.flags.c_contiguous and x.dtype.char in ONES and 1 < prod(x.shape[a + 1:]) < VECTORS


def of_short_rows(x: np.ndarray) -> np.ndarray:
    """Sum boxes (count, rows, columns) over their rows, by BLAS: rows at a distance, and likewise their sums."""
    boxes, n, columns = x.shape
    ones = ONES[x.dtype.char]
    if n <= ROWS:
        return np.matmul(ones[:n], x)
    whole = n - n % ROWS
    sums = of_short_rows(np.matmul(ones[:ROWS], x[:, :whole].reshape(boxes, ROWS, -1)).reshape(boxes, -1, columns))
    return sums if whole == n else sums + np.matmul(ones[:n - whole], x[:, whole:])


def in_vectors(x: np.ndarray) -> np.ndarray:
    """Sum along the last axis: by BLAS, which does not restart for each line; by ``einsum`` if elements are apart."""
    if x.dtype.char not in ONES or x.strides[-1] != x.itemsize:
        return np.asarray(np.einsum("...i->...", x))
    number, kind = x.shape[-1], x.dtype.char
    if not x.flags.c_contiguous and number <= PIECE:
        return np.asarray(np.matmul(x, ONES[kind][:number]))  # which copies no lines, as ``dot`` does
    if x.ndim == 1:
        return np.asarray(along(number, kind, ALONE)(x))
    lines = x.reshape(-1, number) if x.flags.c_contiguous else x
    return by_slices(along(number, kind), lines).reshape(x.shape[:-1])  # the parts' results depend on no threads


def half_summed(x: np.ndarray, axis: Ints, keepdims: bool) -> Settled | None:
    """Return the function that sums half precision in float32 by a loop, over all dimensions, along long lines or down
    long rows; None if there is no loop.
    """
    every = len(axis) == x.ndim
    shape = tuple([1 if a in axis else n for a, n in enumerate(x.shape) if keepdims or a not in axis])
    if not x.flags.c_contiguous or not axis:
        return None
    before, number, columns = prod(x.shape[:axis[0]]), count(x, axis), prod(x.shape[axis[-1] + 1:])
    if before * number * columns == x.size and columns >= 8:
        step = step_of(number)

        def down(x: np.ndarray) -> Any:
            if (loop := loops.sum_rows.compiled(SLOW * x.size, x)) is None:
                return total(to_opmath(x), axis, keepdims)
            return by_boxes(loop, x.view(np.uint16).reshape(before, number, columns), 1, step).reshape(shape)

        return down
    if not (every or along_lines(x, axis)):
        return None
    sums: Any = by_loop(loops.sum_half_lines[x.dtype.name], x.view(np.uint16))
    if sums is None or not every or x.size < LARGE:
        lines = (1, -1) if every else (-1, x.shape[-1])
        return sums and (lambda x: sums(x.view(np.uint16).reshape(lines)).reshape(shape))
    whole = x.size - x.size % PIECE

    def run(x: np.ndarray) -> Any:
        flat = x.view(np.uint16).reshape(-1)
        return (add(sums(flat[:whole].reshape(-1, PIECE))) + sums(flat[None, whole:])).reshape(shape)

    return run


def half_averaged(x: np.ndarray, axis: Ints, keepdims: bool) -> Settled | None:
    summed, number = half_summed(x, axis, keepdims), np.float32(count(x, axis))
    return summed and (lambda x: summed(x) / number)


def squares_by_blas(x: np.ndarray) -> np.ndarray:
    """Sum squares along the last axis."""
    return np.asarray(np.vecdot(x, x))


def of_lines(x: np.ndarray, sums: Callable[[np.ndarray], np.ndarray], piece: int = PIECE) -> np.ndarray:
    """Sum a function along the last axis; long lines in pieces, to keep rounding errors small."""
    length = x.shape[-1]
    if length <= 2 * piece:
        return sums(x)
    whole = length - length % piece
    pieces = x[..., :whole].reshape(*x.shape[:-1], -1, piece)
    parts = by_slices(sums, pieces) if x.ndim == 1 else sums(pieces)
    return np.asarray(in_vectors(parts) + sums(x[..., whole:]))


@Prepared
def nansum(x: np.ndarray, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Settled:
    """Prepare the sum without NaN, converted last: the dtype may have no NaN."""
    settled: Any = summed.prepare(x, dim, keepdim, dtype)
    if x.dtype.kind != "f" and x.dtype.name != "bfloat16":
        return settled
    zero, may_be_nan = x.dtype.type(0), dtype is None or dtype.is_floating_point
    if x.size == 1 and may_be_nan:
        nothing = np.asarray(settled(np.zeros_like(x)))
        return lambda x: found if (found := settled(x)) == found else nothing.copy()
    if x.size < FEW and x.dtype.kind == "f":
        return lambda x: settled(np.where(np.equal(x, x), x, zero))

    def run(x: np.ndarray) -> Any:
        found = settled(x) if may_be_nan else None  # which is NaN if there is one
        if found is not None and not np.count_nonzero(np.not_equal(found, found)):
            return found
        return settled(np.where(np.isnan(x), zero, x))

    return run


def mean(x: np.ndarray, axis: Ints, keepdims: bool = False) -> Any:
    return total(x, axis, keepdims) / np.asarray(count(x, axis), x.dtype)


def product(x: np.ndarray, axis: Ints, keepdims: bool) -> Any:
    if x.size >= SOME and x.dtype.kind == "f" and x.flags.c_contiguous:  # NumPy multiplies lines one by one
        if (len(axis) == x.ndim or along_lines(x, axis)) and (of_lines := by_loop(loops.product_of_lines, x)):
            if len(axis) < x.ndim:
                return of_lines(x).reshape((*x.shape[:-1], 1)[:x.ndim - 1 + keepdims])
            found = multiply(by_pieces(of_lines, x), dtype=np.float64)
            return np.reshape(found.astype(x.dtype), (1,) * x.ndim if keepdims else ())
        if len(axis) == x.ndim:
            flat, whole = x.reshape(-1), x.size - x.size % PART
            both = multiply(flat[:whole].reshape(-1, PART), 0), flat[whole:]
            return np.reshape(multiply(np.concatenate(both)), (1,) * x.ndim if keepdims else ())
        if axis == (x.ndim - 1,) and not FEW_COLUMNS < x.shape[-1] < LINE:
            lines = x.reshape(-1, x.shape[-1])
            found = product_of_lines(lines) if x.shape[-1] >= LINE else reduce(np.multiply, lines.T)
            return found.reshape((*x.shape[:-1], 1)[:x.ndim - 1 + keepdims])
    if x.dtype.char == "F":  # rounding errors of many steps alike add up
        return np.asarray(multiply(x, axis, np.complex128, keepdims=keepdims)).astype(x.dtype)
    return multiply(x, axis, np.int64 if x.dtype.kind in "biu" else None, keepdims=keepdims)


def product_of_lines(x: np.ndarray) -> np.ndarray:
    """Multiply the elements of each line, at every distance of LINE first."""
    out = np.empty((len(x), LINE), x.dtype)
    if (loop := loops.multiply_along.compiled(2 * x.size, x)) is not None:
        loop(x, out)
    else:
        whole = x.shape[1] - x.shape[1] % LINE
        multiply(x[:, :whole].reshape(len(x), -1, LINE), 1, None, out)
        out[:, :x.shape[1] - whole] *= x[:, whole:]
    while (half := out.shape[1] // 2):
        out = out[:, :half] * out[:, half:]
    return out[:, 0]


def few_counted(x: np.ndarray, axis: Ints, keepdims: bool) -> Settled | None:
    """Return the function that counts which numbers are not 0, without the dimensions; None along some of them."""
    return np.count_nonzero if len(axis) == x.ndim and x.size < LARGE and x.dtype.char in "fdFDlihbB?eE" else None


summed = reduced(total, None, few_summed, half_summed)
averaged = reduced(mean, None, few_averaged, half_averaged)
multiplied = reduced(product)
CPU_KERNELS.add(nansum)
CPU_KERNELS.update({
    "sum": whole(summed),
    "sum.dim_IntList": summed,
    "mean": whole(averaged),
    "mean.dim": averaged,
    "prod": whole(multiplied),
    "prod.dim_int": multiplied,
    "count_nonzero.dim_IntList": reduced(lambda x, axis, keepdims: total(x != 0, axis, keepdims), None, few_counted,
                                         widens=False),
})
