"""The error of linear algebra: ``torch.linalg.LinAlgError``."""
from __future__ import annotations

from typing import Any

import numpy as np


class _LinAlgError(RuntimeError):
    """A singular or not positive definite matrix, or no convergence (``torch.linalg.LinAlgError``)."""


LinAlgError = _LinAlgError
LinAlgError.__module__, LinAlgError.__qualname__ = "mindtorch.linalg", "LinAlgError"  # where pickles find it


def first_failure(info: Any) -> tuple[str, int] | None:
    """Return the first batch element with a nonzero LAPACK status, in PyTorch's words, and the status; else None."""
    if not info.any():
        return None
    bad = np.flatnonzero(info)
    status = int(info.reshape(-1)[bad[0]])
    return (f"(Batch element {bad[0]}): " if info.ndim else ""), status
