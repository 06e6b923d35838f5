"""CPU kernels of Fourier transforms: SciPy's, which transform several dimensions in one call, and with vectors."""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...._base.layout import Ints
from ...._dtype import get_default_dtype
from ...common.blocks import LARGE, threads
from . import AT_ONCE, CPU_KERNELS

ndarray = np.ndarray
Row = Callable[..., Any]


@cache
def scipy_fft() -> Any:
    """Return SciPy's transforms, which scale as ATen numbers it: those of its compiled module where it has one, since
    the public functions take thrice the time for few numbers.
    """
    try:
        from scipy.fft._pocketfft import pypocketfft
    except ImportError:
        return public_fft()
    return pypocketfft


def public_fft() -> Any:
    """Return SciPy's public transforms as functions of the arguments that the compiled module takes."""
    from scipy import fft

    def scaled(scale: int, forward: bool) -> str:
        return (("backward", "ortho", "forward") if forward else ("forward", "ortho", "backward"))[scale]

    def c2c(x: ndarray, axes: Ints, forward: bool, scale: int, out: None, workers: int) -> Any:
        return (fft.fftn if forward else fft.ifftn)(x, None, axes, scaled(scale, forward), workers=workers)

    def r2c(x: ndarray, axes: Ints, forward: bool, scale: int, out: None, workers: int) -> Any:
        return fft.rfftn(x, None, axes, scaled(scale, True), workers=workers)

    def c2r(x: ndarray, axes: Ints, size: int, forward: bool, scale: int, out: None, workers: int) -> Any:
        sizes = [*(x.shape[d] for d in axes[:-1]), size]
        return (fft.hfftn if forward else fft.irfftn)(x, sizes, axes, scaled(scale, forward), workers=workers)

    return SimpleNamespace(c2c=c2c, r2c=r2c, c2r=c2r)


def workers(x: ndarray) -> int:
    """Return how many threads compute a transform."""
    return 1 if x.size < LARGE else threads().count


def fft_r2c(x: ndarray, dim: Ints, normalization: int, onesided: bool) -> ndarray:
    if onesided:
        half: ndarray = scipy_fft().r2c(x, dim, True, normalization, None, workers(x))
        return half
    result: ndarray = scipy_fft().c2c(x, dim, True, normalization, None, workers(x))
    if len(dim) == 1 and result.size:  # pocketfft conjugates the numbers that are real, too
        n = x.shape[dim[0]]
        real = result[(slice(None),) * (dim[0] % x.ndim) + (slice(None, None, n if n % 2 else n // 2),)].imag
        real += 0
    return result


def fft_c2c(x: ndarray, dim: Ints, normalization: int, forward: bool) -> ndarray:
    result: ndarray = scipy_fft().c2c(x, dim, forward, normalization, None, workers(x)) if dim else x.copy()
    return result


def fft_c2r(x: ndarray, dim: Ints, normalization: int, last_dim_size: int, forward: bool = False) -> ndarray:
    result: ndarray = scipy_fft().c2r(x, dim, last_dim_size, forward, normalization, None, workers(x))
    return result


# -- composites --------------------------------------------------------------------------------------------------------

def fitted(x: ndarray, dims: Ints, sizes: Ints, dtype: np.dtype) -> Row:
    """Return a function that cuts arrays, or pads them with zeros, at the ends of their dimensions, in a dtype."""
    resized = dict(zip(dims, sizes, strict=True))
    shape = tuple([resized.get(d, n) for d, n in enumerate(x.shape)])
    part = tuple([slice(min(n, have)) for n, have in zip(shape, x.shape, strict=True)])
    if all(n <= have for n, have in zip(shape, x.shape, strict=True)):
        return (lambda x: x[part]) if x.dtype == dtype else lambda x: x[part].astype(dtype)

    def padded(x: ndarray) -> ndarray:
        out = np.zeros(shape, dtype)
        out[part] = x[part]
        return out

    return padded


#: Prepares a transform of arrays like the first, given its dimensions, their sizes (the last is None if the call leaves
#: it to the transform), the normalization, and the real or complex dtype to compute in.
Settle = Callable[[ndarray, Ints, Any, Any, np.dtype], Row | None]


def composite(settle: Settle, of_one: bool, dims: Ints | None = None) -> Row:
    """Return a function that prepares a composite over one dimension, or over several, by default ``dims``, or all."""
    def prepare(x: ndarray, s: Any = None, dim: Any = dims, norm: str | None = None) -> Row | None:
        s = None if s is None else (s,) if of_one else s
        if not x.ndim:
            return None
        if of_one:
            dim = dim if dim is dims else (dim,)
        elif dim is None:
            dim = range(x.ndim if s is None else len(s))
        shift = x.ndim - len(dim) if dim.__class__ is range else 0
        places = tuple([(d + shift) % x.ndim for d in dim])
        sizes = [x.shape[d] for d in places] if s is None else [
            x.shape[d] if n == -1 else n for d, n in zip(places, s, strict=True)]
        default = None if x.dtype.kind in "fc" else get_default_dtype()  # of which integers become
        run = settle(x, places, (*sizes[:-1], None if s is None or s[-1] == -1 else s[-1]), norm,
                     x.dtype if default is None else default.np)
        return run if run is None or default is None else (
            lambda x: run(x) if get_default_dtype() is default else None)

    return prepare


def scale_of(norm: str | None, forward: bool) -> int:
    """Return ATen's number for a way of scaling."""
    return 1 if norm == "ortho" else 2 if forward == (norm == "forward") else 0


def sized(x: ndarray, dims: Ints, sizes: Any) -> Ints:
    """Return the sizes to transform, by default those of the array."""
    return (*sizes[:-1], x.shape[dims[-1]] if sizes[-1] is None else sizes[-1])


def to_complex(forward: bool, of_one: bool) -> Settle:
    """``fft`` and ``ifft``. ATen conjugates that of a real input over one dimension lazily."""
    def settle(x: ndarray, dims: Ints, sizes: Any, norm: str | None, dtype: np.dtype) -> Row | None:
        scale, sizes = scale_of(norm, forward), sized(x, dims, sizes)
        if of_one and dtype.kind == "f":
            fit = fitted(x, dims, sizes, dtype)
            return (lambda x: fft_r2c(fit(x), dims, scale, False)) if forward else None
        fit = fitted(x, dims, sizes, np.result_type(dtype, np.complex64))
        return lambda x: fft_c2c(fit(x), dims, scale, forward)

    return settle


def from_real(x: ndarray, dims: Ints, sizes: Any, norm: str | None, dtype: np.dtype) -> Row | None:
    """``rfft``."""
    fit, scale = fitted(x, dims, sized(x, dims, sizes), dtype), scale_of(norm, True)
    return lambda x: fft_r2c(fit(x), dims, scale, True)


def half_from_real(x: ndarray, dims: Ints, sizes: Any, norm: str | None, dtype: np.dtype) -> Row | None:
    """``ihfft`` of several dimensions; ATen conjugates that of one lazily."""
    fit, scale = fitted(x, dims, sized(x, dims, sizes), dtype), scale_of(norm, False)
    if not dims[1:]:
        return None
    return lambda x: fft_c2c(np.conjugate(fft_r2c(fit(x), dims[-1:], scale, True)), dims[:-1], scale, False)


def to_real(forward: bool) -> Settle:
    """``hfft`` and ``irfft``."""
    def settle(x: ndarray, dims: Ints, sizes: Any, norm: str | None, dtype: np.dtype) -> Row | None:
        last = 2 * (x.shape[dims[-1]] - 1) if sizes[-1] is None else sizes[-1]
        fit = fitted(x, dims, (*sizes[:-1], last // 2 + 1), np.result_type(dtype, np.complex64))
        scale, others = scale_of(norm, forward), dims[:-1]
        if not forward:
            return lambda x: fft_c2r(fit(x), dims, scale, last)
        if not others:
            return lambda x: fft_c2r(fit(x), dims, scale, last, True)
        return lambda x: fft_c2r(fft_c2c(fit(x), others, scale, True), dims[-1:], scale, last, True)

    return settle


#: The transforms of one dimension, and of several.
TRANSFORMS: dict[str, tuple[Settle, Settle]] = {
    "fft": (to_complex(True, True), to_complex(True, False)),
    "ifft": (to_complex(False, True), to_complex(False, False)),
    "rfft": (from_real, from_real),
    "irfft": (to_real(False), to_real(False)),
    "hfft": (to_real(True), to_real(True)),
    "ihfft": (half_from_real, half_from_real),
}
for _name, (_of_one, _of_many) in TRANSFORMS.items():
    AT_ONCE.update({f"fft_{_name}": composite(_of_one, True, (-1,)),
                    f"fft_{_name}2": composite(_of_many, False, (-2, -1)),
                    f"fft_{_name}n": composite(_of_many, False)})
CPU_KERNELS.update({"_fft_r2c": fft_r2c, "_fft_c2c": fft_c2c, "_fft_c2r": fft_c2r})
