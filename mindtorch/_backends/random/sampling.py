"""The samplers: words of a generator transformed into distributions, as PyTorch's CPU kernels do it.

Every sampler returns ``n`` new numbers in the order in which PyTorch draws them, as a flat array, and :func:`fill` puts
them into an output of any strides. Docstrings name the ``at::`` distribution or kernel that is mirrored.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._base.layout import like_strides
from . import box_muller
from .generator import Generator, of_64_bits
from .numerics import affine, cast, compute_dtype, float_facts, libm, unit_interval

#: Up to so many normals in pairs, and uniforms and normals in blocks, calls of NumPy count for more than what they do:
#: they are computed ahead, many at once.
FEW, FEW_IN_BLOCKS = 16, 128
_FLOAT64 = np.dtype(np.float64)


def fill(out: np.ndarray, values: np.ndarray) -> None:
    """Write ``values`` into ``out`` in the order of its memory, as ``TensorIterator`` visits an output."""
    if not out.flags.c_contiguous:
        out = out.transpose(memory_order(out))
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


def standard_uniform(generator: Generator, n: int, dtype: np.dtype) -> np.ndarray:
    """Draw uniform numbers in [0, 1), in float32 or float64 (``at::uniform_real_distribution``)."""
    single = dtype.itemsize == 4
    if 0 < n <= FEW_IN_BLOCKS:
        with generator.lock:
            values = generator.ahead(n, unit_interval, 1) if single else generator.ahead(2 * n, _unit_interval_of_64, 2)
        if values is not None:
            return values.copy()
    return unit_interval(generator.random(n) if single else generator.random64(n))


def _unit_interval_of_64(words: np.ndarray) -> np.ndarray:
    """Convert pairs of 32-bit words to uniform float64 numbers."""
    return unit_interval(of_64_bits(words.copy()))


def uniform(generator: Generator, n: int, dtype: np.dtype, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """Draw from [low, high) (``cpu::uniform_kernel``); RuntimeError for bounds that are not finite or ordered."""
    if low == 0 and high == 1 and dtype.itemsize > 2:
        return standard_uniform(generator, n, dtype)
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
    values = cast(affine(standard_uniform(generator, n, compute), stop - start, start), dtype)
    np.copyto(values, dtype.type(start), where=values == dtype.type(stop))  # rounded up to the open bound
    return values


def normal(generator: Generator, n: int, dtype: np.dtype, mean: float = 0.0, std: float = 1.0,
           contiguous: bool = True) -> np.ndarray:
    """Draw normal numbers (``normal_``, ``at::native::templates::cpu::normal_kernel``).

    For a contiguous output of at least 16, Box-Muller on blocks of 16 makes them; otherwise pairs do, whose second
    number the generator keeps for the next draw. Raises RuntimeError if std < 0.
    """
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if n < 16 or not contiguous:
        return _normal_pairs(generator, n, mean, std, dtype)
    return cast(affine(_normal_blocks(generator, n, dtype), std, mean), dtype)


def log_normal(generator: Generator, n: int, dtype: np.dtype, mean: float = 1.0, std: float = 2.0) -> np.ndarray:
    """Draw exponentials of normal numbers (``at::lognormal_distribution<double>``); RuntimeError if std <= 0."""
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    return cast(libm(np.exp, _normal_pairs(generator, n, mean, std), dtype), dtype)


def _normal_blocks(generator: Generator, n: int, dtype: np.dtype) -> np.ndarray:
    """Draw read-only standard normals in blocks; a ragged end redraws the last 16 (``normal_fill``)."""
    compute = compute_dtype(dtype)
    tail = n % 16
    if not tail and n <= FEW_IN_BLOCKS and compute == np.float32:
        with generator.lock:
            ahead = generator.ahead(n, _blocks, 16)
        if ahead is not None:
            return ahead
    discarded = tail if compute == dtype else 0  # of a half dtype, only whole blocks are drawn
    u = standard_uniform(generator, n - tail + discarded + (16 if tail else 0), compute)
    if not tail:
        return box_muller.blocks(u.reshape(-1, 16)).reshape(-1)
    whole = n - tail
    u[whole:whole + 16] = u[-16:]
    made = box_muller.blocks(u[:whole + 16].reshape(-1, 16)).reshape(-1)
    values = made[:n].copy()
    values[n - 16:] = made[whole:]
    return values


def _blocks(words: np.ndarray) -> np.ndarray:
    """Convert words of 32 bits to as many float32 normals, sixteen a row."""
    return box_muller.blocks(unit_interval(words).reshape(-1, 16))


def _normal_pairs(generator: Generator, n: int, mean: float, std: float, dtype: np.dtype = _FLOAT64) -> np.ndarray:
    """Draw normals in float64, one after the other (``at::normal_distribution<double>``)."""
    with generator.lock:
        kept = generator.next_normal
        missing = n - (kept is not None)
        missing += missing % 2
        values = generator.ahead(2 * missing, _pairs, 4) if 0 < missing <= FEW else None
        if values is None:
            values = _pairs(generator.random(2 * max(missing, 0))).reshape(-1)
        if kept is not None:
            values = np.concatenate(([kept], values))
        if len(values) > n:
            values, generator.next_normal = values[:n], float(values[n])
        elif kept is not None:
            generator.next_normal = None
    if std == 1 and mean == 0 and dtype.kind == "f" and dtype.itemsize > 2:
        return values.astype(dtype)
    return cast(affine(values, std, mean), dtype)


def _pairs(words: np.ndarray) -> np.ndarray:
    """Convert groups of four 32-bit words to pairs of float64 normals."""
    u = unit_interval(of_64_bits(words.copy())).reshape(-1, 2)
    radius, angle = np.sqrt(-2 * libm(np.log1p, -u[:, 1], _FLOAT64)), box_muller.TWO_PI * u[:, 0]
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1)


# -- from one uniform each ------------------------------------------------------------------------------


def exponential(generator: Generator, n: int, dtype: np.dtype, rate: float = 1.0) -> np.ndarray:
    """Draw exponential numbers (``at::exponential_distribution<double>``); RuntimeError if rate <= 0."""
    if not rate > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
    u = standard_uniform(generator, n, _FLOAT64)
    return cast(-1.0 / rate * libm(np.log1p, -u, dtype), dtype)


def cauchy(generator: Generator, n: int, dtype: np.dtype, median: float = 0.0, sigma: float = 1.0) -> np.ndarray:
    """Draw Cauchy numbers (``cauchy_``, ``at::cauchy_distribution<double>``); RuntimeError if sigma <= 0."""
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    u = standard_uniform(generator, n, _FLOAT64)
    return cast(affine(libm(np.tan, math.pi * (u - 0.5), dtype), sigma, median), dtype)


def geometric(generator: Generator, n: int, dtype: np.dtype, p: float) -> np.ndarray:
    """Draw trials up to a success (``at::geometric_distribution<double>``); RuntimeError unless 0 < p < 1."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    u = standard_uniform(generator, n, _FLOAT64)
    with np.errstate(divide="ignore"):  # log(0) is -inf
        return cast(np.ceil(np.log(u) / math.log1p(-p)), dtype)


def bernoulli(generator: Generator, n: int, p: float = 0.5) -> np.ndarray:
    """Draw booleans, true with probability p (``at::bernoulli_distribution<double>``); RuntimeError outside [0, 1]."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return standard_uniform(generator, n, _FLOAT64) < p


def bernoulli_tensor(generator: Generator, p: np.ndarray) -> np.ndarray:
    """Draw a boolean for each probability (``bernoulli_(Tensor p)``); RuntimeError outside [0, 1]."""
    if not np.all((p >= 0) & (p <= 1)):
        raise RuntimeError("bernoulli: Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    compute = compute_dtype(p.dtype)
    return standard_uniform(generator, p.size, compute) < p.ravel().astype(compute, copy=False)


def multinomial(generator: Generator, probabilities: np.ndarray, n: int, replacement: bool) -> np.ndarray:
    """Draw ``n`` categories of each row of a floating-point array of shape (rows, categories), as int64 (rows, n).

    Mirrors ``at::native::multinomial_out``; but without replacement, categories of equal keys (such as those of
    probability 0) come in the order of their index. Raises RuntimeError for negative, infinite or nan probabilities, or
    a row of zeros.
    """
    if not np.all((probabilities >= 0) & (probabilities < np.inf)):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not np.all(probabilities.sum(axis=1) > 0):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if replacement and n > 1:
        return _multinomial_with_replacement(generator, probabilities, n)
    # Of the keys p / q with exponential q, the n largest are a sample (Gumbel's trick).
    keys = empty_like(probabilities)
    fill(keys, exponential(generator, keys.size, keys.dtype))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        keys = (probabilities / keys).astype(np.float64)
    return keys.argmax(axis=1)[:, None] if n == 1 else np.argsort(-keys, axis=1, kind="stable")[:, :n]


def _multinomial_with_replacement(generator: Generator, probabilities: np.ndarray, n: int) -> np.ndarray:
    cumulative = np.cumsum(probabilities, axis=1, dtype=compute_dtype(probabilities.dtype))
    cumulative /= cumulative[:, -1:].copy()
    u = standard_uniform(generator, len(cumulative) * n, _FLOAT64).reshape(len(cumulative), n)
    samples = np.empty(u.shape, np.int64)
    for row, row_cumulative, row_u in zip(samples, cumulative.astype(np.float64), u, strict=True):
        row[:] = row_cumulative.searchsorted(row_u)
    return samples
