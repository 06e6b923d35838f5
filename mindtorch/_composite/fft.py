"""``torch.fft`` in terms of three transforms: real to complex, complex to real and complex to complex."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.errors import NAMES, check
from .._base.layout import Ints, wrap_dim
from .._dispatch.aten import _fft_c2c as c2c, _fft_c2r as c2r, _fft_r2c as r2c, constant_pad_nd as pad, roll
from .._dtype import COMPLEX, FLOATING, get_default_dtype
from . import COMPOSITES


def promoted(self: Any, to_complex: bool = False) -> Any:
    """The input in a dtype that transforms take. Raises RuntimeError for half precision."""
    dtype = self._dtype if self._dtype.category >= FLOATING else get_default_dtype()
    check(dtype.itemsize > 2, lambda: f"Unsupported dtype {NAMES[dtype.name]}")
    dtype = dtype.to_complex() if to_complex else dtype
    return self if dtype is self._dtype else self.to(dtype)


def normalization(norm: str | None, forward: bool) -> int:
    """ATen's number for a way of scaling."""
    check(norm in (None, "backward", "forward", "ortho"), lambda: f'Invalid normalization mode: "{norm}"')
    if norm == "ortho":
        return 1
    return 2 if forward == (norm == "forward") else 0


def resized(self: Any, dims: Ints, sizes: Ints) -> Any:
    """The input cut, or padded with zeros, at the ends of its dimensions."""
    padding = [0] * (2 * self.ndim)
    for d, size in zip(dims, sizes, strict=True):
        have = self.shape[d]
        if size < have:
            self = self.narrow(d, 0, size)
        else:
            padding[2 * (self.ndim - d) - 1] = size - have
    return pad(self, tuple(padding), 0) if any(padding) else self


def check_points(*sizes: int) -> None:
    check(all(n >= 1 for n in sizes),
          lambda: f"Invalid number of data points ({next(n for n in sizes if n < 1)}) specified")


def check_real(self: Any, function: str) -> None:
    check(self._dtype.category < COMPLEX,
          lambda: f"{function} expects a real input tensor, but got {NAMES[self._dtype.name]}")


def _dim(self: Any, dim: int) -> int:
    if not self.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, self.ndim)


# -- one dimension -------------------------------------------------------------------------------------------

def one_complex(forward: bool) -> Callable[..., Any]:
    """``fft`` and ``ifft``."""

    def transform(self: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        return _one(promoted(self), n, dim, norm, forward, False)

    return transform


def _one(self: Any, n: int | None, dim: int, norm: str | None, forward: bool, onesided: bool) -> Any:
    dim = _dim(self, dim)
    check_points(self.shape[dim] if n is None else n)
    self = self if n is None else resized(self, (dim,), (n,))
    if self.is_complex():
        return c2c(self, (dim,), normalization(norm, forward), forward)
    result = r2c(self, (dim,), normalization(norm, forward), onesided)
    return result if forward else result.conj()


def one_from_real(function: str, forward: bool) -> Callable[..., Any]:
    """``rfft`` and ``ihfft``."""

    def transform(self: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        check_real(self, function)
        return _one(promoted(self), n, dim, norm, forward, True)

    return transform


def one_to_real(forward: bool) -> Callable[..., Any]:
    """``irfft`` and ``hfft``."""

    def transform(self: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        self = promoted(self, True)
        dim = _dim(self, dim)
        size = 2 * (self.shape[dim] - 1) if n is None else n
        check_points(size)
        self = self if n is None else resized(self, (dim,), (size // 2 + 1,))
        return c2r(self.conj() if forward else self, (dim,), normalization(norm, forward), size)

    return transform


# -- several dimensions --------------------------------------------------------------------------------------

def arguments(self: Any, s: Ints | None, dim: Ints | None) -> tuple[Ints, Ints]:
    """The dimensions to transform and their sizes. Raises RuntimeError if they do not fit each other or the input."""
    ndim = self.ndim
    if dim is not None:
        dim = dims = tuple(_dim(self, d) for d in dim)
        check(len(set(dims)) == len(dims), lambda: f"FFT dims must be unique, got {list(dims)}")
    if s is None:
        dim = tuple(range(ndim)) if dim is None else dim
        return dim, tuple(self.shape[d] for d in dim)
    check(dim is None or len(dim) == len(s),
          lambda: f"When given, dim and shape arguments must have the same length, got {dim} and {s}")
    check(len(s) <= ndim, lambda: f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions.")
    dim = tuple(range(ndim - len(s), ndim)) if dim is None else dim
    return dim, tuple(self.shape[d] if n == -1 else n for d, n in zip(dim, s, strict=True))


def many_complex(forward: bool) -> Callable[..., Any]:
    """``fftn`` and ``ifftn``."""

    def transform(self: Any, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Any:
        dims, sizes = arguments(self, s, dim)
        check_points(*sizes)
        return c2c(resized(promoted(self, True), dims, sizes), dims, normalization(norm, forward), forward)

    return transform


def rfftn(self: Any, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Any:
    check_real(self, "rfftn")
    dims, sizes = arguments(self, s, dim)
    check(dims, "rfftn must transform at least one axis")
    check_points(*sizes)
    return r2c(resized(promoted(self), dims, sizes), dims, normalization(norm, True), True)


def ihfftn(self: Any, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Any:
    check_real(self, "ihfftn")
    dims, sizes = arguments(self, s, dim)
    check(dims, "ihfftn must transform at least one axis")
    check_points(*sizes)
    scale = normalization(norm, False)
    result = r2c(resized(promoted(self), dims, sizes), dims[-1:], scale, True)
    return result.conj() if len(dims) == 1 else c2c(result.conj_physical(), dims[:-1], scale, False)


def many_to_real(function: str, forward: bool) -> Callable[..., Any]:
    """``irfftn`` and ``hfftn``."""

    def transform(self: Any, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Any:
        dims, sizes = arguments(self, s, dim)
        check(dims, lambda: f"{function} must transform at least one axis")
        last = sizes[-1] if s is not None and s[-1] != -1 else 2 * (self.shape[dims[-1]] - 1)
        check_points(*sizes[:-1], last)
        self = resized(promoted(self, True), dims, (*sizes[:-1], last // 2 + 1))
        scale = normalization(norm, forward)
        if not forward:
            return c2r(self, dims, scale, last)
        if len(dims) > 1:
            self = c2c(self, dims[:-1], scale, True)
        return c2r(self.conj(), dims[-1:], scale, last)

    return transform


def two(transform: Callable[..., Any]) -> Callable[..., Any]:
    """A transform of several dimensions as that of the last two."""

    return lambda self, s=None, dim=(-2, -1), norm=None: transform(self, s, dim, norm)


def shift(backward: bool) -> Callable[..., Any]:
    """``fftshift`` and ``ifftshift``."""

    def shifted(self: Any, dim: Ints | None = None) -> Any:
        dims = tuple(range(self.ndim)) if dim is None else tuple(_dim(self, d) for d in dim)
        return roll(self, tuple((self.shape[d] + backward) // 2 for d in dims), dims)

    return shifted


MANY: dict[str, Callable[..., Any]] = {
    "fft": many_complex(True),
    "ifft": many_complex(False),
    "rfft": rfftn,
    "irfft": many_to_real("irfftn", False),
    "hfft": many_to_real("hfftn", True),
    "ihfft": ihfftn,
}
COMPOSITES.update({
    "fft_fft": one_complex(True),
    "fft_ifft": one_complex(False),
    "fft_rfft": one_from_real("rfft", True),
    "fft_irfft": one_to_real(False),
    "fft_hfft": one_to_real(True),
    "fft_ihfft": one_from_real("ihfft", False),
    "fft_fftshift": shift(False),
    "fft_ifftshift": shift(True),
    **{f"fft_{name}n": transform for name, transform in MANY.items()},
    **{f"fft_{name}2": two(transform) for name, transform in MANY.items()},
})
