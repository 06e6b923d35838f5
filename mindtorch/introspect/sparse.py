"""Facts about sparse tensors, of mindtorch and of PyTorch: their parts, and the places of their values."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .layouts import PARTS, layout_name
from .tensor import values_without_waiting

MOST = 64  #: rows and columns at most of the picture of a pattern; more share a cell


@dataclass(frozen=True)
class SparseFacts:
    """The parts of a sparse tensor by their methods, and how many values lie in each cell of a picture of a matrix.

    A tensor of more than two sparse dimensions is seen from the front: its picture has the last two. ``size`` is
    that of the matrix, ``counts`` has at most ``MOST`` rows and columns; None where places cannot be read.
    """

    layout: str
    bytes: int  #: of the parts, which is what the tensor needs
    nnz: int
    elements: int
    coalesced: bool | None
    parts: tuple[tuple[str, Any], ...]
    size: tuple[int, int]
    counts: np.ndarray | None


def sparse_facts(tensor: Any) -> SparseFacts:
    """Describe a sparse tensor by its parts."""
    layout = layout_name(tensor)
    parts = tuple((name.lstrip("_"), getattr(tensor, name)().detach()) for name in PARTS[layout])
    size = _size(tensor)
    places = None if any(values_without_waiting(part) is None for _, part in parts) else _places(tensor, layout, parts)
    values, dense = parts[-1][1], tensor.dense_dim()
    stored = math.prod(values.shape[:values.ndim - dense])
    return SparseFacts(layout, sum(part.numel() * part.element_size() for _, part in parts), stored,
                       math.prod(tensor.shape[:tensor.ndim - dense]),
                       tensor.is_coalesced() if layout == "sparse_coo" else None, parts, size,
                       None if places is None else _counted(places, size))


def _size(tensor: Any) -> tuple[int, int]:
    shape, dense = tuple(tensor.shape), tensor.dense_dim()
    sparse = shape[:len(shape) - dense]
    rows, columns = (1, 1, *sparse)[-2:]
    return int(rows), int(columns)


def _places(tensor: Any, layout: str, parts: tuple[tuple[str, Any], ...]) -> np.ndarray:
    """Return row and column of each value, or of each element of a block."""
    arrays = [np.asarray(values_without_waiting(part)) for _, part in parts[:-1]]
    if layout == "sparse_coo":
        indices = arrays[0]
        rows = [np.zeros(indices.shape[1:], np.int64)] * (2 - min(2, len(indices)))
        return np.stack([*rows, *indices[-2:]]) if len(indices) or rows else np.zeros((2, 0), np.int64)
    starts, plain = arrays
    counts = np.diff(starts.reshape(-1, starts.shape[-1]), axis=1)
    lines = np.concatenate([np.repeat(np.arange(len(row)), row) for row in counts]) if len(counts) else np.zeros(0)
    lines, plain = lines.astype(np.int64), plain.reshape(-1)
    places = np.stack([lines, plain] if layout in ("sparse_csr", "sparse_bsr") else [plain, lines])
    if layout not in ("sparse_bsr", "sparse_bsc"):
        return places
    values, batch = parts[-1][1], starts.ndim - 1
    height, width = values.shape[batch + 1:batch + 3]
    inside = np.indices((height, width)).reshape(2, -1)
    return (places[:, :, None] * np.array([height, width])[:, None, None] + inside[:, None, :]).reshape(2, -1)


def _counted(places: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Return how many places lie in each cell of the picture."""
    shown = [min(n, MOST) for n in size]
    counts = np.zeros(shown, np.int64)
    inside = ((places >= 0) & (places < np.array(size)[:, None])).all(0)  # PyTorch does not check them
    row, column = (np.asarray(line[inside] * cells // max(n, 1), np.int64)
                   for line, cells, n in zip(places, shown, size, strict=True))
    np.add.at(counts, (row, column), 1)
    return counts
