"""The samplers: words of a generator transformed into distributions, as PyTorch's CPU kernels do it.

Most are laws, by which :func:`draw` draws numbers in PyTorch's order, as a flat array, and :func:`fill` puts them into
an output of any strides. Docstrings name the ``at::`` distribution or kernel that is mirrored.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..._base.layout import like_strides
from . import box_muller
from .generator import Generator, of_64_bits
from .laws import BLOCK, LAWS, Law, draw
from .numerics import affine, cast, compute_dtype, float_facts, libm, unit_interval

_FLOAT64 = np.dtype(np.float64)


def fill(out: np.ndarray, draws: Callable[[np.ndarray | None], np.ndarray]) -> None:
    """Fill ``out`` in the order of its memory, as ``TensorIterator`` visits an output, by a function that draws numbers
    as a flat array: the one that it is given, if there is one and they are many.
    """
    if not out.flags.c_contiguous:
        out = out.transpose(memory_order(out))
    target = out.reshape(-1) if out.flags.c_contiguous else None
    values = draws(target)
    if values is not target:
        out[...] = values if out.ndim == 1 else values.reshape(out.shape)


def memory_order(out: np.ndarray) -> list[int]:
    """Return the dimensions by stride, the largest first."""
    return sorted(range(out.ndim), key=lambda dim: -out.strides[dim])


def empty_like(array: np.ndarray, dtype: Any = None) -> np.ndarray:
    """Return a new array in the layout of ``torch.empty_like``; NumPy's has expanded dimensions innermost."""
    strides = like_strides(array.shape, tuple(stride // array.itemsize for stride in array.strides))
    if strides is None:
        return np.empty(array.shape, dtype or array.dtype)
    order = sorted(range(array.ndim), key=lambda dim: -strides[dim])
    return np.empty([array.shape[dim] for dim in order], dtype or array.dtype).transpose(np.argsort(order))


# -- uniform and normal ---------------------------------------------------------------------------------


def _unit_interval_of_64(words: np.ndarray) -> np.ndarray:
    """Convert pairs of 32-bit words to uniform float64 numbers."""
    return unit_interval(of_64_bits(words))


SINGLE, DOUBLE = Law(1, unit_interval), Law(2, _unit_interval_of_64)


def standard_uniform(dtype: np.dtype) -> Law:
    """Uniform numbers in [0, 1), in float32 or float64 (``at::uniform_real_distribution``)."""
    return SINGLE if dtype.itemsize == 4 else DOUBLE


@lru_cache(LAWS)
def uniform(dtype: np.dtype, low: float = 0.0, high: float = 1.0) -> Law:
    """Numbers in [low, high) (``cpu::uniform_kernel``); RuntimeError for bounds that are not finite or ordered."""
    standard = standard_uniform(compute_dtype(dtype))
    if low == 0 and high == 1 and dtype.itemsize > 2:
        return standard
    facts = float_facts(dtype)
    assert facts is not None
    _, largest, name = facts
    for bound, value in (("from", low), ("to", high)):
        if not abs(value) <= largest:
            raise RuntimeError(f"{bound} is out of bounds for {name}: uniform_ got {bound}={value:g}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > largest:
        raise RuntimeError(f"uniform_ expects to-from <= std::numeric_limits<{name}>::max(), but found"
                           f" to={high:g} and from={low:g} which result in to-from to exceed the limit")
    compute = compute_dtype(dtype)
    start, stop = compute.type(low), compute.type(high)

    def make(words: np.ndarray) -> np.ndarray:
        values = cast(affine(standard.make(words), stop - start, start), dtype)
        np.copyto(values, dtype.type(start), where=values == dtype.type(stop))  # rounded up to the open bound
        return values

    return Law(standard.words, make)


def normal(generator: Generator, n: int, dtype: np.dtype, mean: float = 0.0, std: float = 1.0,
           contiguous: bool = True, out: np.ndarray | None = None) -> np.ndarray:
    """Draw normal numbers (``normal_``, ``at::native::templates::cpu::normal_kernel``), many into ``out`` if given.

    For a contiguous output of at least 16, Box-Muller on blocks of 16 makes them; otherwise pairs do, whose second
    number the generator keeps for the next draw. Raises RuntimeError if std < 0.
    """
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if n < 16 or not contiguous:
        return _normal_pairs(generator, n, mean, std, dtype)
    blocks, rest = _normal_blocks(dtype, std, mean), n % 16
    if not rest:
        return draw(generator, n, blocks, out)
    out = np.empty(n, dtype) if out is None else out
    with generator.lock:
        fill(out[:n - rest], partial(draw, generator, n - rest, blocks))
        if compute_dtype(dtype) == dtype:  # of a half dtype, only whole blocks are drawn
            generator.random(rest * blocks.words)
        out[n - 16:] = draw(generator, 16, blocks)  # the last of a whole block among them, again
    return out


def log_normal(generator: Generator, n: int, dtype: np.dtype, mean: float = 1.0, std: float = 2.0) -> np.ndarray:
    """Draw exponentials of normal numbers (``at::lognormal_distribution<double>``); RuntimeError if std <= 0."""
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    return cast(libm(np.exp, _normal_pairs(generator, n, mean, std), dtype), dtype)


@lru_cache(LAWS)
def _normal_blocks(dtype: np.dtype, std: float, mean: float) -> Law:
    """Sixteen normal numbers of as many uniform ones (``normal_fill``)."""
    standard = standard_uniform(compute_dtype(dtype))
    return Law(standard.words, lambda words: cast(affine(box_muller.blocks(
        standard.make(words).reshape(-1, 16)), std, mean), dtype), 16 * standard.words)


def _normal_pairs(generator: Generator, n: int, mean: float, std: float, dtype: np.dtype = _FLOAT64) -> np.ndarray:
    """Draw normals in float64, one after the other (``at::normal_distribution<double>``)."""
    with generator.lock:
        kept = generator.next_normal
        if not n or (kept is None and not n % 2):
            return draw(generator, n, _pairs_of(dtype, mean, std))
        values, first = np.empty(n), 0
        if kept is not None:
            values[0], generator.next_normal, first = kept, None, 1
        if n > first:
            pairs = draw(generator, n - first + (n - first) % 2, PAIRS)
            values[first:] = pairs[:n - first]
            if len(pairs) > n - first:
                generator.next_normal = pairs.item(n - first)
    return _scaled(values, dtype, mean, std)


def _scaled(values: np.ndarray, dtype: np.dtype, mean: float, std: float) -> np.ndarray:
    if std == 1 and mean == 0 and dtype.kind == "f" and dtype.itemsize > 2:
        return values.astype(dtype)
    return cast(affine(values, std, mean), dtype)


@lru_cache(LAWS)
def _pairs_of(dtype: np.dtype, mean: float, std: float) -> Law:
    return Law(2, lambda words: _scaled(_pairs(words), dtype, mean, std), 4)


def _pairs(words: np.ndarray) -> np.ndarray:
    """Convert groups of four 32-bit words to pairs of float64 normals."""
    u = _unit_interval_of_64(words).reshape(-1, 2)
    radius, angle = np.sqrt(-2 * libm(np.log1p, -u[:, 1], _FLOAT64)), box_muller.TWO_PI * u[:, 0]
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1)


PAIRS = Law(2, _pairs, 4)


# -- from one uniform each ------------------------------------------------------------------------------


@lru_cache(LAWS)
def exponential(dtype: np.dtype, rate: float = 1.0) -> Law:
    """Exponential numbers (``at::exponential_distribution<double>``); RuntimeError if rate <= 0."""
    if not rate > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
    return Law(2, lambda words: cast(-1.0 / rate * libm(np.log1p, -_unit_interval_of_64(words), dtype), dtype))


@lru_cache(LAWS)
def cauchy(dtype: np.dtype, median: float = 0.0, sigma: float = 1.0) -> Law:
    """Cauchy numbers (``cauchy_``, ``at::cauchy_distribution<double>``); RuntimeError if sigma <= 0."""
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    return Law(2, lambda words: cast(affine(libm(np.tan, math.pi * (_unit_interval_of_64(words) - 0.5), dtype), sigma,
                                            median), dtype))


@lru_cache(LAWS)
def geometric(dtype: np.dtype, p: float) -> Law:
    """Trials up to a success (``at::geometric_distribution<double>``); RuntimeError unless 0 < p < 1."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")

    @np.errstate(divide="ignore")  # log(0) is -inf
    def make(words: np.ndarray) -> np.ndarray:
        return cast(np.ceil(np.log(_unit_interval_of_64(words)) / math.log1p(-p)), dtype)

    return Law(2, make)


@lru_cache(LAWS)
def bernoulli(p: float = 0.5) -> Law:
    """Booleans, true with probability p (``at::bernoulli_distribution<double>``); RuntimeError outside [0, 1]."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return Law(2, lambda words: _unit_interval_of_64(words) < p)


def bernoulli_tensor(generator: Generator, p: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Draw a boolean for each probability (``bernoulli_(Tensor p)``), as a flat array, into ``out`` if it is given;
    RuntimeError outside [0, 1].
    """
    if not (p.min(initial=0) >= 0 and p.max(initial=0) <= 1):
        raise RuntimeError("bernoulli: Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    law, p = standard_uniform(compute_dtype(p.dtype)), p.ravel()
    compute, result = compute_dtype(p.dtype), np.empty(p.shape, np.bool_) if out is None else out
    with generator.lock:
        for at in (slice(start, start + BLOCK) for start in range(0, p.size, BLOCK)):
            result[at] = draw(generator, p[at].size, law) < p[at].astype(compute, copy=False)
    return result


FEW_PAIRS = 1 << 16  #: of categories and draws, which NumPy compares in less time than it searches row by row


def multinomial(generator: Generator, probabilities: np.ndarray, n: int, replacement: bool) -> np.ndarray:
    """Draw ``n`` categories of each row of a floating-point array of shape (rows, categories), as int64 (rows, n).

    Mirrors ``at::native::multinomial_out``; but without replacement, categories of equal keys (such as those of
    probability 0) come in the order of their index. Raises RuntimeError for negative, infinite or nan probabilities, or
    a row of zeros.
    """
    if not (probabilities.min(initial=0) >= 0 and probabilities.max(initial=0) < np.inf):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not probabilities.sum(axis=1).min(initial=1) > 0:
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if replacement and n > 1:
        return _multinomial_with_replacement(generator, probabilities, n)
    # Of the keys p / q with exponential q, the n largest are a sample (Gumbel's trick).
    keys = empty_like(probabilities)
    fill(keys, partial(draw, generator, keys.size, exponential(keys.dtype)))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        np.divide(probabilities, keys, keys)
    if n == 1:
        return keys.argmax(axis=1)[:, None]
    samples, step = np.empty((len(keys), n), np.int64), max(1, BLOCK // keys.shape[1])
    for at in (slice(start, start + step) for start in range(0, len(keys), step)):
        samples[at] = np.argsort(-keys[at].astype(np.float64), axis=1, kind="stable")[:, :n]
    return samples


def _multinomial_with_replacement(generator: Generator, probabilities: np.ndarray, n: int) -> np.ndarray:
    cumulative = np.cumsum(probabilities, axis=1, dtype=compute_dtype(probabilities.dtype))
    cumulative /= cumulative[:, -1:].copy()
    u = draw(generator, len(cumulative) * n, DOUBLE).reshape(len(cumulative), n)
    if len(u) > 8 and cumulative.size * n <= FEW_PAIRS:
        return np.add.reduce(cumulative[:, None] < u[:, :, None], -1, np.int64)
    samples = np.empty(u.shape, np.int64)
    for row, row_cumulative, row_u in zip(samples, cumulative.astype(np.float64), u, strict=True):
        row[:] = row_cumulative.searchsorted(row_u)
    return samples
