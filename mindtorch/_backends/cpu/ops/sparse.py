"""Products of sparse matrices, given as arrays, and dense ones."""
from __future__ import annotations

import numpy as np

from .writes import add_rows

Array = np.ndarray


def are_below(numbers: Array, end: int) -> bool:
    """Return True if all integers lie from 0 to before ``end``."""
    bits = np.ascontiguousarray(numbers).view(f"u{numbers.itemsize}")  # in which negative ones are large
    return not bits.size or bits.item(bits.argmax()) < end


def by_coordinates(rows: int, at: Array, columns: Array, values: Array, dense: Array) -> Array | None:
    """Multiply a matrix, given by the row and the column of each value, and a dense matrix or vector of its dtype.
    Return None for places outside the matrix.
    """
    if not are_below(at, rows) or not are_below(columns, len(dense)):
        return None
    out = np.zeros((rows, *dense.shape[1:]), dense.dtype)
    add_rows(out, at, dense.take(columns, 0), values)
    return out


def by_lines(rows: int, is_row: bool, starts: Array, across: Array, values: Array, dense: Array) -> Array | None:
    """Multiply as ``by_coordinates`` does a matrix given by the place where each row, or column, begins among the
    values, and the other place of each.
    """
    from scipy.sparse import _sparsetools  # slow to import

    lengths = starts[1:] - starts[:-1]
    if starts[0] or starts[-1] != values.size or lengths[lengths.argmin()] < 0 or (
            not are_below(across, len(dense) if is_row else rows)):
        return None
    out = np.zeros((rows, *dense.shape[1:]), dense.dtype)
    multiply = _sparsetools.csr_matvecs if is_row else _sparsetools.csc_matvecs
    multiply(rows, len(dense), out.size // rows, starts, across, values, dense.reshape(-1), out.reshape(-1))
    return out
