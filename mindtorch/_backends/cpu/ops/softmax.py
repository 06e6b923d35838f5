"""CPU kernels of softmax. Large arrays are worked on in blocks that stay in the cache, and in place."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .... import _loops
from ...._storage import allocate
from ...common.blocks import BLOCK, LARGE, each_block
from . import CPU_KERNELS
from .pointwise import exp_of
from .reduction import MANY, lines, maximum, to_opmath, total

#: Elements of an array that is computed as a whole.
FEW = 1 << 16


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


def softmax_of(x: np.ndarray, out: np.ndarray, axis: int) -> None:
    """Compute softmax after a shift by the largest element, so that nothing overflows."""
    np.subtract(x, maximum(x, axis, None, None, True), out)
    exp(out, out)
    out /= total(out, (axis,), True)


def log_softmax_of(x: np.ndarray, out: np.ndarray, axis: int) -> None:
    np.subtract(x, maximum(x, axis, None, None, True), out)
    out -= np.log(total(exp(out, np.empty_like(out)), (axis,), True))


def softmax_grad(grad: np.ndarray, output: np.ndarray, out: np.ndarray, axis: int) -> None:
    np.multiply(grad, output, out=out)
    np.subtract(grad, total(out, (axis,), True), out=out)
    out *= output


def log_softmax_grad(grad: np.ndarray, output: np.ndarray, out: np.ndarray, axis: int) -> None:
    exp(output, out)
    out *= total(grad, (axis,), True)
    np.subtract(grad, out, out=out)


def blocked(compute: Callable[..., None], count: int, loop: _loops.Loop) -> Callable[..., Any]:
    """A row from a function that computes along an axis of ``count`` arrays into an output: it is called for
    slices along the first axis, if that is another one. The loop computes lines of float32.
    """

    def row(*args: Any) -> np.ndarray:
        arrays = [lines(to_opmath(array), args[count])[0] for array in args[:count]]
        axis = lines(arrays[0], args[count])[1]
        out = allocate(arrays[0].shape, arrays[0].dtype)
        of_lines = None
        if axis == out.ndim - 1 and all(a.dtype == np.float32 and a.flags.c_contiguous for a in arrays):
            of_lines = loop.compiled(out.size)
        if of_lines is not None:
            matrices = [array.reshape(-1, out.shape[-1]) for array in (*arrays, out)]
            each_block(lambda part: of_lines(*[matrix[part] for matrix in matrices]), len(matrices[0]),
                       max(LARGE // out.shape[-1], 1), out.size)
        elif out.size and axis == 0:
            compute(*arrays, out, axis)
        elif out.size:
            each_block(lambda part: compute(*[array[part] for array in arrays], out[part], axis), len(out),
                       max(BLOCK * len(out) // out.size, 1), out.size)
        return out.reshape(np.shape(args[0]))

    return row


CPU_KERNELS.update({
    "_softmax": blocked(softmax_of, 1, _loops.softmax),
    "_log_softmax": blocked(log_softmax_of, 1, _loops.log_softmax),
    "_softmax_backward_data": blocked(softmax_grad, 2, _loops.softmax_backward),
    "_log_softmax_backward_data": blocked(log_softmax_grad, 2, _loops.log_softmax_backward),
})
