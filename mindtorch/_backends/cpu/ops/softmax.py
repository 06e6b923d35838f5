"""CPU kernels of softmax. Large arrays are computed in place, in blocks that stay in the cache."""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from operator import methodcaller
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.layout import Ints
from ...._dtype import DType
from ...._storage import allocate
from ...common.blocks import BLOCK, LARGE, by_slices, each_block
from ...common.half import FEW as FEW_HALVES, converted as as_dtype
from ..precision import Settled, is_half, to_opmath
from ..rows import MOST, Prepared
from . import AT_ONCE, CPU_KERNELS
from .extrema import lines
from .pointwise import exp_of
from .reduction import MANY, SOME, maximum
from .sums import ONES, by_ones, total

#: FEW: most elements computed as a whole. WIDE: least columns computed at a time.
FEW, WIDE = 1 << 16, 256


def exp(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Write exponentials into an array; few elements in one NumPy call."""
    return exp_of(x, out) if x.size >= MANY else np.exp(x, out)


#: Most elements of a line for a product with a matrix of ones, which repeats the line's sum for each element.
SHORT = 16
SQUARES = {kind: [np.ones((n, n), kind) for n in range(SHORT + 1)] for kind in "fd"}
COLUMNS = {kind: np.ones((MOST, 1), kind) for kind in "fd"}  #: whose products are the sums of longer lines
#: Below the first sum of squares, no exponential overflows or underflows beside the sum; below the second, the sum's
#: logarithm is exact to a millionth, or to 1e-13. The largest number need not be subtracted then.
FOR_SUMS, FOR_LOGARITHMS = {"f": 6400.0, "d": 2.0**18}, {"f": 1024.0, "d": 2.0**18}


def softmax_of_few(x: np.ndarray, axis: int, add: Settled | None) -> np.ndarray:
    """Compute softmax of few float32 or float64 numbers, given the function of sums along the axis; of lines of one
    number, None.
    """
    if add is None:
        return np.exp(x - x)
    flat = x.ravel()
    if not flat.dot(flat) < FOR_SUMS[x.dtype.char]:
        x = x - largest(x, axis)
    powers = np.exp(x)
    return np.divide(powers, add(powers), powers)


def log_softmax_of_few(x: np.ndarray, axis: int, add: Settled | None) -> np.ndarray:
    """Compute log-softmax of few float32 or float64 numbers, as above."""
    if add is None:  # a logarithm of one exponential would round
        return x - x
    flat = x.ravel()
    if not flat.dot(flat) < FOR_LOGARITHMS[x.dtype.char]:
        x = x - largest(x, axis)
    powers = np.exp(x)
    return np.subtract(x, np.log(add(powers)), powers)


def softmax_grad_of_few(grad: np.ndarray, output: np.ndarray, axis: int, add: Settled | None) -> np.ndarray:
    found = grad * output
    return np.subtract(found, output * (found if add is None else add(found)), np.asarray(found))


def log_softmax_grad_of_few(grad: np.ndarray, output: np.ndarray, axis: int, add: Settled | None) -> np.ndarray:
    return grad - np.exp(output) * (grad if add is None else add(grad))


def few_sums(shape: Ints, kind: str, axis: int) -> Settled | None:
    """Return the function of sums along an axis of few numbers, which broadcast: a line's sum is a number, which NumPy
    takes in half the time of an array of it; short lines' are repeated.
    """
    number = shape[axis]
    if len(shape) == 1:
        return methodcaller("dot", ONES[kind][:number])
    if axis == len(shape) - 1:
        return methodcaller("dot", SQUARES[kind][number] if number <= SHORT else COLUMNS[kind][:number])
    return SQUARES[kind][number].dot if len(shape) == 2 and number <= SHORT else by_ones(shape, kind, (axis,), True)


def largest(x: np.ndarray, axis: int) -> np.ndarray:
    """Return the largest elements along an axis, which stays; a single line's as a number. Short lines are transposed,
    since NumPy is slow there.
    """
    if x.size == x.shape[axis]:
        return (x := x.ravel())[x.argmax()]
    if x.ndim == 2 and axis and x.shape[1] <= SHORT:
        return maximum(x.T.copy())[:, None]
    return maximum(x, axis, None, None, True)


def sums(x: np.ndarray, axis: int) -> np.ndarray:
    """Return the sums along an axis, with a shape that broadcasts; few numbers by a product with ones."""
    if x.size == x.shape[axis] <= MOST:
        return np.asarray(x.ravel().dot(ONES[x.dtype.char][:x.size]))
    settled = by_ones(x.shape, x.dtype.char, (axis,), True) if x.size <= SOME else None
    found: np.ndarray = total(x, (axis,), True) if settled is None else settled(x)
    return found


def softmax_of(x: np.ndarray, out: np.ndarray, axis: int) -> None:
    """Compute softmax after a shift by the largest element, so that nothing overflows."""
    np.subtract(x, largest(x, axis), out)
    exp(out, out)
    out /= sums(out, axis)


def log_softmax_of(x: np.ndarray, out: np.ndarray, axis: int) -> None:
    np.subtract(x, largest(x, axis), out)
    out -= np.log(sums(exp(out, np.empty_like(out)), axis))


def softmax_grad(grad: np.ndarray, output: np.ndarray, out: np.ndarray, axis: int) -> None:
    np.multiply(grad, output, out=out)
    np.subtract(grad, sums(out, axis), out=out)
    out *= output


def log_softmax_grad(grad: np.ndarray, output: np.ndarray, out: np.ndarray, axis: int) -> None:
    exp(output, out)
    out *= sums(grad, axis)
    np.subtract(grad, out, out=out)


def in_rows(x: np.ndarray) -> np.ndarray:
    """Return an array in the dtype of the computation, contiguous."""
    return np.asarray(to_opmath(x), order="C")


def keeps(dtype: np.dtype, dim: int, other: Any = False) -> bool:
    """Return True if results have the dtype of the arrays: ``other`` is it, or says whether half precision widens."""
    return other.np is dtype if isinstance(other, DType) else not other


def blocked(compute: Callable[..., None], count: int, along: loops.Loop, down: loops.Loop,
            of_few: Callable[..., np.ndarray]) -> Prepared:
    """Return a row from a function that computes along an axis of ``count`` arrays into an output.

    The function receives slices along the first axis, if that is not the axis of the computation. Contiguous float32
    arrays use the loops: ``along`` for lines, ``down`` for columns. Small ones are computed as a whole, and few numbers
    by ``of_few``.
    """

    def row(*args: Any) -> np.ndarray:
        x, rest = args[0], args[count:]
        if x.size >= LARGE and x.ndim > 1 and is_half(x):
            dtype, axis = x.dtype if keeps(x.dtype, *rest) else loops.SINGLE, 0 if rest[0] % x.ndim else 1
            found: np.ndarray = by_slices(lambda *parts: as_dtype(row(*map(to_opmath, parts), *rest), dtype),
                                          *args[:count], axis=axis)
            return found
        given = [to_opmath(array) for array in args[:count]]
        arrays, axis = [lines(array, args[count])[0] for array in given], lines(given[0], args[count])[1]
        out = allocate(arrays[0].shape, arrays[0].dtype)
        loop = (along if axis == out.ndim - 1 else down).taking(*arrays) if out.size else None
        if loop is None:
            by_numpy(compute, arrays, out, axis)
        elif axis == out.ndim - 1:
            matrices = [array if array.ndim == 2 else array.reshape(-1, out.shape[-1]) for array in (*arrays, out)]
            each_block(lambda part: loop(*[matrix[part] for matrix in matrices]), len(matrices[0]),
                       max(LARGE // out.shape[-1], 1), out.size)
        else:
            down_columns(loop, [array.reshape(prod(out.shape[:axis]), out.shape[axis], -1) for array in (*arrays, out)])
        return out.reshape(given[0].shape)

    def prepare(*args: Any) -> Callable[..., Any]:
        rest, narrow = args[count:], args[0].dtype
        found = sure(*args)
        if found is None and keeps(narrow, *rest):
            wide = [*map(in_rows, args[:count])]
            inner = sure(*wide, rest[0])
            if inner is not None and is_half(args[0]):
                if wide[0].size < FEW_HALVES:
                    dtype = wide[0].dtype
                    return (lambda x: inner(x.astype(dtype, "C")).astype(narrow)) if count == 1 else (
                        lambda *arrays: inner(*[x.astype(dtype, "C") for x in arrays]).astype(narrow))
                return lambda *arrays: as_dtype(inner(*map(in_rows, arrays)), narrow)
            found = inner and (lambda *arrays: inner(*map(in_rows, arrays)))
        return found or (lambda *arrays: row(*arrays, *rest))

    def sure(*args: Any) -> Callable[..., Any] | None:
        x, dim = args[0], args[count]
        if x.dtype.char not in SQUARES or not 0 < x.size <= FEW or not keeps(x.dtype, *args[count:]):
            return None
        for array in args[:count]:
            if array.dtype != x.dtype or array.shape != x.shape or not array.flags.c_contiguous:
                return None
        if not x.ndim and dim in (-1, 0):
            return lambda *arrays: np.asarray(of_few(*arrays, 0, None))
        if not -x.ndim <= dim < x.ndim:
            return None
        axis, shape, dtype = dim % x.ndim, x.shape, x.dtype
        if axis == x.ndim - 1 and (loop := along.taking(*args[:count])) is not None:
            matrix = x.size // shape[axis], shape[axis]

            def by_loop(*arrays: np.ndarray) -> np.ndarray:
                out: np.ndarray = np.empty(shape, dtype)
                loop(*[array.reshape(matrix) for array in (*arrays, out)])
                return out

            return by_loop

        def small(*arrays: np.ndarray) -> np.ndarray:
            out: np.ndarray = np.empty(shape, dtype)
            compute(*arrays, out, axis)
            return out

        add = few_sums(shape, dtype.char, axis) if x.size <= MOST and shape[axis] > 1 else None
        return small if add is None and shape[axis] > 1 else lambda *arrays: of_few(*arrays, axis, add)

    return Prepared(prepare, count, sure=sure)


def by_numpy(compute: Callable[..., None], arrays: list[np.ndarray], out: np.ndarray, axis: int) -> None:
    """Compute everything at once along the first axis; along another axis, slices of the first."""
    if axis == 0 and out.size:
        compute(*arrays, out, axis)
    elif out.size:
        each_block(lambda part: compute(*[array[part] for array in arrays], out[part], axis), len(out),
                   max(BLOCK * len(out) // out.size, 1), out.size)


def down_columns(loop: Callable[..., None], boxes: list[np.ndarray]) -> None:
    """Run a loop on several matrices at a time, or on several columns of one."""
    count, rows, width = boxes[0].shape
    if count > 1:
        each_block(lambda part: loop(*[box[part] for box in boxes], 0, width), count,
                   max(BLOCK // (rows * width), 1), boxes[0].size)
    else:
        each_block(lambda part: loop(*boxes, part.start, min(part.stop, width)), width, max(BLOCK // rows, WIDE),
                   boxes[0].size)


SOFTMAX = blocked(softmax_of, 1, loops.softmax, loops.softmax_down, softmax_of_few)
LOG_SOFTMAX = blocked(log_softmax_of, 1, loops.log_softmax, loops.log_softmax_down, log_softmax_of_few)


def converting(row: Prepared) -> Callable[..., Callable[..., np.ndarray] | None]:
    """Return the preparation of a row for an array of another dtype, which is not large."""
    def prepare(x: np.ndarray, dim: int, dtype: DType | None = None) -> Callable[..., np.ndarray] | None:
        if dtype is None or dtype.np == x.dtype:
            return row.prepare(x, dim, False)
        if not (x.dtype.kind in "biuf" or is_half(x)) or x.size >= LARGE:
            return None
        wanted = dtype.np
        run, few = row.prepare(as_dtype(x, wanted), dim, False), x.size < FEW_HALVES and x.dtype.char != "d"
        return run and (lambda x: run(x.astype(wanted) if few else as_dtype(x, wanted)))

    return prepare


def _safe_softmax(x: np.ndarray, dim: int, dtype: DType | None = None) -> Callable[..., np.ndarray] | None:
    """Prepare softmax that is 0 where all elements are minus infinity."""
    run = SOFTMAX.prepare(x, dim, dtype) if x.dtype.char in SQUARES and (dtype is None or dtype.np == x.dtype) else None
    if run is None:
        return None

    def safe(x: np.ndarray) -> np.ndarray:
        out: np.ndarray = run(x)
        flat = out.ravel()
        if (squares := flat.dot(flat)) != squares:  # NaN
            np.copyto(out, 0, where=maximum(x, dim, None, None, True) == -np.inf)
        return out

    return safe


AT_ONCE.add(_safe_softmax)
AT_ONCE.update({"softmax.int": converting(SOFTMAX), "log_softmax.int": converting(LOG_SOFTMAX)})
CPU_KERNELS.update({
    "_softmax": SOFTMAX,
    "_log_softmax": LOG_SOFTMAX,
    "_softmax_backward_data": blocked(softmax_grad, 2, loops.softmax_backward, loops.softmax_backward_down,
                                      softmax_grad_of_few),
    "_log_softmax_backward_data": blocked(
        log_softmax_grad, 2, loops.log_softmax_backward, loops.log_softmax_backward_down, log_softmax_grad_of_few),
})
