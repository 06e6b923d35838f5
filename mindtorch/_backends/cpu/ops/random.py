"""CPU kernels of random numbers: flat samples, written to outputs in memory order."""
from __future__ import annotations

import math
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...._dtype import DType, from_numpy_dtype, get_default_dtype, int64
from ...random import integers, rejection, sampling
from ...random.default import default_generator
from ...random.generator import Generator
from ..windows import Ints
from . import AT_ONCE, CPU_KERNELS

Sampler = Callable[..., np.ndarray]
FEW = 1 << 6  #: most elements that are drawn in one call


def put(out: np.ndarray, generator: Generator | None, sample: Sampler, *parameters: Any) -> np.ndarray:
    """Fill ``out`` with ``sample(generator, n, dtype, *parameters)``; a complex number is two real ones."""
    if _is_complex(out):
        out = out[..., None].view(f"f{out.itemsize // 2}")
    sampling.fill(out, sample(generator or default_generator, out.size, out.dtype, *parameters))
    return out


def _is_complex(array: np.ndarray) -> bool:
    kind = array.dtype.kind
    return kind == "c" or (kind not in "fiub" and array.dtype.name == "complex32")  # ml_dtypes chooses its kind


def drawn(sample: Sampler, *defaults: Any) -> Callable[..., Any]:
    """Return a row that fills an array with samples; ``defaults`` are the sampler's parameters' defaults."""

    def row(out: np.ndarray, *given: Any) -> np.ndarray:
        *parameters, generator = (*given, *(*defaults, None)[len(given):])
        return put(out, generator, sample, *parameters)

    return row


def normal_(out: np.ndarray, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> None:
    if _is_complex(out):  # both parts share the variance
        std /= math.sqrt(2)
    put(out, generator, sampling.normal, mean, std, out.flags.c_contiguous)


def bernoulli_(out: np.ndarray, p: float = 0.5, generator: Generator | None = None) -> np.ndarray:
    return put(out, generator, lambda g, n, dtype: sampling.bernoulli(g, n, p))


def bernoulli_tensor(out: np.ndarray, p: np.ndarray, generator: Generator | None = None) -> np.ndarray:
    p = np.broadcast_to(p, out.shape).transpose(sampling.memory_order(out))
    return put(out, generator, lambda g, n, dtype: sampling.bernoulli_tensor(g, p))


def multinomial(p: np.ndarray, n: int, replacement: bool = False, generator: Generator | None = None) -> np.ndarray:
    samples = sampling.multinomial(generator or default_generator, np.atleast_2d(p), n, replacement)
    return samples if p.ndim == 2 else samples[0]


def binomial(count: np.ndarray, prob: np.ndarray, generator: Generator | None = None) -> np.ndarray:
    return rejection.binomial(generator or default_generator, *np.broadcast_arrays(count, prob))


def standard_gamma(shapes: np.ndarray, generator: Generator | None = None) -> np.ndarray:
    samples = rejection.gamma(generator or default_generator, shapes)
    return np.fmax(samples, np.finfo(samples.dtype).tiny)


def sample_dirichlet(concentrations: np.ndarray, generator: Generator | None = None) -> np.ndarray:
    gammas = standard_gamma(concentrations.astype(np.float64), generator)
    points = (gammas / gammas.sum(-1, keepdims=True)).astype(concentrations.dtype)
    one = points.dtype.type(1)
    return np.fmin(np.fmax(points, np.finfo(points.dtype).tiny), np.nextafter(one, 0 * one))


def native_dropout(x: np.ndarray, p: float, train: bool | None) -> tuple[np.ndarray, np.ndarray]:
    mask = sampling.empty_like(x, np.bool_)
    if train is False:
        mask.fill(True)
        return x.copy(), mask
    if x.size:
        bernoulli_(mask, 1 - p)
    return x * mask * x.dtype.type(0.0 if p == 1 else 1 / (1 - p)), mask


def bernoulli(p: np.ndarray, generator: Generator | None = None) -> np.ndarray:
    """Draw zeros and ones; few by one comparison, if all probabilities are in range."""
    if 0 < p.size <= FEW and p.dtype.char in "fd" and p.flags.c_contiguous and ((p >= 0) & (p <= 1)).all():
        draws = sampling.standard_uniform(generator or default_generator, p.size, p.dtype)
        return (draws.reshape(p.shape) < p).astype(p.dtype)
    return bernoulli_tensor(np.empty(p.shape, p.dtype), p, generator)


# -- composites ------------------------------------------------------------------------------------------------------

def few(size: Ints) -> int:
    """Return the number of elements, or 0 if they are many."""
    count = prod(size)
    return count if count <= FEW else 0


def numbers(sample: Sampler, first: float, second: float) -> Callable[..., Any]:
    """Return a function that prepares drawing a few numbers with two parameters from the default generator."""
    def prepare(size: Ints, dtype: DType | None = None, *options: Any) -> Callable[[], np.ndarray] | None:
        kind, count = (dtype or get_default_dtype()).np, few(size)
        if kind.char not in "fd" or not count:
            return None
        if len(size) == 1:
            return lambda: sample(default_generator, count, kind, first, second)
        return lambda: sample(default_generator, count, kind, first, second).reshape(size)

    return prepare


def numbers_like(sample: Sampler, first: float, second: float) -> Callable[..., Any]:
    """Return a function that prepares drawing a few numbers in the shape and dtype of an array."""
    prepare = numbers(sample, first, second)

    def prepare_like(x: np.ndarray, dtype: DType | None = None, *options: Any) -> Callable[..., np.ndarray] | None:
        draw = prepare(x.shape, dtype or from_numpy_dtype(x.dtype))
        return draw and (lambda x: draw())

    return prepare_like


def randint(low: int, high: int, size: Ints, dtype: DType | None = None,
            *options: Any) -> Callable[[], np.ndarray] | None:
    count = few(size)
    if dtype not in (None, int64) or not -1 << 31 <= low < high < 1 << 31 or not count:
        return None
    return lambda: integers.random_from_to(default_generator, count, int64.np, low, high).reshape(size)


def randperm(n: int, dtype: DType | None = None, *options: Any) -> Callable[[], np.ndarray] | None:
    return None if dtype not in (None, int64) else lambda: integers.randperm(default_generator, n, int64.np)


AT_ONCE.add(randperm)
AT_ONCE.update({
    "rand": numbers(sampling.uniform, 0.0, 1.0),
    "randn": numbers(sampling.normal, 0.0, 1.0),
    "rand_like": numbers_like(sampling.uniform, 0.0, 1.0),
    "randn_like": numbers_like(sampling.normal, 0.0, 1.0),
    "randint": lambda high, size, *options: randint(0, high, size, *options),
    "randint.low": randint,
})
CPU_KERNELS.add(normal_, multinomial, binomial, native_dropout)
CPU_KERNELS.update({
    "uniform_": drawn(sampling.uniform, 0.0, 1.0),
    "random_": drawn(integers.random),
    "random_.from": drawn(integers.random_from_to, 0, None),
    "random_.to": drawn(lambda generator, n, dtype, high: integers.random_from_to(generator, n, dtype, 0, high), None),
    "bernoulli_.float": bernoulli_,
    "bernoulli_.Tensor": bernoulli_tensor,
    "exponential_": drawn(sampling.exponential, 1.0),
    "geometric_": drawn(sampling.geometric, None),
    "cauchy_": drawn(sampling.cauchy, 0.0, 1.0),
    "log_normal_": drawn(sampling.log_normal, 1.0, 2.0),
    "bernoulli": bernoulli,
    "bernoulli.p": lambda x, p, generator=None: bernoulli_(np.empty(x.shape, x.dtype), p, generator),
    "_standard_gamma": standard_gamma,
    "_sample_dirichlet": sample_dirichlet,
    "poisson": lambda rate, generator=None: rejection.poisson(generator or default_generator, rate),
    "randperm.generator": lambda n, generator, dtype=None, *options:
        integers.randperm(generator or default_generator, n, (dtype or int64).np),
})
