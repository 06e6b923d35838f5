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


def of_many(compute: Callable[..., ndarray], kinds: str, dims: tuple[int, ...] | None) -> Callable[..., Any]:
    """Return what prepares a composite over several dimensions, by default ``dims``, or all of them."""
    def prepare(x: ndarray, s: Any = None, dim: tuple[int, ...] | None = dims, norm: str | None = None) -> Any:
        if x.dtype.char not in kinds or s is not None:
            return None
        single = np.result_type(x.dtype, np.complex64) if "F" in kinds else x.dtype  # ATen converts real numbers first
        return lambda x: compute(x.astype(single, copy=False), None, dim, norm)

    return prepare


def to_real(forward: bool) -> Callable[..., Any]:
    """Return what prepares ``hfft`` or ``irfft`` over the last dimension."""
    def prepare(x: ndarray, n: int | None = None, dim: int = -1, norm: Any = None) -> Any:
        if x.dtype.char not in "fdFD" or not x.ndim or dim not in (-1, x.ndim - 1):
            return None
        size = 2 * (x.shape[-1] - 1) if n is None else n
        kind = np.result_type(x.dtype, np.complex64)
        if not forward:
            return lambda x: np.fft.irfft(x.astype(kind, copy=False), size, -1, norm)
        swapped: Any = {"forward": "backward", "ortho": "ortho"}.get(norm or "backward", "forward")
        return lambda x: np.fft.irfft(np.conj(x.astype(kind, copy=False)), size, -1, swapped)

    return prepare


AT_ONCE.update({
    **{f"fft_{name}{many}": of_many(getattr(np.fft, f"{name}n"), "fd" if name == "rfft" else "fdFD", dims)
       for name in ("fft", "ifft", "rfft") for many, dims in (("2", (-2, -1)), ("n", None))},
    "fft_irfft": to_real(False),
    "fft_hfft": to_real(True),
    "fft_fft": transform(np.fft.fft, "fdFD"),
    "fft_ifft": transform(np.fft.ifft, "FD"),
    "fft_rfft": transform(np.fft.rfft, "fd"),
})
CPU_KERNELS.update({"_fft_r2c": fft_r2c, "_fft_c2c": fft_c2c, "_fft_c2r": fft_c2r})
