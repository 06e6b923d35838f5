"""The windows of the namespace itself: ``hann_window`` and its like, which are periodic unless asked not to be."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._dispatch.aten import i0
from .._dtype import FLOATING, get_default_dtype
from .._tensor import Tensor
from .functions import options_of
from .sequences import arange
from .sizes import empty, ones


def _window(name: str, length: int, periodic: bool, options: dict[str, Any], formula: Callable[[Any, int], Any]) -> Any:
    """Build the window of ``length`` points from ``formula``, a function of the numbers from 0 and the last one."""
    requires_grad = options.pop("requires_grad", False)
    options["dtype"] = options.get("dtype") or get_default_dtype()
    if options["dtype"].category < FLOATING:
        raise RuntimeError(f"{name} expects floating point dtypes, got: Tensor")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    if length <= 1:
        result = ones(length, **options)
    else:
        last = length if periodic else length - 1
        result = formula(arange(last + 1, **options), last)
        result = result.narrow(0, 0, length) if periodic else result
    return result.requires_grad_(requires_grad)


@options_of(empty)
def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """Return a triangle (``torch.bartlett_window``)."""
    def triangle(n: Any, last: int) -> Tensor:
        n.mul_(2 / last).narrow(0, last // 2 + 1, last - last // 2).mul_(-1).add_(2)
        return n

    return _window("bartlett_window", window_length, periodic, options, triangle)


@options_of(empty)
def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """Return 0.42 - 0.5 cos(2π n / N) + 0.08 cos(4π n / N) (``torch.blackman_window``)."""
    def cosines(n: Any, last: int) -> Tensor:
        n = n.mul_(math.pi / last)
        return n.mul(4).cos_().mul_(0.08) - n.mul(2).cos_().mul_(0.5) + 0.42

    return _window("blackman_window", window_length, periodic, options, cosines)


@options_of(empty)
def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46,
                   **options: Any) -> Tensor:
    """Return alpha - beta cos(2π n / N) (``torch.hamming_window``)."""
    return _window("hamming_window", window_length, periodic, options, _raised_cosine(alpha, beta))


@options_of(empty)
def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """Return ½ - ½ cos(2π n / N), a raised cosine (``torch.hann_window``)."""
    return _window("hann_window", window_length, periodic, options, _raised_cosine(0.5, 0.5))


def _raised_cosine(alpha: float, beta: float) -> Callable[[Any, int], Any]:
    return lambda n, last: n.mul_(math.pi * 2 / last).cos_().mul_(-beta).add_(alpha)


@options_of(empty)
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Tensor:
    """Return I₀(beta √(1 - x²)) / I₀(beta) for x from -1 to 1 (``torch.kaiser_window``)."""
    def bessel(n: Any, last: int) -> Tensor:
        center: Any = ones((), dtype=n._dtype, device=n._device) * beta
        return i0((1 - (n * (2 / last) - 1) ** 2).clamp_min(0).sqrt() * beta) / i0(center)

    return _window("kaiser_window", window_length, periodic, options, bessel)
