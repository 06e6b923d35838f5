"""Fast paths of embeddings and one-hot encodings."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...._dtype import int64
from ...._tensor import Tensor, from_array
from ..at_once import computing
from ..ops.indexing import rows_at
from . import FAST_PATHS, FEW, fast_path, ndarray

lowest: Any = np.minimum.reduce


@fast_path
def embedding(self: Any, indices: Any, *settings: Any) -> ndarray | None:
    """Select the rows at int64 indices."""
    rows, at = self._array, indices._array
    if indices._dtype is not int64 or rows.ndim != 2 or not at.size or lowest(at, None) < 0:
        return None
    found = rows_at(rows, at)
    return found if found.size else None


def one_hot(self: Any, num_classes: int = -1) -> Tensor | None:
    array = self._array
    if self._dtype is not int64 or not 0 < array.size <= FEW:
        return None
    classes = array.ravel().tolist()
    most = max(classes)
    count = most + 1 if num_classes == -1 else num_classes
    if min(classes) < 0 or most >= count:
        return None
    out = np.zeros((*array.shape, count), np.int64)
    out.put([start + at for start, at in zip(range(0, out.size, count), classes, strict=True)], 1)
    return from_array(out, int64)


FAST_PATHS.update({"embedding": embedding, "one_hot": computing(one_hot)})
