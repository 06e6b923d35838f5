"""NumPy without its warnings about infinities and NaN: PyTorch does not warn about them."""
from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from typing import Any

import numpy as np


def silence(buffer: int | None = None) -> Callable[[], Context]:
    """Build a function that returns a fresh context without NumPy warnings and, if ``buffer`` is given, with a buffer
    of that many elements.

    NumPy keeps both settings in a context variable. The context holds nothing else and serves one call, so that it
    keeps nothing of the caller's alive and no setting outlives the call. This takes 50 ns; ``np.errstate`` takes 1 us.
    A filter in ``warnings`` would not do: pytest removes filters that an import adds.
    """
    settings = Context()
    settings.run(np.seterr, all="ignore")
    if buffer is not None:
        settings.run(np.setbufsize, buffer)
    return settings.copy


silent = silence()


def quietly(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function without NumPy's warnings and the caller's context, in which user code must not run."""
    return silent().run(function, *args)
