"""CPU kernels of special functions: mostly SciPy's, imported on first use."""
from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, wraps
from math import log, pi
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.loops.chains import polynomial
from ...._base.loops.coefficients import ARTANH_ERF, ERFINV, ERFINV_FAR, float32s
from ...common.blocks import LARGE, by_slices
from ...common.elements import Looped, by_loop as of_elements, chained, looped, number, of_few
from ...common.half import converted
from ..rows import taking
from . import AT_ONCE, CPU_KERNELS
from .pointwise import held, in_blocks

FEW_STEPS = 64  #: of a recurrence, after which it may stop at NaN
FEW = 1 << 11  #: elements of an array for which many NumPy calls repay a slow one
TINY = 1e-6  #: orders from which on float64 has enough of 1 less the lower incomplete gamma function
WIDE = 4  #: beyond it erf is 1 in float32
SINGLE_ERFINV, SINGLE_ERFINV_FAR = float32s(*ERFINV), float32s(*ERFINV_FAR)
#: ARTANH_ERF for erf(x), not erf(x / sqrt(2)).
ARTANH_ERF_OF = float32s(*(float(a) * 2 ** (len(ARTANH_ERF) - i + 0.5) for i, a in enumerate(ARTANH_ERF, 1)))


def scipy_function(name: str) -> Callable[..., Any]:
    """Return a function of ``scipy.special``, imported on first use."""

    @cache
    def load() -> Any:
        from scipy import special

        return getattr(special, name)

    def row(*arrays: Any, **options: Any) -> Any:
        return load()(*arrays, **options)

    return row


airy, erfc, erf_of_any, erfinv_within, gammainc, gammaincc, gammaln, psi, zeta = map(
    scipy_function, ("airy", "erfc", "erf", "erfinv", "gammainc", "gammaincc", "gammaln", "psi", "zeta"))


def erf(x: Any, out: Any = None) -> Any:
    """Compute erf; of float32, without a loop, as the tanh of a polynomial, eight times as fast as SciPy."""
    if x.dtype != np.float32 or x.size <= FEW:
        return erf_of_any(x, out=out)
    x = np.clip(x, -WIDE, WIDE)
    square = x * x
    out = polynomial(square, ARTANH_ERF_OF[:-1])
    out *= square
    out *= x
    out += x * ARTANH_ERF_OF[-1]  # last, since it is the largest
    return np.tanh(out, out)


def log_of_complement(x: Any) -> Any:
    """Return ``-log(1 - x**2)``."""
    out, above = 1 - x, 1 + x
    out *= above
    return np.negative(np.log(out, out), out)


def erfinv(x: Any, out: Any = None) -> Any:
    """Compute the inverse of erf; of float32, without a loop, by M. Giles' polynomials in ``log_of_complement``.

    SciPy raises an internal error beyond -1 and 1, as slow as a thousand numbers.
    """
    if x.dtype == np.float32 and x.size > FEW:
        w = log_of_complement(x)
        far = w >= 5
        out = polynomial(w - 2.5, SINGLE_ERFINV)
        if far.any():
            out[far] = polynomial(np.sqrt(w[far]) - 3, SINGLE_ERFINV_FAR)
        out *= x
        out[np.abs(x) == 1] = np.inf
        return np.copysign(out, x, out)
    return inverse_of_erf.function(x, out=out)


#: SciPy's computes in float64, so that it is exact to the last place of float32.
inverse_of_erf = chained(lambda x: np.copysign(erfinv_within(np.where(np.abs(x) > 1, np.nan, x)), x))


@lru_cache(64)
def bounds_of(eps: float | None, dtype: np.dtype) -> tuple[Any, ...]:
    """Return the bounds of probabilities, rounded to a dtype; Python numbers, unless it is half precision."""
    if eps is None:
        return ()
    low = held(eps, dtype)
    bounds = low, 1 - low
    return bounds if dtype.itemsize == 2 else tuple([bound.item() for bound in bounds])


def logit(x: Any, eps: float | None = None) -> Any:
    """Compute the logit. Half precision, and ``1 - eps``, are rounded after each step, as in ATen."""
    half, single, bounds = x.dtype, np.dtype(np.float32), bounds_of(eps, x.dtype)
    if half.itemsize > 2:
        return log_odds(x, *bounds)
    if x.size >= LARGE and x.flags.c_contiguous:
        return by_slices(lambda part: logit(part, eps), x.reshape(-1)).reshape(x.shape)
    x = clipped_to(x, *bounds)
    if x.size < FEW:
        return np.log(x / (1 - x))
    wide, rounded = converted(x, single), lambda y: converted(converted(y, half), single)
    return converted(np.log(rounded(wide / rounded(1 - wide))), half)


def clipped_to(x: Any, *bounds: Any) -> Any:
    return np.where(x < bounds[0], bounds[0], np.minimum(x, bounds[1])) if bounds else x


def log_odds_of(x: Any, *bounds: float) -> Any:
    x = clipped_to(x, *bounds)
    return np.log(x / (1 - x))


log_odds = chained(log_odds_of)


def logit_backward(grad: Any, x: Any, eps: float | None = None) -> Callable[[Any, Any], Any] | None:
    """Prepare the derivative of few elements. Half precision is rounded after each step, as in ATen."""
    if grad.dtype is not x.dtype or grad.shape != x.shape or not 0 < x.size < FEW or x.dtype.kind not in "fV":
        return None
    bounds = (0, 1, np.nan) if eps is None or eps < 0 else (eps, 1 - eps, 0)
    low, high, beyond, one = (number(value, x.dtype) for value in (*bounds, 1))

    def run(grad: Any, x: Any) -> Any:
        slope = np.asarray(np.divide(grad, np.multiply(x, np.subtract(one, x))))
        np.copyto(slope, beyond, where=np.logical_or(np.less(x, low), np.greater(x, high)))
        return slope

    return run


def lgamma_of(x: Any) -> Any:
    """Compute log|gamma|, which SciPy's is not at negative infinity, nor for numbers that are subnormal in float64,
    where it is infinite, and the logarithm of the reciprocal is exact.
    """
    found = np.where(x == -np.inf, np.inf, gammaln(x))
    if x.dtype != np.float64:
        return found
    return np.where(np.abs(x) < np.finfo(np.float64).tiny, -np.log(np.abs(x)), found)


lgamma = chained(lgamma_of).function


def airy_ai(x: Any) -> Any:
    """Compute the Airy function Ai, by the asymptotic series' first term far from 0; NaN at infinity, as in PyTorch."""
    near = np.less(np.abs(x), 1e4)
    if np.count_nonzero(near) == x.size:
        return airy(x)[0]
    far = np.minimum(x, -1)
    wave = np.sin(2 / 3 * -far * np.sqrt(-far) + pi / 4) / np.sqrt(pi * np.sqrt(-far))
    return np.where(near, airy(x)[0], np.where(np.isposinf(x), np.nan, np.where(x > 0, 0, wave)))


def digamma(x: Any) -> Any:
    """Compute digamma, which is infinite at zero, with the sign opposite to zero's."""
    if x.size and (found := looped(loops.digamma.loops, (x,))) is not None:
        return found
    return np.where(np.equal(x, 0), np.copysign(np.inf, -np.asarray(x)), psi(x))


def trigamma(x: Any) -> Any:
    """Compute trigamma by reflection and a series in the given precision, with PyTorch's errors near the poles."""
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
    order = np.asarray(n + 1, x.dtype)
    return (1 if n % 2 else -1) * np.exp(gammaln(order)) * zeta(order, x)


def writing(function: Callable[..., Any], *by: loops.Loop) -> Looped:
    """Return the row of a function of elements, of many by the loop of their dtype, which writes few into ``out``."""
    rows = {loop.dtype: (in_blocks(function, loop=loop), loop) for loop in by}

    @wraps(function)
    def call(x: Any, out: Any = None) -> Any:
        row, loop = rows.get(x.dtype) or rows[loops.SINGLE]
        if out is None:
            return row(x)
        if x.size < loop.least:
            return function(x, out=out)
        np.copyto(out, row(x))
        return out

    return Looped(call, True)


lgamma_row = writing(lgamma, loops.lgamma)


def mvlgamma(x: Any, p: int) -> Any:
    steps = np.arange(p, dtype=x.dtype) / 2  # raises for an order that memory cannot hold
    return sum(lgamma_row(x - step) for step in steps) + x.dtype.type(p * (p - 1) / 4 * log(pi))


def igammac(a: Any, x: Any) -> Any:
    """Compute the upper incomplete gamma function; of float32 below 1.1, and low order, from the lower one: SciPy's
    series of it takes fifty times as long.
    """
    near = np.less(x, 1.1) & np.less(a, 1.25) & np.greater(a, TINY)
    if a.dtype != np.float32 or not np.count_nonzero(near):
        return gammaincc(a, x)
    found = np.asarray(gammaincc(a, np.where(near, np.float32(2), x)))
    found[near] = 1 - gammainc(*[np.broadcast_to(array, near.shape)[near].astype(np.float64) for array in (a, x)])
    return found


def times_log(log: Callable[[Any], Any]) -> Looped:
    """Return a row for ``x * log(y)``, which is 0 where x is 0 unless y is NaN."""
    def product(x: Any, y: Any) -> Any:
        return np.where(np.equal(x, 0) & ~np.isnan(y), 0, x * log(y))

    return chained(product, 2, lambda x, y: (
        np.asarray(x * log(y)) if np.count_nonzero(x) == np.size(x) else product(x, y)))


def spherical_bessel_j0(x: Any) -> Any:
    """Compute ``sin(x) / x``: NumPy's ``sinc`` would multiply by pi what is divided by it before."""
    return np.where(np.isinf(x), 0, np.where(np.equal(x, 0), 1, np.sin(x) / x))


def recurrence(first: Callable[[Any], Any], step: Callable[[int, Any, Any, Any], Any],
               argument: Callable[[Any], Any] = lambda x: x, closed: Callable[[Any, Any], Any] | None = None,
               closed_from: int = 0, within: float = np.inf) -> Callable[[Any, Any], Any]:
    """Return a row for polynomials p(0) = 1, p(1) = ``first(x)``, p(k + 1) = ``step(k, x, p(k), p(k - 1))``; 0 for n <
    0.

    For degrees from ``closed_from`` on and |x| up to ``within``, ``closed(x, n)`` replaces the steps.
    """
    def of_one_degree(x: Any, n: Any) -> Any:
        degree, x = int(n), argument(x)
        if degree < 2:
            return first(x) if degree == 1 else np.full_like(x, degree == 0)
        form, near = closed if degree >= closed_from else None, np.abs(x) <= within
        if form is not None and near.all():
            return form(x, np.trunc(n))
        before, now = 1, first(x)
        for k in range(1, degree):
            before, now = now, step(k, x, now, before)
        return now if form is None else np.where(near, form(np.where(near, x, 0), np.trunc(n)), now)

    one_degree = in_blocks(of_one_degree)

    def row(x: Any, n: Any) -> Any:
        if np.ndim(n) == 0 and np.ndim(x) and abs(n) < FEW_STEPS:  # not for NaN
            return one_degree(x, n)
        x, n = np.broadcast_arrays(argument(np.asarray(x)), np.trunc(n))
        before, now = np.ones_like(x), first(x)
        out = np.where(n == 0, before, np.where(n == 1, now, 0))
        if closed is not None:
            far = (n >= closed_from) & (np.abs(x) <= within)
            out, n = np.where(far, closed(np.where(far, x, 0), np.where(far, n, 0)), out), np.where(far, 0, n)
        degrees, last, k = set(np.unique(n).tolist()), n.max(initial=0), 1
        while k < last:
            before, now = now, step(k, x, now, before)
            k += 1
            if k in degrees:
                out = np.where(n == k, now, out)
            if not k % FEW_STEPS:
                last = n.max(initial=0, where=~np.isnan(now))  # nan stays nan
        return np.where(n > k, np.nan, out)

    return row


def _double(k: int, x: Any, now: Any, before: Any) -> Any:
    return 2 * x * now - before


def _signs(n: Any) -> Any:
    return 1 - 2 * (n % 2)


def _quotient(upper: Any, shift: float, lower: Any, part: float, ends: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return ``upper((n + shift) t) / lower(part t)`` of the angle t = arccos(x), with ``ends(n)`` at -1 and 1."""

    def closed(x: Any, n: Any) -> Any:
        t, (left, right) = np.arccos(x), ends(n)
        return np.where(x == 1, right, np.where(x == -1, left, upper((n + shift) * t) / lower(part * t)))

    return closed


#: The second polynomial of each kind, its closed form, and the degree from which on PyTorch uses it.
CHEBYSHEV: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any], int]] = {
    "t": (lambda x: x, _quotient(np.cos, 0, np.ones_like, 1, lambda n: (_signs(n), 1)), 7),
    "u": (lambda x: 2 * x, _quotient(np.sin, 1, np.sin, 1, lambda n: (_signs(n) * (n + 1), n + 1)), 9),
    "v": (lambda x: 2 * x - 1, _quotient(np.cos, 0.5, np.cos, 0.5, lambda n: (_signs(n) * (2 * n + 1), 1)), 9),
    "w": (lambda x: 2 * x + 1, _quotient(np.sin, 0.5, np.sin, 0.5, lambda n: (_signs(n), 2 * n + 1)), 9),
}


def _in_c(name: str) -> Callable[[Any, Any], Any]:
    """Return a polynomial of SciPy's, which takes the same steps in C."""
    function = scipy_function(name)

    def closed(x: Any, n: Any) -> Any:
        values = function(n.astype(np.int64), x)
        return np.where(np.isfinite(values), values, np.nan)

    return closed


POLYNOMIAL_ROWS: dict[str, Callable[..., Any]] = {
    **{f"chebyshev_polynomial_{kind}": recurrence(first, _double, lambda x: x, closed, start, 1)
       for kind, (first, closed, start) in CHEBYSHEV.items()},
    **{f"shifted_chebyshev_polynomial_{kind}": recurrence(first, _double, lambda x: 2 * x - 1, closed, start, 1)
       for kind, (first, closed, start) in CHEBYSHEV.items()},
    "hermite_polynomial_h": recurrence(lambda x: 2 * x, lambda k, x, now, before: 2 * x * now - 2 * k * before),
    "hermite_polynomial_he": recurrence(lambda x: x, lambda k, x, now, before: x * now - k * before),
    "laguerre_polynomial_l": recurrence(
        lambda x: 1 - x, lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1),
        closed=_in_c("eval_laguerre"), closed_from=1000),
    "legendre_polynomial_p": recurrence(
        lambda x: x, lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1),
        closed=_in_c("eval_legendre"), closed_from=1000),
}

#: The polynomials that a loop computes, in its order.
KINDS = ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
         "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p")


def by_loop(name: str, row: Callable[[Any, Any], Any]) -> Looped:
    """Return the row of a polynomial, which a loop computes where there is one."""
    shifted, kind = name.startswith("shifted"), KINDS.index(name.removeprefix("shifted_"))
    family, settings = loops.polynomial.loops, (kind, shifted)

    def of_degrees(x: Any, n: Any) -> Any:
        given, degrees = x, n
        if x.__class__ is not n.__class__ or x.dtype is not n.dtype:
            dtype = np.result_type(*[a for a in (x, n) if a.__class__ is np.ndarray])
            given, degrees = np.asarray(x, dtype), np.asarray(n, dtype)
        of_one = given.size > FEW and not degrees.ndim  # whose steps NumPy computes by vectors
        found = None if of_one else looped(family, (given, degrees), settings)
        return row(x, n) if found is None else found

    return Looped(of_degrees, settle=lambda dtype, size: of_few(family, row, dtype, size, numbers=settings))


AT_ONCE.add(taking(2)(logit_backward))
CPU_KERNELS.add(digamma, polygamma, mvlgamma)
CPU_KERNELS.update({
    "logit": Looped(logit, settle=lambda dtype, size, eps=None: None if dtype.itemsize == 2 else log_odds.settle(
        dtype, size, *bounds_of(eps, dtype))),
    "i0": scipy_function("i0"),
    "erfc": writing(chained(lambda x: erfc(x)).function, loops.erfc, loops.wide_erfc),
    "lgamma": lgamma_row,
    "erf": writing(erf, loops.erf, loops.wide_erf),
    "erfinv": writing(erfinv, loops.erfinv, loops.wide_erfinv),
    **{f"special_{name}": scipy_function(name)
       for name in ("entr", "erfcx", "ndtri", "log_ndtr", "i0e")},
    **{f"special_{name}": of_elements(name, scipy_function(name)) for name in ("i1", "i1e")},
    "igamma": gammainc,
    "igammac": igammac,
    **{f"xlogy.{overload}": times_log(np.log) for overload in ("Tensor", "Scalar_Other", "Scalar_Self")},
    **{f"special_xlog1py{overload}": times_log(np.log1p) for overload in ("", ".other_scalar", ".self_scalar")},
    **{f"special_zeta{overload}": zeta for overload in ("", ".other_scalar", ".self_scalar")},
    "special_airy_ai": airy_ai,
    **{f"special_bessel_{name}": scipy_function(name) for name in ("j0", "j1", "y0", "y1")},
    **{f"special_modified_bessel_{name}": scipy_function(name) for name in ("i0", "i1", "k0", "k1")},
    **{f"special_scaled_modified_bessel_{name}": scipy_function(f"{name}e") for name in ("k0", "k1")},
    "special_spherical_bessel_j0": chained(spherical_bessel_j0),
    **{f"special_{name}{overload}": by_loop(name, row)
       for name, row in POLYNOMIAL_ROWS.items() for overload in ("", ".n_scalar", ".x_scalar")},
})
