"""Arithmetic of lines of memory and of what broadcasts to them, by loops: NumPy begins anew for each line, which takes
it as long as to compute some hundred elements.
"""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..._base import loops as _loops
from ..._base.layout import Ints

#: Elements of lines that are not too short.
LINE = 16


def of_lines(ufunc: Any, out: np.ndarray, operands: tuple[Any, ...]) -> tuple[Callable[[slice], object], int] | None:
    """A function that computes some of the lines of the result, and how many there are; None where there is no loop.

    One operand is contiguous and has the shape of the result, the other has fewer elements; both are of float32.
    """
    loops = _loops.arithmetic_of_lines.get(ufunc.__name__)
    if loops is None or not all(array.__class__ is np.ndarray and array.dtype == np.float32 for array in operands) or (
            out.dtype != np.float32 or not out.flags.c_contiguous):
        return None
    lines_first = operands[0].shape == out.shape
    x, y = operands if lines_first else operands[::-1]
    if x.shape != out.shape or not x.flags.c_contiguous or y.size in (1, out.size) or (
            other := line_or_column(y, out.shape)) is None or (
            loop := loops[lines_first].compiled(out.size)) is None:
        return None
    is_line = len(other) == 1
    matrix, target = (array.reshape((-1, other.size) if is_line else (other.size, -1)) for array in (x, out))
    return lambda part: loop(matrix[part], other if is_line else other[part], target[part]), len(matrix)


def line_or_column(y: np.ndarray, shape: Ints) -> np.ndarray | None:
    """The matrix that broadcasts as an array does to one of this shape: one row, that has its last dimensions, or one
    column (a copy), that has its first; None if it is neither.
    """
    own = y.shape[next((d for d, size in enumerate(y.shape) if size > 1), y.ndim):]
    if own == shape[len(shape) - len(own):]:
        return y.reshape(1, -1) if y.size >= LINE else None
    ones = next(d for d, size in enumerate(reversed(y.shape)) if size > 1)
    if prod(shape[len(shape) - ones:]) < LINE:
        return None
    return np.array(np.broadcast_to(y, (*shape[:len(shape) - ones], *[1] * ones))).reshape(-1, 1)
