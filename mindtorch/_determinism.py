"""Whether operators are to give the same results each time, for which new memory is filled."""
from __future__ import annotations

from typing import Any

import numpy as np

from ._dtype import BOOL, FLOATING


class Determinism:
    """The setting, which all threads share."""

    enabled = False
    warn_only = False  #: a warning for what is not deterministic, in place of an error
    fill_uninitialized = True  #: ``torch.utils.deterministic.fill_uninitialized_memory``


def filled(tensor: Any, start: int = 0) -> Any:
    """A tensor whose storage is new from its element ``start`` on; if determinism is asked for, these elements become
    what is easily noticed: NaN, True, or the largest integer.
    """
    if Determinism.enabled and Determinism.fill_uninitialized and not tensor.is_meta:
        dtype, new = tensor._dtype, tensor.data
        new._set_layout(None, (tensor.untyped_storage().nbytes() // dtype.itemsize - start,), (1,), start)
        new.fill_(True if dtype.category == BOOL else float("nan") if dtype.category >= FLOATING
                  else int(np.iinfo(dtype.np).max))
    return tensor
