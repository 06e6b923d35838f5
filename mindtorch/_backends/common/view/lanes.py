"""The hot paths of the views that programs make all the time.

The dispatcher has seen a contiguous CPU tensor and no other key, so NumPy makes the array and checks the bounds;
what it refuses, and empty tensors, whose strides are not NumPy's, go to the general row, called after the ``try``: its
errors have nothing to do with NumPy's.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...._tensor import Tensor

Row = Callable[..., Any]


def view_lane(general: Row) -> Row:
    """NumPy's reshape does not copy, and what it makes is contiguous too."""

    def view(self: Tensor, size: Any) -> Tensor:
        try:
            array = self._array.reshape(size)  # type: ignore[union-attr]
        except (ValueError, TypeError):
            pass
        else:
            if array.shape == size or min(size, default=0) >= -1:  # NumPy takes any negative size for -1
                return self._lane_view(array, self._offset)
        return general(self, size)

    return view


def select_lane(general: Row) -> Row:
    """An index of the first dimension: what remains is contiguous."""

    def select(self: Tensor, dim: int, index: int) -> Tensor:
        array = self._array
        if dim or not array.size:  # type: ignore[union-attr]
            return general(self, dim, index)
        try:
            part = array[index, ...]  # type: ignore[index]
        except IndexError:
            pass
        else:
            return self._lane_view(part, self._offset + index % len(array) * part.size)  # type: ignore[arg-type]
        return general(self, dim, index)

    return select


def slice_lane(general: Row) -> Row:
    """A range of the first dimension, with step 1: what remains is contiguous."""

    def slice_(self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
        array = self._array
        if dim or step != 1 or not array.size:  # type: ignore[union-attr]
            return general(self, dim, start, end, step)
        try:
            part = array[start:end]  # type: ignore[index]
        except IndexError:  # no dimensions
            pass
        else:
            length = len(array)  # type: ignore[arg-type]
            first = slice(start, end).indices(length)[0]
            return self._lane_view(part, self._offset + first * (array.size // length))  # type: ignore[union-attr]
        return general(self, dim, start, end, step)

    return slice_


def t_lane(general: Row) -> Row:
    """A matrix of any strides; where one of its sizes is below 2, its strides say nothing about its memory."""

    def t(self: Tensor) -> Tensor:
        array = self._array
        if array.ndim != 2 or array.shape[0] < 2 or array.shape[1] < 2:  # type: ignore[union-attr]
            return general(self)
        rows, columns = array.shape  # type: ignore[union-attr]
        first, second = self._stride or (columns, 1)
        stride = None if first == 1 and second == rows else (second, first)
        return self._lane_view(array.T, self._offset, stride)  # type: ignore[union-attr]

    return t


def expand_lane(general: Row) -> Row:
    """A tensor of no dimensions repeated, as ``sum`` hands its gradient back: all strides are 0."""

    def expand(self: Tensor, size: Any, implicit: bool = False) -> Tensor:
        array = self._array
        if array.ndim or not size or min(size) < 2:  # type: ignore[union-attr]
            return general(self, size, implicit)
        stride = (0,) * len(size)
        try:
            repeated: Any = np.ndarray(size, array.dtype, array, 0, stride)  # type: ignore[union-attr, arg-type]
        except (ValueError, TypeError):
            pass
        else:
            return self._lane_view(repeated, self._offset, stride)
        return general(self, size, implicit)

    return expand


LANES: dict[str, Callable[[Row], Row]] = {
    "expand": expand_lane,
    "view": view_lane,
    "select.int": select_lane,
    "slice.Tensor": slice_lane,
    "t": t_lane,
}
#: The lanes that take tensors of any strides.
STRIDED_LANES = {"t"}
