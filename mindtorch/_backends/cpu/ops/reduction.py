"""CPU kernels of reductions.

Each is a function of an array, a tuple of axes and ``keepdims``, like NumPy's; ``reduced`` turns it into a row. Half
precision is reduced in float32, as PyTorch does, and rounded once at the end.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache, partial, reduce
from itertools import pairwise
from math import inf, isfinite, prod
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.layout import Ints, wrap_dims
from ...._dtype import bool_
from ...common.blocks import LARGE, by_parts, each_block
from ...common.half import NATIVE, converted as as_dtype, part_for
from ..along import finder, taken_along
from ..rows import MOST, Prepared, taking
from . import AT_ONCE, CPU_KERNELS

#: FEW, SOME: most elements that are summed row by row, for any number of rows and for few rows. LEVELS: levels of
#: PyTorch's cascade, for larger sums.
FEW, SOME, LEVELS = 512, 1 << 13, 4
#: Most rows that are summed one after the other, and columns that PyTorch, too, does not add up in vectors.
ROWS, VECTORS = 64, 32
#: Lines that are so short are multiplied column by column.
FEW_COLUMNS = 16
#: MANY: elements from which on lines of at least LINE elements are summed by SIMD, in pieces of PIECE, and all elements
#: in pieces of PART.
MANY, LINE, PIECE, PART = 1 << 15, 64, 1 << 11, 1 << 9
#: Ones, by dtype letter.
ONES = {kind: np.ones(PIECE, kind) for kind in "fd"}
#: Fewer elements are summed in float64 where NumPy's conversion takes no longer than the steps of the cascade.
WIDENED = 1 << 17
#: float32 variances that are smaller, or infinite, are recomputed: their squares may exceed float32's range.
TINY = 1e-30
#: Columns that a loop reduces at a time.
COLUMNS = 1 << 10
Reduce = Callable[[np.ndarray, Ints, bool], Any]
add: Any = np.add.reduce
multiply: Any = np.multiply.reduce
maximum: Any = np.maximum.reduce
minimum: Any = np.minimum.reduce
exclusive_or: Any = np.bitwise_xor.reduce
sqrt: Any = np.sqrt
ndarray = np.ndarray


def is_half(x: np.ndarray) -> bool:
    return x.dtype.itemsize == 2 and x.dtype.kind not in "iu"


def to_opmath(x: Any) -> Any:
    """Return an array (or None) in the dtype of the computation (ATen's ``opmath_t``): float32 for half precision,
    complex64 for complex numbers of it.
    """
    if x is None or (x.dtype.itemsize != 2 and x.dtype.kind in NATIVE):
        return x
    return as_dtype(x, loops.SINGLE) if is_half(x) else x.astype(np.complex64) if x.dtype.name == "complex32" else x


def opmath(dtype: np.dtype) -> np.dtype:
    """Return the dtype of the computation, as ``to_opmath`` does."""
    wide: np.dtype = to_opmath(np.empty(0, dtype)).dtype
    return wide


def converted(x: np.ndarray, dtype: Any) -> np.ndarray:
    """Return an array in the requested dtype, if any; the real part of complex numbers for a real dtype."""
    if dtype is None:
        return x
    return part_for(x, dtype).astype(dtype.np, copy=False)


Settled = Callable[[np.ndarray], Any]


def narrowed(run: Settled, dtype: np.dtype, widens: bool = False) -> Settled:
    """Return the function of half precision that computes in float32, unless ``run`` ``widens``, and rounds results."""
    def narrow(x: np.ndarray) -> Any:
        found = run(x if widens else as_dtype(x, loops.SINGLE))
        if found.__class__ is tuple:
            return tuple([as_dtype(each, dtype) for each in found])
        return as_dtype(found, dtype) if found.dtype is loops.SINGLE else found

    return narrow


def reduced(function: Reduce, loop: loops.Loop | None = None,
            of_few: Callable[[np.ndarray, Ints, bool], Settled | None] | None = None,
            of_half: Reduce | None = None) -> Prepared:
    """Return a row for ``op(self, dim, keepdim, dtype)`` that cuts large arrays, unless ``loop`` reduces their lines.
    ``of_few`` may settle a shorter function for small contiguous arrays; ``of_half`` may reduce half precision as it
    is, or return None.
    """

    def sure(x: np.ndarray, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Settled | None:
        if of_few is None or not x.size or (dtype is not None and dtype.np != x.dtype) or not x.flags.c_contiguous:
            return None
        if not is_half(x):
            return of_few(x, wrap_dims(dim, x.ndim), keepdim)
        settled = of_few(np.empty(x.shape, loops.SINGLE), wrap_dims(dim, x.ndim), keepdim) if x.size < MANY else None
        return settled and narrowed(settled, x.dtype)

    def prepare(x: np.ndarray, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Settled:
        if (settled := sure(x, dim, keepdim, dtype)) is not None:
            return settled
        axis, converts = wrap_dims(dim, x.ndim), dtype is not None and dtype.np != x.dtype

        def compute(x: np.ndarray) -> Any:
            if x.size < LARGE or 0 in axis or not x.ndim or (loop and along_lines(x, axis) and by_loop(loop, x)):
                return function(x, axis, keepdim)
            return by_parts(lambda part: function(part, axis, keepdim), x)  # each part yields some of the results

        if not converts and of_half is not None and x.size >= MANY and is_half(x):
            return lambda x: compute(to_opmath(x)) if (found := of_half(x, axis, keepdim)) is None else found
        if not converts and x.size < LARGE and is_half(x):
            return narrowed(lambda x: function(x, axis, keepdim), x.dtype)
        if converts or is_half(x) or x.dtype.kind not in NATIVE:
            return lambda x: compute(to_opmath(converted(x, dtype)))
        return compute if x.size >= LARGE else lambda x: function(x, axis, keepdim)

    return Prepared(prepare, sure=of_few and sure)


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


# -- sums ----------------------------------------------------------------------------------------------------

@lru_cache(1 << 10)
def by_ones(sizes: Ints, kind: str, axis: Ints, keepdims: bool = False) -> Settled | None:
    """Return the function that sums contiguous float32 or float64 numbers (``kind``: the dtype's letter), each run of
    adjacent axes by a product with ones, in a quarter of NumPy's time, or by the cascade if PyTorch adds up rows in
    vectors; None for long lines.
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
        return lambda x: cascade(x.reshape(-1, number, last), 1).reshape(shape)
    if number > (PIECE if last == 1 else ROWS):
        return None
    ones = ONES[kind][:number]
    if len(sizes) == 2 and not keepdims:
        return (lambda x: x.dot(ones)) if first else ones.dot
    if last == 1:
        return (lambda x: x.reshape(-1, number).dot(ones).reshape(shape)) if first else (
            lambda x: ones.dot(x.reshape(-1)).reshape(shape))
    return (lambda x: np.matmul(ones, x.reshape(-1, number, last)).reshape(shape)) if first else (
        lambda x: ones.dot(x.reshape(number, last)).reshape(shape))


def few_summed(x: np.ndarray, axis: Ints, keepdims: bool) -> Settled | None:
    """Return the function that sums integers or float32 or float64 numbers that are not many; None for others."""
    if x.dtype.char in "lq":
        return lambda x: add(x, axis, None, None, keepdims)
    if x.dtype.char not in ONES or not axis or x.size >= LARGE:
        return None
    if len(axis) == x.ndim and not keepdims and x.size < MANY:
        if x.size > FEW:
            return lambda x: add(x, None)
        ones = ONES[x.dtype.char][:x.size]
        return ones.dot if x.ndim == 1 < x.size else partial(np.vdot, ones)  # dot adds no 0 to a single -0
    if (settled := None if len(axis) == x.ndim else by_ones(x.shape, x.dtype.char, axis, keepdims)):
        return settled
    lines = x.size < MANY and axis == (x.ndim - 1,)  # which ``total`` sums so, after all its checks
    return (lambda x: add(x, axis, None, None, keepdims)) if lines or x.size <= FEW else None


def few_averaged(x: np.ndarray, axis: Ints, keepdims: bool) -> Settled | None:
    """Return the function that averages few float32 or float64 numbers; None for others."""
    summed = few_summed(x, axis, keepdims) if x.dtype.char in ONES else None
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
    if x.size >= MANY and x.dtype.kind == "f" and x.flags.c_contiguous:
        if len(axis) == x.ndim:
            return np.reshape(sum_of_all(x), (1,) * x.ndim if keepdims else ())
        if along_lines(x, axis):
            out = (by_loop(loops.sum_lines, x) or of_lines)(x)
            return out.reshape((*x.shape[:-1], 1)[:x.ndim - 1 + keepdims])
    last = (x.ndim - 1,)
    if x.size > SOME and x.dtype.kind == "f" and x.ndim - 1 in axis and 1 < x.shape[-1] < LINE:
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


def cascade(x: np.ndarray, a: int) -> np.ndarray:
    """Sum along an axis, which stays with length 1, in the order of PyTorch's ``cascade_sum``: blocks of ``step`` rows,
    then blocks of these sums, and so on, and last the remainder of each level. BLAS sums short rows.
    """
    if has_short_rows(x, a):
        return of_short_rows(x.reshape(-1, x.shape[a], prod(x.shape[a + 1:]))).reshape(
            (*x.shape[:a], 1, *x.shape[a + 1:]))
    step = 1 << max(4, (x.shape[a] - 1).bit_length() // LEVELS)
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
        x = add(blocks, a + 1) if a or x.size < LARGE else by_parts(lambda part: add(part, 1), blocks)
    return reduce(np.add, [*over, add(x, a, keepdims=True)])


def by_boxes(loop: Callable[..., None], x: np.ndarray, a: int, step: int) -> np.ndarray:
    """Sum along an axis by a loop, in blocks of boxes, or of columns of a single one."""
    boxes = x.reshape(prod(x.shape[:a]), x.shape[a], prod(x.shape[a + 1:]))
    count, rows, columns = boxes.shape
    out = np.empty((count, columns), x.dtype)
    if count > 1:
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
    """Sum boxes (count, rows, columns) over their rows, by BLAS: blocks of rows, and blocks of their sums."""
    boxes, n, columns = x.shape
    ones = ONES[x.dtype.char]
    if n <= ROWS:
        return np.matmul(ones[:n], x)
    whole = n - n % ROWS
    blocks = np.matmul(ones[:ROWS], x[:, :whole].reshape(boxes, n // ROWS, ROWS, columns))
    return of_short_rows(blocks) if whole == n else of_short_rows(blocks) + np.matmul(ones[:n - whole], x[:, whole:])


def by_loop(loop: loops.Loop, x: np.ndarray, *settings: Any) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return a function that reduces the last axis by a loop over float32 lines, in blocks; None if there is none."""
    if x.dtype.char not in "fH" or (compiled := loop.compiled(x.size)) is None:  # H: bits of half precision
        return None

    def call(lines: np.ndarray) -> np.ndarray:
        out = np.empty(lines.shape[:-1], np.float32)
        matrix, target = lines.reshape(-1, lines.shape[-1]), out.reshape(-1)
        each_block(lambda part: compiled(matrix[part], target[part], *settings),
                   len(matrix), max(LARGE // matrix.shape[1], 1), matrix.size)
        return out

    return call


def by_pieces(of_lines: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """Apply a function of lines to pieces of a contiguous array, and append the remainder."""
    whole = x.size - x.size % PART
    x = x.reshape(-1)
    return np.concatenate([of_lines(x[:whole].reshape(-1, PART)), x[whole:]])


def in_vectors(x: np.ndarray) -> np.ndarray:
    """Sum along the last axis: short lines by BLAS, which does not restart for each, others by ``einsum``, which uses
    SIMD.
    """
    if x.shape[-1] <= PIECE and x.dtype.char in ONES and x.flags.c_contiguous:
        return np.asarray(x.reshape(-1, x.shape[-1]).dot(ONES[x.dtype.char][:x.shape[-1]])).reshape(x.shape[:-1])
    return np.asarray(np.einsum("...i->...", x))


def sum_of_all(x: np.ndarray) -> Any:
    """Sum a large contiguous floating point array: in pieces, whose sums are added in float64."""
    sums = by_loop(loops.sum_lines, x) or (lambda pieces: by_parts(lambda part: np.einsum("ij->i", part), pieces))
    return add(by_pieces(sums, x), None, np.float64).astype(x.dtype)


def half_total(x: np.ndarray, axis: Ints, keepdims: bool) -> Any:
    """Sum half precision in float32 by a loop, over all dimensions or along long lines; None if there is no loop."""
    every = len(axis) == x.ndim
    if not x.flags.c_contiguous or not (every or along_lines(x, axis)):
        return None
    sums = by_loop(loops.sum_half_lines[x.dtype.name], bits := x.view(np.uint16))
    if sums is None:
        return None
    if every:
        flat, whole = x.reshape(-1), x.size - x.size % PIECE
        parts = sums(bits.reshape(-1)[:whole].reshape(-1, PIECE))
        return np.reshape(add(parts) + add(to_opmath(flat[whole:])), (1,) * x.ndim if keepdims else ())
    return sums(bits).reshape((*x.shape[:-1], 1)[:x.ndim - 1 + keepdims])


def half_mean(x: np.ndarray, axis: Ints, keepdims: bool) -> Any:
    found = half_total(x, axis, keepdims)
    return None if found is None else found / np.float32(count(x, axis))


def squares_by_blas(x: np.ndarray) -> np.ndarray:
    """Sum squares along the last axis."""
    return np.asarray(np.vecdot(x, x))


def of_lines(x: np.ndarray, sums: Callable[[np.ndarray], np.ndarray] = in_vectors, piece: int = PIECE) -> np.ndarray:
    """Sum along the last axis; long lines in pieces, to keep rounding errors small."""
    length = x.shape[-1]
    if length <= 2 * piece:
        return sums(x)
    whole = length - length % piece
    pieces = x[..., :whole].reshape(*x.shape[:-1], -1, piece)
    parts = by_parts(sums, pieces) if x.ndim == 1 else sums(pieces)
    return np.asarray(add(parts, -1, np.float64) + sums(x[..., whole:])).astype(x.dtype)


@Prepared
def nansum(x: np.ndarray, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Settled:
    """Prepare the sum without NaN, converted last: the dtype may have no NaN."""
    settled: Any = summed.prepare(x, dim, keepdim, dtype)
    if x.dtype.kind != "f" and x.dtype.name != "bfloat16":
        return settled
    zero, may_be_nan = x.dtype.type(0), dtype is None or dtype.is_floating_point

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


def variance(x: np.ndarray, axis: Ints, freedom: Any) -> tuple[Any, Any]:
    """Compute variance and mean, without the dimensions. Complex variance adds both parts'.

    float32 is computed in float64, as in PyTorch: by a loop, or by NumPy, the mean first. Without a loop, large arrays
    are computed in float32, since float64 would take thrice as long.
    """
    if x.dtype.kind == "c":
        (first, real), (second, imag) = (variance(part, axis, freedom) for part in (x.real, x.imag))
        return first + second, real + 1j * imag
    if x.flags.f_contiguous and not x.flags.c_contiguous:
        spread, middle = variance(x.T, tuple([x.ndim - 1 - a for a in reversed(axis)]), freedom)
        return spread.T, middle.T
    if x.dtype.char == "f":
        if found := moments_by_loop(x, axis):
            shape = tuple([n for a, n in enumerate(x.shape) if a not in axis])
            return found[1].reshape(shape) / freedom, found[0].reshape(shape)
        if x.size < WIDENED:
            return variance(x.astype(np.float64), axis, freedom)
    middle = np.asarray(mean(x, axis, True))
    away = np.asarray(x - middle)
    result = sum_of_squares(away, axis) / np.asarray(freedom, x.dtype)
    if x.dtype.char == "f" and not np.all((result > TINY) & (result < inf)):
        return variance(x.astype(np.float64), axis, freedom)
    return result, middle.reshape(result.shape)


def moments_by_loop(x: np.ndarray, axis: Ints) -> tuple[np.ndarray, np.ndarray] | None:
    """Return means and sums of square deviations of a float32 array, flat; None if there is no loop."""
    number, starts = count(x, axis), axis == tuple(range(len(axis))) and len(axis) < x.ndim
    loop = (loops.moments_of_columns if starts else loops.moments_of_lines).compiled(x.size)
    if loop is None or number < 2 or not x.size:
        return None
    if not starts:
        x = np.moveaxis(x, axis, range(-len(axis), 0))
    x = np.ascontiguousarray(x)
    if starts:
        return of_columns(loop, x.reshape(number, -1))
    if len(axis) < x.ndim or number <= 2 * PIECE:
        return of_rows(loop, x.reshape(-1, number))
    whole, flat = number - number % PIECE, x.reshape(-1)
    parts = [flat[:whole].reshape(-1, PIECE)] + [flat[whole:].reshape(1, -1)] * (whole < number)
    means, squares = np.concatenate([np.array(of_rows(loop, part)) for part in parts], 1)
    counts = np.full(len(means), PIECE)
    counts[-1] -= -number % PIECE
    middle = add(means * counts) / number
    return middle, add(squares + counts * np.square(means - middle))


def of_rows(loop: Callable[..., None], matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both moments of each row."""
    out = np.empty((len(matrix), 2))
    each_block(lambda part: loop(matrix[part], out[part]), len(out), max(LARGE // matrix.shape[1], 1), matrix.size)
    return out[:, 0], out[:, 1]


def of_columns(loop: Callable[..., None], matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both moments of each column."""
    out = np.empty((2, matrix.shape[1]))

    def work(part: slice) -> None:
        some = np.empty((2, len(out[0, part])))
        loop(matrix, some, part.start)
        out[:, part] = some

    each_block(work, matrix.shape[1], COLUMNS, matrix.size)
    return out[0], out[1]


def sum_of_squares(x: np.ndarray, axis: Ints) -> np.ndarray:
    """Sum the squares of an array of floating point numbers, which may be written over."""
    if axis == (x.ndim - 1,) and x.flags.c_contiguous and x.shape[-1] >= LINE:
        return of_lines(x, squares_by_blas, 3 * LINE // 2)
    np.square(x, out=x)
    return np.asarray(total(x, axis))


def moments(name: str, finish: Callable[[Any], Any] = np.asarray, both: bool = False) -> Prepared:
    """Return a row for ``op(self, dim, correction, keepdim)``: a function of the variance; the mean too if ``both``."""

    def row(x: np.ndarray, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Any:
        axis = wrap_dims(dim, x.ndim)
        freedom = count(x, axis) - (1 if correction is None else correction)
        freedom = freedom if freedom > 0 else 0  # also for NaN, as ``std::max`` does
        x = to_opmath(x)
        spread, middle = variance(x, axis, freedom)
        if freedom <= 0 and np.size(spread):
            warnings.warn(f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than "
                          "the reduction factor (input numel divided by output numel).", stacklevel=6)
        spread, middle = finish(spread).astype(x.real.dtype, copy=False), middle.astype(x.dtype, copy=False)
        if both and middle.dtype.kind == "f" and np.isinf(middle).any():  # a running mean is NaN after an infinity
            lines = np.moveaxis(x, axis, range(len(axis))).reshape(-1, middle.size)
            early = np.isinf(lines[:-1]).any(0).reshape(middle.shape)
            middle = np.where(early, middle.dtype.type(np.nan), middle)
        if keepdim:
            kept = tuple([1 if a in axis else n for a, n in enumerate(x.shape)])
            spread, middle = spread.reshape(kept), middle.reshape(kept)
        spread = spread if x.size else np.full_like(spread, np.nan)
        return (spread, middle) if both else spread

    def prepare(x: np.ndarray, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Settled:
        axis = wrap_dims(dim, x.ndim)
        freedom = count(x, axis) - (1 if correction is None else correction)
        half, is_complex = is_half(x), x.dtype.char in "FD"
        if not ((half or is_complex or x.dtype.char in ONES) and 0 < x.size <= FEW and axis and freedom > 0):
            return lambda x: row(x, dim, correction, keepdim)
        if half:
            run = prepare(np.empty(x.shape, loops.SINGLE), dim, correction, keepdim)
            return narrowed(run, x.dtype, True)
        number, divisor, kept, double = np.float64(count(x, axis)), np.float64(freedom), x.dtype, np.dtype(
            np.complex128 if is_complex else np.float64)
        real = x.real.dtype
        shape = tuple([1 if a in axis else n for a, n in enumerate(x.shape) if keepdim or a not in axis])
        order, ones = (*[a for a in range(x.ndim) if a not in axis], *axis), ONES["d"][:count(x, axis)]

        def few(x: np.ndarray) -> Any:
            wide = x.transpose(order).astype(double, "C").reshape(-1, ones.size)
            middle = wide.dot(ones)
            middle /= number
            wide -= middle[:, None]
            found = np.vecdot(wide, wide).real
            found /= divisor
            spread = finish(found).astype(real).reshape(shape)
            if not both:
                return spread
            if not isfinite(add(found, None)):
                return row(x, dim, correction, keepdim)
            return spread, middle.astype(kept).reshape(shape)

        def single(x: np.ndarray) -> Any:  # over all dimensions
            wide = x.astype(double).ravel()
            middle = wide.dot(ones) / number
            wide -= middle
            found = (np.vdot(wide, wide).real if is_complex else wide.dot(wide)) / divisor
            spread = real.type(finish(found))
            if not both:
                return spread
            return (spread, kept.type(middle)) if isfinite(found) else row(x, dim, correction, keepdim)

        return few if shape else single

    return Prepared(prepare)


# -- extrema and truth ---------------------------------------------------------------------------------------

def truth(reduce: Any) -> Reduce:
    return lambda x, axis, keepdims: reduce(part_for(x, bool_).astype(bool, copy=False), axis, keepdims=keepdims)


def few_true(reduce: Any) -> Callable[[np.ndarray, Ints, bool], Settled | None]:
    """Return a function that prepares the truth values of numbers that NumPy need not convert first."""
    return lambda x, axis, keepdims: (
        (lambda x: reduce(x, axis, keepdims=keepdims)) if x.dtype.char in "fdlq?" and x.size < LARGE else None)


def extremum(reduce: Any, find: Callable[..., np.ndarray]) -> Reduce:
    """Return a reduction to the extremum, where NaN wins. NumPy finds a line's index faster than its value."""
    lowest = reduce is minimum

    def found(x: np.ndarray, axis: Ints, keepdims: bool) -> Any:
        if x.size >= LARGE and len(axis) == x.ndim and x.flags.c_contiguous:
            if of_lines := by_loop(loops.extreme_of_lines, x, lowest):
                x = by_pieces(of_lines, x)
            else:
                x = by_parts(lambda part: reduce(part, keepdims=True), x.reshape(-1))
            x = x.reshape(-1, *[1] * (len(axis) - 1))
        elif x.size >= LARGE and 0 in axis:
            x = by_parts(lambda part: reduce(part, 0, keepdims=True), x)
        elif x.size >= MANY and x.dtype.kind == "f" and along_lines(x, axis):
            if of_lines := by_loop(loops.extreme_of_lines, x, lowest):
                values = of_lines(x)
            else:
                along = x.reshape(-1, x.shape[-1])
                values = along[np.arange(len(along)), find(along, 1)]
            return values.reshape((*x.shape[:-1], 1)[:x.ndim - 1 + keepdims])
        return reduce(x, axis, keepdims=keepdims)

    return found


def lines(x: np.ndarray, dim: int) -> tuple[np.ndarray, int]:
    """Return the array, with a 0-d one as a line, and the normalised axis."""
    return (x, dim % x.ndim) if x.ndim else (x.reshape(1), 0)


def selected(choose: Callable[[np.ndarray, int], np.ndarray]) -> Prepared:
    """Return a row for ``op(self, dim, keepdim)`` from a function that returns an index for each line."""

    def prepare(x: np.ndarray, dim: int = -1, keepdim: bool = False) -> Settled:
        if not x.ndim:
            return lambda x: (x.copy(), np.zeros((), np.int64))
        return sure(x, dim, keepdim) or (lambda x: at(x, dim, choose(*lines(to_opmath(x), dim)), keepdim))

    def sure(x: np.ndarray, dim: int = -1, keepdim: bool = False) -> Settled | None:
        half = is_half(x)
        if not 0 < x.size <= SOME or (x.dtype.char not in "fdlq" and not half) or not -x.ndim <= dim < x.ndim or (
                not x.flags.c_contiguous):
            return None
        axis = dim % x.ndim
        starts, step = line_starts(x.shape, axis)
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1:])

        def few(x: np.ndarray) -> tuple[Any, Any]:
            index = choose(x.astype(loops.SINGLE) if half else x, axis)
            values = x.take(starts + index if step == 1 else starts + index * step)
            return (values.reshape(shape), index.reshape(shape)) if keepdim else (values, index)

        return few

    return Prepared(prepare, sure=sure)


def at(x: np.ndarray, dim: int, index: np.ndarray, keepdim: bool) -> tuple[Any, Any]:
    """Return the values at one index per line, and the index, with or without that dimension."""
    along, axis = lines(x, dim)
    index = np.expand_dims(index, axis)
    shape = along.shape[:axis] + (1,) * keepdim + along.shape[axis + 1:] if x.ndim else ()
    return taken_along(along, index, axis).reshape(shape), index.reshape(shape)


@lru_cache(64)
def line_starts(shape: Ints, axis: int) -> tuple[np.ndarray, int]:
    """Return the cached starts of a contiguous array's lines and the step within them. Not to be written to."""
    places = np.arange(prod(shape)).reshape(shape)
    return np.asarray(places.take(0, axis)), prod(shape[axis + 1:])


def argument(find: Callable[..., Any]) -> Prepared:
    """Return the kernel of ``argmax`` or ``argmin``: the first of equal elements is found, and NaN wins."""

    def of_columns(x: np.ndarray, keepdim: bool) -> Any:
        loop = loops.extreme_in_columns.taking(x)
        if not loop:
            return find(x, 0, keepdims=keepdim)
        out = np.empty((1, *x.shape[1:])[not keepdim:], np.int64)
        matrix, target = x.reshape(len(x), -1), out.reshape(-1)
        each_block(lambda part: loop(matrix, target[part], find is ndarray.argmin, part.start),
                   len(target), max(LARGE // len(x), 1), x.size)
        return out

    def prepare(x: np.ndarray, dim: int | None = None, keepdim: bool = False) -> Settled:
        half = x.dtype.itemsize == 2 and x.dtype.kind not in "iu"
        if dim is None or not x.ndim:
            shape = (1,) * x.ndim if keepdim else ()
            if half and not keepdim:
                return lambda x: find(as_dtype(x, loops.SINGLE))
            return (lambda x: np.reshape(find(to_opmath(x)), shape)) if keepdim else find
        if dim in (0, -x.ndim) and x.size >= max(LARGE, LINE * len(x)):
            return lambda x: of_columns(to_opmath(x), keepdim)
        if half:
            return lambda x: find(to_opmath(x), dim, keepdims=keepdim)
        return (lambda x: find(x, dim, keepdims=keepdim)) if keepdim else (lambda x: find(x, dim))

    return Prepared(prepare)


@Prepared
def aminmax(x: np.ndarray, dim: int | None = None, keepdim: bool = False) -> Settled:
    """Prepare the least and the greatest element of each line."""
    axis = None if dim is None and not keepdim else wrap_dims(dim, x.ndim)

    def both(x: np.ndarray) -> tuple[Any, Any]:
        return minimum(x, axis, None, None, keepdim), maximum(x, axis, None, None, keepdim)

    return narrowed(both, x.dtype) if is_half(x) else both


#: Most segments whose ends Python looks at; numbers up to which half precision holds all integers.
SEGMENTS, EXACT = 1 << 6, 1 << 8

#: What combines the elements of a segment, and what it starts from.
SEGMENT_REDUCTIONS = {
    "max": (np.maximum, -np.inf), "min": (np.minimum, np.inf), "sum": (np.add, 0), "mean": (np.add, 0),
    "prod": (np.multiply, 1), "amax": (np.maximum, -np.inf), "amin": (np.minimum, np.inf)}


@taking(5)
def segment_reduce(data: np.ndarray, how: str, lengths: Any = None, indices: Any = None, offsets: Any = None,
                   axis: int = 0, unsafe: bool = False, initial: Any = None) -> Callable[..., Any] | None:
    """Prepare the reduction of few consecutive rows each."""
    given, half = lengths if offsets is None else offsets, is_half(data)
    if given.ndim != 1 or not 0 < given.size <= SEGMENTS or not (data.dtype.char in "fd" or half) or not data.size:
        return None
    dtype = loops.SINGLE if half else data.dtype
    (ufunc, start), count, shape = SEGMENT_REDUCTIONS[how], len(data), data.shape[1:]
    start, empty, numbers = start if initial is None else initial, initial is None, np.arange(given.size)
    most = EXACT if half else MOST // (data.size // count)

    def run(data: np.ndarray, how: str, lengths: Any = None, indices: Any = None,
            offsets: Any = None) -> np.ndarray | None:
        if offsets is None:
            sizes, first = lengths.tolist(), 0
        else:
            ends = offsets.tolist()
            sizes, first = [end - begin for begin, end in pairwise(ends)], ends[0]
        total = sum(sizes)
        if min(sizes, default=0) < 0 or first < 0 or total > most or not (
                first + total <= count if unsafe or offsets is not None else total == count):
            return None
        out = np.full((len(sizes), *shape), start, dtype)
        ufunc.at(out, numbers[:len(sizes)].repeat(sizes), data[first:first + total].astype(dtype, copy=False))
        if half:
            out = out.astype(data.dtype).astype(dtype)  # rounded before it is divided
        if how == "mean":
            wide = np.array(sizes, dtype).reshape(-1, *[1] * len(shape))
            out /= np.maximum(wide, 1)
            if empty and 0 in sizes:
                out[wide.reshape(-1) == 0] = np.nan
        return out.astype(data.dtype, copy=False)

    return run


@taking(3)
def value_selecting_reduction_backward(grad: np.ndarray, dim: int, at: np.ndarray, sizes: tuple[int, ...],
                                       keepdim: bool) -> Callable[..., Any] | None:
    """Prepare zeros with a gradient at one index, or some, of each line."""
    shape = at.shape if keepdim or not sizes else (*at.shape[:dim % len(sizes)], 1, *at.shape[dim % len(sizes):])
    find = finder(sizes, dim, shape)

    def run(grad: np.ndarray, dim: int, at: np.ndarray) -> np.ndarray | None:
        out = np.zeros(sizes, grad.dtype)
        try:
            out.reshape(-1)[find(at.reshape(shape))] = grad.reshape(shape)  # type: ignore[misc]
        except ValueError:  # out of bounds
            return None
        return out

    return None if find is None or grad.shape != at.shape or prod(sizes) > MOST else run


def hash_tensor(x: np.ndarray, dim: Any = (), keepdim: bool = False, mode: int = 0) -> Any:
    bits = x.astype(np.int64 if x.dtype.kind in "biu" else np.float64).view(np.uint64)
    return exclusive_or(bits, wrap_dims(dim, x.ndim), keepdims=keepdim)


# -- norms ---------------------------------------------------------------------------------------------------

def logsumexp(x: np.ndarray, axis: Ints, keepdims: bool) -> Any:
    """Compute the sum after a shift by the largest element, so that nothing overflows."""
    if x.dtype.kind in "biu":
        x = x.astype(np.float64)
    top = maximum(x.real, axis, keepdims=True, initial=-inf)
    top = np.where(np.isfinite(top), top, 0)
    shifted = np.asarray(x - top)
    result = np.asarray(np.log(total(np.exp(shifted, out=shifted), axis, keepdims)))
    return result + top.reshape(result.shape)


def vector_norm(x: np.ndarray, p: float, axis: Ints, keepdims: bool = False) -> Any:
    """Compute the p-norm: for 0 the number of nonzero elements, for infinities the extrema."""
    if p == 0:
        return total(x != 0, axis, keepdims)
    if count(x, axis) == 1:
        return maximum(np.abs(x), axis, keepdims=keepdims)
    if p == 2 and x.dtype.kind == "f" and x.size > FEW and len(axis) == x.ndim and x.flags.forc:
        return np.sqrt(of_lines(x.ravel("K"), squares_by_blas)).reshape((1,) * x.ndim if keepdims else ())
    if p == 2 and x.dtype.kind == "f" and x.size > FEW and axis == (x.ndim - 1,) and x.flags.c_contiguous:
        return np.sqrt(of_lines(x, squares_by_blas)).reshape((*x.shape[:-1], 1)[:x.ndim - 1 + keepdims])
    if p == 2 and x.dtype.kind == "f":
        return np.sqrt(total(np.square(x), axis, keepdims))
    if p == 2:
        found = np.sqrt(total(x.real**2 + x.imag**2, axis, keepdims))
        if not np.isnan(found).any():
            return found
    x = np.abs(x)  # of complex numbers with an infinite part it is infinite
    if p == inf or p == -inf:
        return (maximum if p > 0 else minimum)(x, axis, keepdims=keepdims)
    if p == 1:
        return total(x, axis, keepdims)
    p = x.dtype.type(p)  # which may be infinite, but is no maximum then
    return np.asarray(np.float_power(total(x**p, axis, keepdims), 1 / p)).astype(x.dtype)


def linalg_vector_norm(x: np.ndarray, ord: Any = 2, dim: Any = None, keepdim: bool = False,
                       dtype: Any = None) -> Settled:
    """Prepare a norm; the Euclidean one of few elements is written out."""
    axis = wrap_dims(dim, x.ndim)
    if (ord == 2 and dtype is None and (x.dtype.char in ONES or is_half(x)) and 0 < x.size <= FEW
            and x.flags.c_contiguous and count(x, axis) > 1):
        def euclidean(x: np.ndarray) -> Any:
            return sqrt(add(x * x, axis, None, None, keepdim))

        return narrowed(euclidean, x.dtype) if is_half(x) else euclidean
    row = reduced(lambda part, axis, keepdims: vector_norm(part, ord, axis, keepdims))
    settled: Any = row.prepare(x, dim, keepdim, dtype)
    return settled


summed = reduced(total, loops.sum_lines, few_summed, half_total)
averaged = reduced(mean, loops.sum_lines, few_averaged, half_mean)
multiplied = reduced(product)
every, some = (reduced(truth(holds), None, few_true(holds)) for holds in (np.logical_and.reduce, np.logical_or.reduce))
largest, smallest = (reduced(extremum(*of), loops.extreme_of_lines)
                     for of in ((maximum, np.argmax), (minimum, np.argmin)))
AT_ONCE.add(segment_reduce, value_selecting_reduction_backward)
CPU_KERNELS.add(aminmax, hash_tensor, Prepared(linalg_vector_norm))
CPU_KERNELS.update({
    "sum": whole(summed),
    "sum.dim_IntList": summed,
    "nansum": nansum,
    "mean": whole(averaged),
    "mean.dim": averaged,
    "prod": whole(multiplied),
    "prod.dim_int": multiplied,
    "var.correction": moments("var"),
    "std.correction": moments("std", np.sqrt),
    "var_mean.correction": moments("var_mean", both=True),
    "std_mean.correction": moments("std_mean", np.sqrt, True),
    "all": every,
    "all.dim": every,
    "all.dims": listed(every),
    "any": some,
    "any.dim": some,
    "any.dims": listed(some),
    "count_nonzero.dim_IntList": reduced(lambda x, axis, keepdims: total(x != 0, axis, keepdims)),
    "amax": largest,
    "amin": smallest,
    "max": largest,
    "min": smallest,
    "max.dim": selected(ndarray.argmax),
    "min.dim": selected(ndarray.argmin),
    "argmax": argument(ndarray.argmax),
    "argmin": argument(ndarray.argmin),
    "logsumexp": reduced(logsumexp),
})
