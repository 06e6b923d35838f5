"""CPU kernels of special functions: mostly SciPy's, which is imported when the first of them runs."""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import factorial, log, pi
from typing import Any

import numpy as np

from ...._dispatch.schemas.special import POLYNOMIALS
from . import CPU_KERNELS


def scipy_function(name: str) -> Callable[..., Any]:
    """The function of that name of ``scipy.special``."""

    @cache
    def load() -> Any:
        from scipy import special

        return getattr(special, name)

    def row(*arrays: Any) -> Any:
        return load()(*arrays)

    return row


airy, gammaln, psi, zeta = map(scipy_function, ("airy", "gammaln", "psi", "zeta"))


def logit(x: Any, eps: float | None = None) -> Any:
    if eps is not None:
        x = np.minimum(np.maximum(x, eps), 1 - eps)
    return np.log(x / (1 - x))


def digamma(x: Any) -> Any:
    """The function is infinite at zero, with the sign opposite to zero's."""
    return np.where(np.equal(x, 0), np.copysign(np.inf, -np.asarray(x)), psi(x))


def trigamma(x: Any) -> Any:
    """Compute by reflection and a series in the given precision, whose errors near the poles are PyTorch's."""
    pi_ = x.dtype.type(pi)
    reflected = x < 0.5
    y = np.where(reflected, 1 - x, x)
    total = np.where(reflected, -((pi_ / np.sin(pi_ * x)) ** 2), 0)
    for _ in range(6):
        total, y = total + 1 / (y * y), y + 1
    square = 1 / (y * y)
    total = total + (1 + 1 / (2 * y) + square * (1 / 6 - square * (1 / 30 - square * (1 / 42)))) / y
    return np.where(reflected, -total, total)


def polygamma(n: int, x: Any) -> Any:
    if n < 2:
        return trigamma(x) if n else digamma(x)
    return (1 if n % 2 else -1) * factorial(n) * zeta(np.asarray(n + 1, x.dtype), x)


def mvlgamma(x: Any, p: int) -> Any:
    return sum(gammaln(x - i / 2) for i in range(p)) + p * (p - 1) / 4 * log(pi)


def times_log(log: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """``x * log(y)``, but 0 where x is 0 unless y is nan."""

    def row(x: Any, y: Any) -> Any:
        product = x * log(y)
        return np.where(np.equal(x, 0) & ~np.isnan(y), product.dtype.type(0), product)

    return row


def spherical_bessel_j0(x: Any) -> Any:
    return np.where(np.isinf(x), 0, np.sinc(x / np.pi))


def recurrence(first: Callable[[Any], Any], step: Callable[[int, Any, Any, Any], Any],
               argument: Callable[[Any], Any] = lambda x: x) -> Callable[[Any, Any], Any]:
    """Polynomials p(0) = 1, p(1) = ``first(x)``, p(k + 1) = ``step(k, x, p(k), p(k - 1))``; 0 for a negative degree."""

    def row(x: Any, n: Any) -> Any:
        x, n = np.broadcast_arrays(argument(np.asarray(x)), np.trunc(n))
        before, now = np.ones_like(x), first(x)
        out = np.where(n == 0, before, np.where(n == 1, now, 0))
        for k in range(1, int(n.max(initial=0))):
            before, now = now, step(k, x, now, before)
            out = np.where(n == k + 1, now, out)
        return out

    return row


def _double(k: int, x: Any, now: Any, before: Any) -> Any:
    return 2 * x * now - before


CHEBYSHEV = {"t": lambda x: x, "u": lambda x: 2 * x, "v": lambda x: 2 * x - 1, "w": lambda x: 2 * x + 1}
POLYNOMIAL_ROWS: dict[str, Callable[..., Any]] = {
    **{f"chebyshev_polynomial_{kind}": recurrence(first, _double) for kind, first in CHEBYSHEV.items()},
    **{f"shifted_chebyshev_polynomial_{kind}": recurrence(first, _double, lambda x: 2 * x - 1)
       for kind, first in CHEBYSHEV.items()},
    "hermite_polynomial_h": recurrence(lambda x: 2 * x, lambda k, x, now, before: 2 * x * now - 2 * k * before),
    "hermite_polynomial_he": recurrence(lambda x: x, lambda k, x, now, before: x * now - k * before),
    "laguerre_polynomial_l": recurrence(
        lambda x: 1 - x, lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1)),
    "legendre_polynomial_p": recurrence(
        lambda x: x, lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1)),
}

CPU_KERNELS.add(logit, digamma, polygamma, mvlgamma)
CPU_KERNELS.update({
    **{name: scipy_function(name) for name in ("erf", "erfc", "erfinv", "i0")},
    **{f"special_{name}": scipy_function(name)
       for name in ("entr", "erfcx", "ndtri", "log_ndtr", "i0e", "i1", "i1e")},
    "lgamma": lambda x: np.where(x == -np.inf, np.inf, gammaln(x)),
    "igamma": scipy_function("gammainc"),
    "igammac": scipy_function("gammaincc"),
    **{f"xlogy.{overload}": times_log(np.log) for overload in ("Tensor", "Scalar_Other", "Scalar_Self")},
    **{f"special_xlog1py{overload}": times_log(np.log1p) for overload in ("", ".other_scalar", ".self_scalar")},
    **{f"special_zeta{overload}": zeta for overload in ("", ".other_scalar", ".self_scalar")},
    "special_airy_ai": lambda x: airy(x)[0],
    **{f"special_bessel_{name}": scipy_function(name) for name in ("j0", "j1", "y0", "y1")},
    **{f"special_modified_bessel_{name}": scipy_function(name) for name in ("i0", "i1", "k0", "k1")},
    **{f"special_scaled_modified_bessel_{name}": scipy_function(f"{name}e") for name in ("k0", "k1")},
    "special_spherical_bessel_j0": spherical_bessel_j0,
    **{f"special_{name}{overload}": POLYNOMIAL_ROWS[name]
       for name in POLYNOMIALS for overload in ("", ".n_scalar", ".x_scalar")},
})
