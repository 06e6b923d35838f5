"""Samplers that reject: how many words a number takes depends on the words, so these draw one at a time."""
from __future__ import annotations

import contextlib
import math
from collections.abc import Callable

import numpy as np

from ..._base import loops
from ..._base.loops.rejection import TINY, poisson as poisson_numbers
from .generator import Generator
from .numerics import cast, unit_interval

_BULK = 4096
_SQUEEZE = float(np.float32(0.0331))
# Stirling's series: log(k!) less its approximation, for k from 0 to 9
_STIRLING_TAIL = (0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
                  0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287)

Draw = Callable[[], float]


def poisson(generator: Generator, rates: np.ndarray) -> np.ndarray:
    """Draw Poisson numbers by rates, in their shape and dtype (``poisson``); RuntimeError for negative or nan."""
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    flat, place = rates.astype(np.float64).ravel(), np.zeros(2, np.int64)
    samples, loop = np.zeros(flat.shape, np.int64), loops.poisson.compiled(2 * loops.SLOWER * flat.size)
    values = None if loop else flat.tolist()

    def take(words: np.ndarray) -> tuple[int, int]:
        uniforms = unit_interval(words)
        if loop:
            loop(flat, uniforms, samples, place)
        else:
            poisson_numbers(values, uniforms.tolist(), samples, place)
        done, used = place.tolist()
        return used, int(np.count_nonzero(flat[done:]))

    generator.supply(take, int(np.count_nonzero(flat)), _bulk(flat.size))
    return cast(samples.reshape(rates.shape), rates.dtype)


def binomial(generator: Generator, counts: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Draw binomial numbers from two floating-point arrays of one shape and dtype, in these (``binomial``).

    Where count * min(p, 1 - p) is at least 10, Hormann's transformed rejection (BTRS) draws them, else a sum of
    geometric numbers does.
    """
    pairs = zip(counts.ravel(), probabilities.ravel(), strict=True)
    with generator.one_by_one(unit_interval, _bulk(counts.size)) as draw:
        samples = [_binomial(count, p, draw) for count, p in pairs]
    return np.array(samples, counts.dtype).reshape(counts.shape)


def gamma(generator: Generator, shapes: np.ndarray) -> np.ndarray:
    """Draw gamma numbers of rate 1 with the shape parameters of a floating-point array, in its shape
    (``_standard_gamma``).

    Marsaglia and Tsang's rejection (2000) makes them from normal and uniform numbers; a shape parameter a < 1 uses a +
    1. As in PyTorch, a and the constants are rounded to the array's dtype or to float32, the rest is float64.
    """
    small = shapes < 1
    exponents = np.where(small, 1 / shapes, 0).astype(np.float64)
    d = (np.where(small, shapes + 1, shapes) - shapes.dtype.type(np.float32(1 / 3))).astype(np.float64)
    rows = zip(exponents.ravel().tolist(), d.ravel().tolist(), (1 / np.sqrt(9 * d)).ravel().tolist(), strict=True)
    with generator.lock:
        with generator.one_by_one(unit_interval, _bulk(2 * shapes.size)) as draw:
            normal = _Normal(draw, generator.next_normal)
            samples = [_gamma(*row, draw, normal) for row in rows]
        generator.next_normal = normal.kept
    return cast(np.array(samples, np.float64).reshape(shapes.shape), shapes.dtype)


class _Normal:
    """Normal numbers by Box and Muller's pairs; the second of a pair is kept for the next call."""

    def __init__(self, draw: Draw, kept: float | None):
        self.draw, self.kept = draw, kept

    def __call__(self) -> float:
        if self.kept is not None:
            number, self.kept = self.kept, None
            return number
        angle, radius = 2 * math.pi * self.draw(), math.sqrt(-2 * math.log1p(-self.draw()))
        self.kept = radius * math.sin(angle)
        return radius * math.cos(angle)


def _gamma(exponent: float, d: float, c: float, draw: Draw, normal: Draw) -> float:
    """Draw one gamma number; nan is never rejected."""
    if exponent == math.inf:  # of the shape parameter 0
        return 0.0
    scale = 1.0
    if exponent:
        with contextlib.suppress(OverflowError):  # of negative shape parameters, whose numbers mean nothing
            scale = (1 - draw()) ** exponent
    while True:
        y = 0.0
        while y <= 0:
            x = normal()
            y = 1 + c * x
        v, u, xx = y * y * y, 1 - draw(), x * x
        if not u >= 1 - _SQUEEZE * xx * xx or math.log(u) < 0.5 * xx + d * (1 - v + math.log(v)):
            return scale * d * v


def _bulk(n: int) -> int:
    return min(max(16, 2 * n), _BULK)


def _binomial(count: np.floating, p: np.floating, draw: Draw) -> np.floating | float:
    if count <= 0 or p <= 0:
        return 0.0
    if p >= 1:
        return count
    if p != p:
        return p
    if p > 0.5:
        return count - _binomial_of_small_p(count, p.dtype.type(1 - float(p)), draw)
    return _binomial_of_small_p(count, p, draw)


def _binomial_of_small_p(count: np.floating, p: np.floating, draw: Draw) -> float:
    if count * p >= 10:
        return _transformed_rejection(count, p, draw)
    log_q = float(np.log1p(-p))
    successes, trials = 0, 0.0
    while True:
        trials += math.ceil(math.log(draw() or TINY) / log_q)
        if trials > count:
            return float(successes)
        successes += 1


def _transformed_rejection(count: np.floating, p: np.floating, draw: Draw) -> float:
    """Draw by BTRS; as in PyTorch, some parameters are computed in the operands' dtype, the rest in float64."""
    deviation = float(np.sqrt(count * p * (1 - p)))
    odds = float(p / (1 - p))
    centre = float(count * p) + 0.5
    mode = float(np.floor((count + 1) * p))
    n = float(count)
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * float(p)
    accept = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * deviation
    while True:
        u, v = draw() - 0.5, draw()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / (us or TINY) + b) * u + centre)
        if k < 0 or k > n:
            continue
        if us >= 0.07 and v <= accept:
            return float(k)
        bound = ((mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
                 + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
                 + (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
                 + _stirling_tail(mode) + _stirling_tail(n - mode)
                 - _stirling_tail(k) - _stirling_tail(n - k))
        if math.log((v or TINY) * alpha / (a / (us * us) + b)) <= bound:
            return float(k)


def _stirling_tail(k: float) -> float:
    if k < len(_STIRLING_TAIL):
        return _STIRLING_TAIL[int(k)]
    square = (k + 1) ** 2
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
