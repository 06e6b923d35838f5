"""CPU kernels of random numbers: the samplers' flat sequences, put into outputs in the order of their
memory.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...._dtype import int64
from ...._random import integers, rejection, sampling
from ...._random.default import default_generator
from ...._random.generator import Generator

Sampler = Callable[..., np.ndarray]


def put(out: np.ndarray, generator: Generator | None, sample: Sampler, *parameters: Any) -> np.ndarray:
    """Fill ``out`` with ``sample(generator, n, dtype, *parameters)``; a complex number is two real ones."""
    if out.dtype.kind == "c":
        out = out[..., None].view(out.real.dtype)
    sampling.fill(out, sample(generator or default_generator, out.size, out.dtype, *parameters))
    return out


def normal_(out: np.ndarray, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> None:
    if out.dtype.kind == "c":  # the variance is that of both parts together
        std /= math.sqrt(2)
    put(out, generator, sampling.normal, mean, std, out.flags.c_contiguous)


def bernoulli_(out: np.ndarray, p: float = 0.5, generator: Generator | None = None) -> np.ndarray:
    return put(out, generator, lambda g, n, dtype: sampling.bernoulli(g, n, p))


def bernoulli_tensor(out: np.ndarray, p: np.ndarray, generator: Generator | None = None) -> np.ndarray:
    p = np.broadcast_to(p, out.shape).transpose(sampling.memory_order(out))
    return put(out, generator, lambda g, n, dtype: sampling.bernoulli_tensor(g, p))


def multinomial(p: np.ndarray, n: int, replacement: bool = False,
                generator: Generator | None = None) -> np.ndarray:
    samples = sampling.multinomial(generator or default_generator, np.atleast_2d(p), n, replacement)
    return samples if p.ndim == 2 else samples[0]


def binomial(count: np.ndarray, prob: np.ndarray, generator: Generator | None = None) -> np.ndarray:
    return rejection.binomial(generator or default_generator, *np.broadcast_arrays(count, prob))


def native_dropout(x: np.ndarray, p: float, train: bool | None) -> tuple[np.ndarray, np.ndarray]:
    mask = np.empty_like(x, np.bool_)
    if train is False:
        mask.fill(True)
        return x.copy(), mask
    if x.size:
        bernoulli_(mask, 1 - p)
    return x * mask * x.dtype.type(0.0 if p == 1 else 1 / (1 - p)), mask


ROWS: dict[str, Callable[..., Any]] = {
    "uniform_": lambda out, low=0.0, high=1.0,
    generator=None: put(out, generator, sampling.uniform, low, high),
    "normal_": normal_,
    "random_": lambda out, generator=None: put(out, generator, integers.random),
    "random_.from": lambda out, low, high,
    generator=None: put(out, generator, integers.random_from_to, low, high),
    "random_.to": lambda out, high, generator=None: put(out, generator, integers.random_from_to, 0, high),
    "bernoulli_.float": bernoulli_,
    "bernoulli_.Tensor": bernoulli_tensor,
    "exponential_": lambda out, rate=1.0, generator=None: put(out, generator, sampling.exponential, rate),
    "geometric_": lambda out, p, generator=None: put(out, generator, sampling.geometric, p),
    "cauchy_": lambda out, median=0.0, sigma=1.0,
    generator=None: put(out, generator, sampling.cauchy, median, sigma),
    "log_normal_": lambda out, mean=1.0, std=2.0,
    generator=None: put(out, generator, sampling.log_normal, mean, std),
    "bernoulli": lambda p, generator=None: bernoulli_tensor(np.empty(p.shape, p.dtype), p, generator),
    "bernoulli.p": lambda x, p, generator=None: bernoulli_(np.empty(x.shape, x.dtype), p, generator),
    "multinomial": multinomial,
    "poisson": lambda rate, generator=None: rejection.poisson(generator or default_generator, rate),
    "binomial": binomial,
    "randperm": lambda n, generator=None, dtype=None: integers.randperm(generator or default_generator, n,
                                                                        (dtype or int64).np),
    "native_dropout": native_dropout,
}
