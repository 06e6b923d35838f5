"""Discrete Fourier transforms. ``normalization``: 0 none, 1 by the root of the number of points, 2 by that number."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._backends.common.matrices import strided
from .._base.errors import NAMES, check
from .._base.layout import Ints, Spec, wrap_dim
from .._dispatch.aten import (
    _fft_c2c as c2c, _fft_c2r as c2r, _fft_r2c as r2c, _to_copy, constant_pad_nd as pad, narrow, roll,
    slice_Tensor as slice_,
)
from .._dtype import COMPLEX, FLOATING, get_default_dtype
from .._tensor import Tensor
from .._transforms.batching.rules import along_dimensions
from . import operator, schemas


def promoted(self: Tensor, to_complex: bool = False) -> Any:
    """Return the input in a dtype that transforms take. Raises RuntimeError for half precision."""
    dtype = self._dtype if self._dtype.category >= FLOATING else get_default_dtype()
    check(dtype.itemsize > 2, lambda: f"Unsupported dtype {NAMES[dtype.name]}")
    dtype = dtype.to_complex() if to_complex else dtype
    return self if dtype is self._dtype else _to_copy(self, dtype)


def normalization(norm: str | None, forward: bool) -> int:
    """ATen's number for a way of scaling."""
    check(norm in (None, "backward", "forward", "ortho"), lambda: f'Invalid normalization mode: "{norm}"')
    if norm == "ortho":
        return 1
    return 2 if forward == (norm == "forward") else 0


def resized(self: Tensor, dims: Ints, sizes: Ints) -> Any:
    """Return the input cut, or padded with zeros, at the ends of its dimensions."""
    shape = self.shape
    padding = [0] * (2 * len(shape))
    for d, size in zip(dims, sizes, strict=True):
        have = shape[d]
        if size < have:
            self = slice_(self, d, 0, size, 1)
        elif size > have:
            padding[2 * (len(shape) - d) - 1] = size - have
    return pad(self, tuple(padding), 0) if any(padding) else self


def check_points(*sizes: int) -> None:
    check(all(n >= 1 for n in sizes),
          lambda: f"Invalid number of data points ({next(n for n in sizes if n < 1)}) specified")


def _dim(self: Tensor, dim: int) -> int:
    if not self.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, self.ndim)


def arguments(self: Tensor, s: Ints | None, dim: Ints | None) -> tuple[Ints, Ints]:
    """Return the dimensions to transform and their sizes; RuntimeError if they do not fit."""
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

    def transform(self: Tensor, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Any:
        dims, sizes = arguments(self, s, dim)
        check_points(*sizes)
        return c2c(resized(promoted(self, True), dims, sizes), dims, normalization(norm, forward), forward)

    return transform


def rfftn(self: Tensor, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Any:
    check_real(self, "rfftn")
    dims, sizes = arguments(self, s, dim)
    check(dims, "rfftn must transform at least one axis")
    check_points(*sizes)
    return r2c(resized(promoted(self), dims, sizes), dims, normalization(norm, True), True)


def ihfftn(self: Tensor, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Any:
    check_real(self, "ihfftn")
    dims, sizes = arguments(self, s, dim)
    check(dims, "ihfftn must transform at least one axis")
    check_points(*sizes)
    scale = normalization(norm, False)
    result = r2c(resized(promoted(self), dims, sizes), dims[-1:], scale, True)
    return result.conj() if len(dims) == 1 else c2c(result.conj_physical(), dims[:-1], scale, False)


def many_to_real(function: str, forward: bool) -> Callable[..., Any]:
    """``irfftn`` and ``hfftn``."""

    def transform(self: Tensor, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Any:
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
    """Return a transform of several dimensions as one of the last two."""

    return lambda self, s=None, dim=(-2, -1), norm=None: transform(self, s, dim, norm)


MANY: dict[str, Callable[..., Any]] = {
    "fft": many_complex(True),
    "ifft": many_complex(False),
    "rfft": rfftn,
    "irfft": many_to_real("irfftn", False),
    "hfft": many_to_real("hfftn", True),
    "ihfft": ihfftn,
}

schemas("""
function:
    _fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor  # The discrete Fourier transform of the real tensor `self` over the dimensions `dim`, without the redundant half if `onesided`.
    _fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor  # The real inverse discrete Fourier transform, with `last_dim_size` elements along the last of the dimensions `dim`, of `self`, which holds one half of a spectrum.
    _fft_c2c(Tensor self, int[] dim, int normalization, bool forward) -> Tensor  # The discrete Fourier transform of the complex tensor `self` over the dimensions `dim`, or the inverse one unless `forward`.
""")  # noqa: E501


def _dense(shape: Ints, order: Sequence[int]) -> Ints:
    """Return the strides of a tensor without gaps whose dimensions lie in this order, outermost first."""
    strides, step = [0] * len(shape), 1
    for d in reversed(order):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


def _by_stride(dims: Sequence[int], stride: Ints) -> list[int]:
    return sorted(dims, key=lambda d: -stride[d])


def transformed(stride: Ints, shape: Ints, dim: Ints, keep_last: bool = False) -> Ints:
    """Return the strides of a result of this shape: batch dimensions outside, each kind in the input's order."""
    inner = [*_by_stride(dim[:-1], stride), dim[-1]] if keep_last else _by_stride(dim, stride)
    return _dense(shape, [*_by_stride([d for d in range(len(shape)) if d not in dim], stride), *inner])


def _resized(self: Tensor, dim: int, size: int) -> Ints:
    shape = list(self.shape)
    shape[dim] = size
    return tuple(shape)


def fft_r2c(self: Tensor, dim: Ints, normalization: int, onesided: bool) -> Spec:
    check(self._dtype.category == FLOATING,
          lambda: f"_fft_r2c: expected a real floating point tensor, got {NAMES[self._dtype.name]}")
    size = self.shape[dim[-1]]
    shape = _resized(self, dim[-1], size // 2 + 1 if onesided else size)
    return strided(shape, self._dtype.to_complex(), transformed(self._strides(), shape, dim, True))


def fft_c2c(self: Tensor, dim: Ints, normalization: int, forward: bool) -> Spec:
    check(self._dtype.category == COMPLEX,
          lambda: f"_fft_c2c: expected a complex tensor, got {NAMES[self._dtype.name]}")
    shape = tuple(self.shape)
    return strided(shape, self._dtype, transformed(self._strides(), shape, dim) if dim else self._strides())


def fft_c2r(self: Tensor, dim: Ints, normalization: int, last_dim_size: int) -> Spec:
    check(self._dtype.category == COMPLEX,
          lambda: f"_fft_c2r: expected a complex tensor, got {NAMES[self._dtype.name]}")
    stride = self._strides()
    if len(dim) > 1:  # all but the last are transformed first
        stride = transformed(stride, tuple(self.shape), dim[:-1])
    shape = _resized(self, dim[-1], last_dim_size)
    return strided(shape, self._dtype.to_real(), transformed(stride, shape, dim[-1:]))


def r2c_grad(grad: Tensor, self_shape: Any, dim: Any, normalization: int, onesided: bool) -> Tensor:
    """Return the gradient of a one-sided transform, which is half of a complex one: the other half has no gradient."""
    return c2c(resized(grad, dim[-1:], (self_shape[dim[-1]],)), dim, normalization, False).real


def c2r_grad(grad: Tensor, dim: Any, normalization: int) -> Tensor:
    """Double the gradient of all but the first, and for an even length the last, frequency of one side."""
    result = r2c(grad, dim, normalization, True)
    double = grad.shape[dim[-1]] - result.shape[dim[-1]]
    if double > 0:
        narrow(result, dim[-1], 1, double).mul_(2)
    return result


operator("_fft_r2c", fft_r2c, batching=along_dimensions, node="FftR2CBackward0", self=r2c_grad)
operator("_fft_c2r", fft_c2r, batching=along_dimensions, node="FftC2RBackward0", self=c2r_grad)
operator("_fft_c2c", fft_c2c, batching=along_dimensions, node="FftC2CBackward0",
         self=lambda grad, dim, normalization, forward: c2c(grad, dim, normalization, not forward))

schemas("""
out:
    fft_fft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor  # The discrete Fourier transform of `self` along the dimension `dim`.
    fft_ifft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor  # The inverse discrete Fourier transform of `self` along the dimension `dim`.
    fft_rfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor  # The half that is not redundant of the discrete Fourier transform of the real tensor `self` along the dimension `dim`.
    fft_ihfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor  # The half that is not redundant of the inverse discrete Fourier transform of the real tensor `self` along the dimension `dim`.
    fft_fft2(Tensor self, int[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor  # The discrete Fourier transform of `self` over the two dimensions `dim`.
    fft_fftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor  # The discrete Fourier transform of `self` over the dimensions `dim`, or over all.
    fft_ifft2(Tensor self, int[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor  # The inverse discrete Fourier transform of `self` over the two dimensions `dim`.
    fft_ifftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor  # The inverse discrete Fourier transform of `self` over the dimensions `dim`, or over all.
    fft_rfft2(Tensor self, int[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor  # The half that is not redundant of the discrete Fourier transform of the real tensor `self` over the two dimensions `dim`.
    fft_rfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor  # The half that is not redundant of the discrete Fourier transform of the real tensor `self` over the dimensions `dim`, or over all.
""")  # noqa: E501


#: Messages for a complex input, where they are not that of ``rfft``.
REAL_WANTED = {"rfftn": "rfftn expects a real-valued input tensor, but got",
               "ihfftn": "Only supports floating-point dtypes, but found:"}


def check_real(self: Tensor, function: str) -> None:
    wanted = REAL_WANTED.get(function, f"{function} expects a real input tensor, but got")
    check(self._dtype.category < COMPLEX, lambda: f"{wanted} {NAMES[self._dtype.name]}")


def one_complex(forward: bool) -> Callable[..., Any]:
    """``fft`` and ``ifft``."""

    def transform(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        return _one(promoted(self), n, dim, norm, forward, False)

    return transform


def _one(self: Tensor, n: int | None, dim: int, norm: str | None, forward: bool, onesided: bool) -> Any:
    dim = _dim(self, dim)
    check_points(self.shape[dim] if n is None else n)
    self = self if n is None else resized(self, (dim,), (n,))
    if self.is_complex():
        return c2c(self, (dim,), normalization(norm, forward), forward)
    result = r2c(self, (dim,), normalization(norm, forward), onesided)
    return result if forward else result.conj()


def one_from_real(function: str, forward: bool) -> Callable[..., Any]:
    """``rfft`` and ``ihfft``."""

    def transform(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        check_real(self, function)
        return _one(promoted(self), n, dim, norm, forward, True)

    return transform


operator("fft_fft", composite=one_complex(True), autocast="cpu float32")
operator("fft_ifft", composite=one_complex(False), autocast="cpu float32")
operator("fft_rfft", composite=one_from_real("rfft", True), autocast="cpu float32")
operator("fft_ihfft", composite=one_from_real("ihfft", False), autocast="cpu float32")
operator("fft_fft2 fft_fftn fft_ifft2 fft_ifftn fft_rfft2 fft_rfftn", autocast="cpu float32")

schemas("""
out:
    fft_irfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor  # The real tensor of whose discrete Fourier transform `self` is the half that is not redundant along the dimension `dim`.
    fft_hfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor  # The real discrete Fourier transform of a Hermitian signal of which `self` is the half that is not redundant along the dimension `dim`.
    fft_irfft2(Tensor self, int[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor  # The real tensor of whose discrete Fourier transform `self` is the half that is not redundant over the two dimensions `dim`.
    fft_irfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor  # The real tensor of whose discrete Fourier transform `self` is the half that is not redundant over the dimensions `dim`, or over all.
    fft_hfft2(Tensor self, int[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor  # The real discrete Fourier transform of a Hermitian signal of which `self` is the half that is not redundant over the two dimensions `dim`.
    fft_hfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor  # The real discrete Fourier transform of a Hermitian signal of which `self` is the half that is not redundant over the dimensions `dim`, or over all.
    fft_ihfft2(Tensor self, int[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor  # The half that is not redundant of the inverse discrete Fourier transform of the real tensor `self` over the two dimensions `dim`.
    fft_ihfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor  # The half that is not redundant of the inverse discrete Fourier transform of the real tensor `self` over the dimensions `dim`, or over all.
operator only:
    fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor  # `self` with the frequency zero moved from the start to the middle of the dimensions `dim`.
    fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor  # `self` with the frequency zero moved from the middle to the start of the dimensions `dim`.
""")  # noqa: E501


def one_to_real(forward: bool) -> Callable[..., Any]:
    """``irfft`` and ``hfft``."""

    def transform(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        self = promoted(self, True)
        dim = _dim(self, dim)
        size = 2 * (self.shape[dim] - 1) if n is None else n
        check_points(size)
        self = self if n is None else resized(self, (dim,), (size // 2 + 1,))
        return c2r(self.conj() if forward else self, (dim,), normalization(norm, forward), size)

    return transform


def shift(backward: bool) -> Callable[..., Any]:
    """``fftshift`` and ``ifftshift``."""

    def shifted(self: Tensor, dim: Ints | None = None) -> Any:
        dims = tuple(range(self.ndim)) if dim is None else tuple(_dim(self, d) for d in dim)
        return roll(self, tuple((self.shape[d] + backward) // 2 for d in dims), dims)

    return shifted


operator("fft_irfft", composite=one_to_real(False), autocast="cpu float32")
operator("fft_hfft", composite=one_to_real(True), autocast="cpu float32")
operator("fft_irfft2 fft_irfftn", autocast="cpu float32")
operator("fft_fftshift", composite=shift(False))
operator("fft_ifftshift", composite=shift(True))
for name, transform in MANY.items():
    operator(f"fft_{name}n", composite=transform)
    operator(f"fft_{name}2", composite=two(transform))
