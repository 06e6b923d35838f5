"""Fast paths of Fourier transforms."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...._dtype import FLOATING
from ...._tensor import Tensor, from_array
from ..at_once import computing
from . import FAST_PATHS, PLAIN, Row, ndarray


def transform(compute: Callable[..., ndarray], of_real: bool, of_complex: bool) -> Callable[[Row], Row]:
    """Build the fast path of a Fourier transform over the last dimension."""

    def run(self: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor | None:
        array, dtype = self._array, self._dtype
        takes = of_complex if dtype.is_complex else of_real and dtype.category == FLOATING
        if (not takes or dtype.to_real() not in PLAIN or n is not None or not array.size or not array.ndim
                or dim not in (-1, array.ndim - 1)):
            return None
        return from_array(compute(array, None, -1, norm), dtype.to_complex())

    return computing(run)


FAST_PATHS.update({
    "fft_fft": transform(np.fft.fft, True, True),
    "fft_ifft": transform(np.fft.ifft, False, True),
    "fft_rfft": transform(np.fft.rfft, True, False),
})
