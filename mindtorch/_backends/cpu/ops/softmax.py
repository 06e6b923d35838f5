"""CPU kernels of softmax. Large arrays are worked on in blocks that stay in the cache, and in place."""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...._base import loops
from ...._storage import allocate
from ...common.blocks import BLOCK, LARGE, each_block
from . import CPU_KERNELS
from .pointwise import exp_of
from .reduction import MANY, SOME, by_ones, lines, maximum, to_opmath, total

#: Elements of an array that is computed as a whole; columns at least that are computed at a time.
FEW, WIDE = 1 << 16, 256


def exp(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Exponentials into an array: of few elements, in one call of NumPy's."""
    return exp_of(x, out) if x.size >= MANY else np.exp(x, out)


#: Numbers in a line up to which BLAS adds it up once for each of them, in the product with a matrix of ones.
SHORT = 16
SQUARES = {kind: [np.ones((n, n), kind) for n in range(SHORT + 1)] for kind in "fd"}
#: Below such a sum of squares no exponential is too large or too small for the sum of all, and below the other the
#: logarithm of that sum is known to a millionth: there is no need to subtract the largest number first.
FOR_SUMS, FOR_LOGARITHMS = 6400.0, 1024.0


def softmax_of_few(x: np.ndarray) -> np.ndarray | None:
    """Softmax of short lines of moderate numbers, contiguous, of float32 or float64; None of others."""
    flat, count = x.ravel(), x.shape[-1]
    if count > SHORT or not flat.dot(flat) < FOR_SUMS:
        return None
    powers = np.exp(x)
    return np.divide(powers, powers.dot(SQUARES[x.dtype.char][count]), powers)


def log_softmax_of_few(x: np.ndarray) -> np.ndarray | None:
    """The logarithm of that."""
    flat, count = x.ravel(), x.shape[-1]
    if count > SHORT or not flat.dot(flat) < FOR_LOGARITHMS:
        return None
    sums = np.exp(x).dot(SQUARES[x.dtype.char][count])
    return np.subtract(x, np.log(sums, sums), sums)


def largest(x: np.ndarray, axis: int) -> np.ndarray:
    """The largest elements along an axis, which stays. NumPy is slow at each line of a matrix that is short."""
    if x.ndim == 2 and axis and x.shape[1] <= SHORT:
        return maximum(x.T.copy())[:, None]
    return maximum(x, axis, None, None, True)


def sums(x: np.ndarray, axis: int) -> np.ndarray:
    """The sums along an axis, as they broadcast with what was added; by a product where there are few numbers."""
    found = by_ones(x, axis) if x.size <= SOME else None
    if found is None:
        return total(x, (axis,), True)
    return found[..., None] if axis == x.ndim - 1 else found


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


def blocked(compute: Callable[..., None], count: int, along: loops.Loop, down: loops.Loop) -> Callable[..., Any]:
    """A row from a function that computes along an axis of ``count`` arrays into an output: it is called for
    slices along the first axis, if that is another one. Of contiguous arrays of float32 the loops compute lines, and
    columns.
    """

    def row(*args: Any) -> np.ndarray:
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

    return row


def by_numpy(compute: Callable[..., None], arrays: list[np.ndarray], out: np.ndarray, axis: int) -> None:
    """Compute all at once along the first axis, and along another one some slices of the first at a time."""
    if axis == 0 and out.size:
        compute(*arrays, out, axis)
    elif out.size:
        each_block(lambda part: compute(*[array[part] for array in arrays], out[part], axis), len(out),
                   max(BLOCK * len(out) // out.size, 1), out.size)


def down_columns(loop: Callable[..., None], boxes: list[np.ndarray]) -> None:
    """Run a loop on some of the matrices at a time, or on some columns of one."""
    count, rows, width = boxes[0].shape
    if count > 1:
        each_block(lambda part: loop(*[box[part] for box in boxes], 0, width), count,
                   max(BLOCK // (rows * width), 1), boxes[0].size)
    else:
        each_block(lambda part: loop(*boxes, part.start, min(part.stop, width)), width, max(BLOCK // rows, WIDE),
                   boxes[0].size)


CPU_KERNELS.update({
    "_softmax": blocked(softmax_of, 1, loops.softmax, loops.softmax_down),
    "_log_softmax": blocked(log_softmax_of, 1, loops.log_softmax, loops.log_softmax_down),
    "_softmax_backward_data": blocked(softmax_grad, 2, loops.softmax_backward, loops.softmax_backward_down),
    "_log_softmax_backward_data": blocked(
        log_softmax_grad, 2, loops.log_softmax_backward, loops.log_softmax_backward_down),
})
