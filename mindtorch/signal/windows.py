"""Windows that a signal is weighted by before its spectrum is taken: ``torch.signal.windows``.

Each takes the number of points ``M`` and ``sym``: True gives a symmetric window, False a periodic one, which is the
symmetric window of one point more without its last point. They raise ValueError for a negative number of points, for
a layout other than strided, and for a dtype other than float32 and float64.
"""
from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .._creation import arange, empty, linspace, ones, tensor
from .._creation.functions import options_of
from .._dispatch.aten import i0, minimum
from .._dtype import float32, float64, get_default_dtype
from .._tensor import Tensor

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming",
           "hann", "kaiser", "nuttall"]
__dir__ = __all__.copy


def _check(name: str, M: int, options: dict[str, Any]) -> None:
    """Set the default dtype. Raises ValueError for arguments that no window takes."""
    if options.get("dtype") is None:
        options["dtype"] = get_default_dtype()
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if str(options.get("layout") or "torch.strided") != "torch.strided":
        raise ValueError(f"{name} is implemented for strided tensors only, got: {options['layout']}")
    if options["dtype"] not in (float32, float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {options['dtype']}")


def _points(start: float, step: float, M: int, options: dict[str, Any]) -> Any:
    """Return ``M`` points ``step`` apart, the first at ``start * step``."""
    return linspace(start * step, (start + (M - 1)) * step, M, **options)


def _length(M: int, sym: bool) -> int:
    """Return the number of points of the symmetric window, whose first ``M`` are used."""
    return M if sym or M <= 1 else M + 1


@options_of(empty)
def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """Return exp(-|n - center| / tau); the center is the middle unless given (``torch.signal.windows.exponential``).
    Raises ValueError if tau is not positive, or a symmetric window is given a center.
    """
    _check("exponential", M, options)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if not M:
        return empty(0, **options)
    center = (_length(M, sym) - 1) / 2 if center is None else center
    return (-_points(-center, 1 / tau, M, options).abs()).exp()


@options_of(empty)
def cosine(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Return sin(π (n + ½) / M), half a wave (``torch.signal.windows.cosine``)."""
    _check("cosine", M, options)
    return _points(0.5, math.pi / _length(M, sym), M, options).sin() if M else empty(0, **options)


@options_of(empty)
def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """Return exp(-½ (n / std)²), with n counted from the middle (``torch.signal.windows.gaussian``). Raises ValueError
    if the standard deviation is not positive.
    """
    _check("gaussian", M, options)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if not M:
        return empty(0, **options)
    return (-_points(-(_length(M, sym) - 1) / 2, 1 / (std * math.sqrt(2)), M, options) ** 2).exp()


@options_of(empty)
def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Tensor:
    """Return I₀(beta √(1 - x²)) / I₀(beta) for x from -1 to 1 (``torch.signal.windows.kaiser``). Raises ValueError if
    beta is negative.
    """
    _check("kaiser", M, options)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M <= 1:
        return ones(M, **options)
    # In a tensor of the result's dtype, since the end must not lie beyond beta as that dtype rounds it.
    width: Any = tensor(beta, dtype=options["dtype"], device=options.get("device"))
    end: Any = minimum(width, -width + (M - 1) * (2.0 * width / (_length(M, sym) - 1)))
    points: Any = linspace(-width, end, M, **options)
    return i0((width * width - points ** 2).sqrt()) / i0(width)


@options_of(empty)
def bartlett(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Return 1 - |x| for x from -1 to 1: a triangle (``torch.signal.windows.bartlett``)."""
    _check("bartlett", M, options)
    if M <= 1:
        return ones(M, **options)
    points: Any = linspace(-1, -1 + (M - 1) * (2 / (_length(M, sym) - 1)), M, **options)
    return 1 - points.abs()


@options_of(empty)
def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Any) -> Tensor:
    """Return the sum of (-1)ⁱ aᵢ cos(2π i n / (M - 1)) over the coefficients ``a``
    (``torch.signal.windows.general_cosine``). Raises TypeError if the coefficients are not iterable, and ValueError if
    there are none.
    """
    _check("general_cosine", M, options)
    if M <= 1:
        return ones(M, **options)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    points: Any = _points(0, 2 * math.pi / (_length(M, sym) - 1), M, options)
    like = {"dtype": options["dtype"], "device": options.get("device")}
    weights: Any = tensor([(-1) ** i * weight for i, weight in enumerate(a)], **like)
    multiples: Any = arange(weights.shape[0], **like)
    return (weights.unsqueeze(-1) * (multiples.unsqueeze(-1) * points).cos()).sum(0)


@options_of(empty)
def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """Return alpha - (1 - alpha) cos(2π n / (M - 1)) (``torch.signal.windows.general_hamming``)."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, **options)


@options_of(empty)
def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Return 0.54 - 0.46 cos(2π n / (M - 1)) (``torch.signal.windows.hamming``)."""
    return general_hamming(M, sym=sym, **options)


@options_of(empty)
def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Return ½ - ½ cos(2π n / (M - 1)), a raised cosine (``torch.signal.windows.hann``)."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


@options_of(empty)
def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Return a sum of three cosines with the coefficients 0.42, 0.5 and 0.08 (``torch.signal.windows.blackman``)."""
    _check("blackman", M, options)
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


@options_of(empty)
def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Return a sum of four cosines whose side lobes are least, after Nuttall (``torch.signal.windows.nuttall``)."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)
