"""Samplers that reject: how many words a number takes depends on the words, so these draw one after the other."""
from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..._base import loops
from ..._base.loops import rejection
from .generator import Generator
from .numerics import cast, unit_interval

_BULK = 4096
SLOW = 1 << 8  #: how many elements NumPy computes in the time that Python takes for a number


def supplied(generator: Generator, loop: loops.Loop, numbers: Callable[..., None], rows: np.ndarray,
             samples: np.ndarray, takes: np.ndarray, words: int, *more: np.ndarray) -> np.ndarray:
    """Draw a sample for each row, by a loop or the Python that it is compiled of. ``takes`` says which rows take any
    words, ``words`` are about so many a row.
    """
    compiled, place, left = loop.compiled(SLOW * len(rows)), np.zeros(2, np.int64), int(np.count_nonzero(takes))
    values = rows if compiled else rows.tolist()

    def take(words: np.ndarray) -> tuple[int, int]:
        uniforms = unit_interval(words)
        if compiled:
            compiled(rows, uniforms, samples, place, *more)
        else:
            numbers(values, uniforms.tolist(), samples, place, *more)
        done, used = place.tolist()
        return used, 0 if done == len(rows) else int(np.count_nonzero(takes[done:]))

    generator.supply(take, left, min(max(16, words * len(rows)), _BULK))
    return samples


def poisson(generator: Generator, rates: np.ndarray) -> np.ndarray:
    """Draw Poisson numbers by rates, in their shape and dtype (``poisson``); RuntimeError for negative or nan."""
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    flat = rates.astype(np.float64).ravel()
    samples = supplied(generator, loops.poisson, rejection.poisson, flat, np.zeros(flat.shape, np.int64), flat, 2)
    return cast(samples.reshape(rates.shape), rates.dtype)


def binomial(generator: Generator, counts: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Draw binomial numbers from two floating-point arrays of one shape and dtype, in these (``binomial``).

    Where count * min(p, 1 - p) is at least 10, Hormann's transformed rejection (BTRS) draws them, else a sum of
    geometric numbers does. As in PyTorch, some parameters are computed in the arrays' dtype, the rest in float64.
    """
    n, p, dtype = counts.ravel(), probabilities.ravel(), counts.dtype
    drawn, turned = (n > 0) & (p > 0) & (p < 1), p > 0.5
    chance = np.where(turned, (1 - p.astype(np.float64)).astype(dtype), p)
    expected, one, rows = n * chance, dtype.type(1), np.zeros((len(n), 7))
    rejects = expected >= 10
    columns = [np.where(drawn, n, 0), chance, np.log1p(-chance)]
    if rejects.any():
        columns += [np.where(rejects, np.sqrt(expected * (one - chance)), 0), chance / (one - chance),
                    expected.astype(np.float64) + 0.5, np.floor((n + one) * chance)]
    for column, values in enumerate(columns):
        rows[:, column] = values
    samples = supplied(generator, loops.binomial, rejection.binomial, rows, np.zeros(len(n)), drawn, 2).astype(dtype)
    sure = np.where((n > 0) & ~(p <= 0), np.where(p >= 1, n, p), dtype.type(0))  # NaN among them
    return np.where(drawn, np.where(turned, n - samples, samples), sure).reshape(counts.shape)


def gamma(generator: Generator, shapes: np.ndarray) -> np.ndarray:
    """Draw gamma numbers of rate 1 with the shape parameters of a floating-point array, in its shape
    (``_standard_gamma``).

    Marsaglia and Tsang's rejection (2000) makes them from normal and uniform numbers; a shape parameter a < 1 uses a +
    1. As in PyTorch, a and the constants are rounded to the array's dtype or to float32, the rest is float64.
    """
    flat = shapes.ravel()
    small, rows = flat < 1, np.empty((flat.size, 3))
    rows[:, 0] = np.where(small, 1 / flat, 0)
    rows[:, 1] = np.where(small, flat + 1, flat) - flat.dtype.type(np.float32(1 / 3))
    rows[:, 2] = 1 / np.sqrt(9 * rows[:, 1])
    with generator.lock:
        kept = np.array([math.nan if generator.next_normal is None else generator.next_normal])
        samples = supplied(generator, loops.gamma, rejection.gamma, rows, np.zeros(flat.size),
                           rows[:, 0] != math.inf, 4, kept)
        generator.next_normal = None if math.isnan(kept[0]) else float(kept[0])
    return cast(samples.reshape(shapes.shape), shapes.dtype)
