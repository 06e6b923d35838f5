"""CPU kernels of variances and standard deviations."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from math import inf, isfinite
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.call_site import outside
from ...._base.layout import Ints, wrap_dims
from ...common.blocks import LARGE, each_block
from ..precision import Settled, is_half, narrowed, to_opmath
from ..rows import Prepared
from . import CPU_KERNELS
from .reduction import FEW, LINE, PIECE, add, by_kept, count
from .sums import ALONE, ONES, WIDENED, mean, of_lines, squares_by_blas, total

#: float32 variances that are smaller, or infinite, are recomputed: their squares may exceed float32's range.
TINY = 1e-30
#: Columns that a loop reduces at a time.
COLUMNS = 1 << 10


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
        if is_half(x) and x.size >= LARGE and len(axis) < x.ndim:
            return by_kept(lambda part: row(part.astype(loops.SINGLE), dim, correction, keepdim), x, axis, keepdim)
        x = to_opmath(x)
        spread, middle = variance(x, axis, freedom)
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
        run, axis = settled(x, dim, correction, keepdim), wrap_dims(dim, x.ndim)
        reduced = 0 if 0 in [n for a, n in enumerate(x.shape) if a not in axis] else count(x, axis)
        if reduced - (1 if correction is None else correction) > 0:
            return run

        def warning(x: np.ndarray) -> Any:
            warnings.warn(f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than "
                          "the reduction factor (input numel divided by output numel).", stacklevel=outside())
            return run(x)

        return warning

    def settled(x: np.ndarray, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Settled:
        axis = wrap_dims(dim, x.ndim)
        freedom = count(x, axis) - (1 if correction is None else correction)
        half, is_complex = is_half(x), x.dtype.char in "FD"
        most = ALONE if len(axis) == x.ndim else FEW
        if not ((half or is_complex or x.dtype.char in ONES) and 0 < x.size <= most and (axis or not x.ndim)):
            return lambda x: row(x, dim, correction, keepdim)
        if half:
            run = settled(np.empty(x.shape, loops.SINGLE), dim, correction, keepdim)
            return narrowed(run, x, True)
        number, divisor = np.float64(count(x, axis)), np.float64(freedom if freedom > 0 else 0)
        kept, real, double = x.dtype, x.real.dtype, np.dtype(np.complex128 if is_complex else np.float64)
        shape = tuple([1 if a in axis else n for a, n in enumerate(x.shape) if keepdim or a not in axis])
        shaped = len(shape) != 1
        order, ones = (*[a for a in range(x.ndim) if a not in axis], *axis), ONES["d"][:count(x, axis)]

        def few(x: np.ndarray) -> Any:
            wide = x.transpose(order).astype(double, "C").reshape(-1, ones.size)
            middle = wide.dot(ones)
            middle /= number
            wide -= middle[:, None]
            found = np.vecdot(wide, wide).real
            if both and not isfinite(found.dot(found)):
                return row(x, dim, correction, keepdim)
            found /= divisor
            spread = finish(found).astype(real)
            spread = spread.reshape(shape) if shaped else spread
            if not both:
                return spread
            middle = middle.astype(kept)
            return spread, middle.reshape(shape) if shaped else middle

        def single(x: np.ndarray) -> Any:  # over all dimensions
            wide = x.astype(double).ravel()
            middle = wide.dot(ones) / number
            wide -= middle
            found = np.vdot(wide, wide).real if is_complex else wide.dot(wide)
            if both and not isfinite(found):
                return row(x, dim, correction, keepdim)
            spread = real.type(finish(found / divisor))
            return (spread, kept.type(middle)) if both else spread

        return few if shape else single

    return Prepared(prepare)


CPU_KERNELS.update({
    "var.correction": moments("var"),
    "std.correction": moments("std", np.sqrt),
    "var_mean.correction": moments("var_mean", both=True),
    "std_mean.correction": moments("std_mean", np.sqrt, True),
})
