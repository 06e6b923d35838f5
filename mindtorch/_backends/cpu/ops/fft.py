"""CPU kernels of Fourier transforms: NumPy's."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import AT_ONCE, CPU_KERNELS

ndarray = np.ndarray
FORWARD: Any = ("backward", "ortho", "forward")  #: NumPy's normalization of a forward transform
INVERSE: Any = ("forward", "ortho", "backward")  #: NumPy's normalization of an inverse transform


def fft_r2c(x: ndarray, dim: tuple[int, ...], normalization: int, onesided: bool) -> ndarray:
    return (np.fft.rfftn if onesided else np.fft.fftn)(x, axes=dim, norm=FORWARD[normalization])


def fft_c2c(x: ndarray, dim: tuple[int, ...], normalization: int, forward: bool) -> ndarray:
    if not dim:
        return x.copy()
    if forward:
        return np.fft.fftn(x, axes=dim, norm=FORWARD[normalization])
    return np.fft.ifftn(x, axes=dim, norm=INVERSE[normalization])


def fft_c2r(x: ndarray, dim: tuple[int, ...], normalization: int, last_dim_size: int) -> ndarray:
    size = [*(x.shape[d] for d in dim[:-1]), last_dim_size]
    return np.fft.irfftn(x, size, dim, norm=INVERSE[normalization])


def transform(compute: Callable[..., ndarray], kinds: str) -> Callable[..., Any]:
    """Return what prepares a composite over the last dimension, for arrays of these dtype letters."""
    def prepare(x: ndarray, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        if x.dtype.char not in kinds or n is not None or not x.ndim or dim not in (-1, x.ndim - 1):
            return None
        return lambda x: compute(x, None, -1, norm)

    return prepare


AT_ONCE.update({
    "fft_fft": transform(np.fft.fft, "fdFD"),
    "fft_ifft": transform(np.fft.ifft, "FD"),
    "fft_rfft": transform(np.fft.rfft, "fd"),
})
CPU_KERNELS.update({"_fft_r2c": fft_r2c, "_fft_c2c": fft_c2c, "_fft_c2r": fft_c2r})
