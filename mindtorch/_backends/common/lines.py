"""Binary arithmetic with broadcast rows or columns, by compiled loops: NumPy's inner loop restarts for each row, at the
cost of some hundred elements.
"""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..._base import loops as _loops
from ..._base.layout import Ints

#: Shortest row for which a loop pays.
LINE = 16


def of_lines(ufunc: Any, out: np.ndarray, operands: tuple[Any, ...]) -> tuple[Callable[[slice], object], int] | None:
    """Return a function that computes a slice of the result's rows, and the number of rows; None without a loop.

    Both operands are float32: one is contiguous and has the result's shape, the other has fewer elements.
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
    """Return an array as a row or column that broadcasts to ``shape`` alike; None if it is neither.

    A row has the last dimensions of ``shape``; a column (a copy) has the first. Both are contiguous.
    """
    own = y.shape[next((d for d, size in enumerate(y.shape) if size > 1), y.ndim):]
    if own == shape[len(shape) - len(own):]:
        return np.ascontiguousarray(y.reshape(1, -1)) if y.size >= LINE else None
    ones = next(d for d, size in enumerate(reversed(y.shape)) if size > 1)
    if prod(shape[len(shape) - ones:]) < LINE:
        return None
    return np.array(np.broadcast_to(y, (*shape[:len(shape) - ones], *[1] * ones))).reshape(-1, 1)
