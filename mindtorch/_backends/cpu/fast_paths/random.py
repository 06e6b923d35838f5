"""Fast paths of drawing a few random numbers.

Errors are raised, not retried: a retry would draw again.
"""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ...._base.layout import Ints
from ...._device import CPU
from ...._dtype import get_default_dtype, int64
from ...._tensor import Tensor, from_array
from ...random import integers, sampling
from ...random.default import default_generator
from ..at_once import drawing
from ..ops import reduction
from ..plans import MOST
from . import FAST_PATHS, FEW, PLAIN, Row, ndarray


def filling(sample: Callable[..., ndarray], *defaults: Any) -> Callable[[Row], Row]:
    """Build the fast path that fills a small tensor with random numbers; ``defaults`` are its parameters' defaults."""
    most = len(defaults)

    def make(general: Row) -> Row:
        def fast(self: Any, *given: Any) -> Any:
            array, count = self._array, len(given)
            if self._dtype not in PLAIN or array.size > reduction.FEW:
                return general(self, *given)
            generator = given[most] if count > most else None
            parameters = given[:most] if count >= most else (*given, *defaults[count:])
            values = sample(generator or default_generator, array.size, array.dtype, *parameters)
            array[...] = values if array.ndim == 1 else values.reshape(array.shape)
            return self

        return fast

    return make


def bernoulli(general: Row) -> Row:
    """Draw zeros and ones with a few probabilities."""

    def fast(self: Any, generator: Any = None) -> Any:
        array, dtype = self._array, self._dtype
        if dtype not in PLAIN or not 0 < array.size <= reduction.FEW:
            return general(self, generator)
        for p in array.ravel().tolist():
            if not 0 <= p <= 1:
                return general(self, generator)
        draws = sampling.standard_uniform(generator or default_generator, array.size, array.dtype)
        ones = (draws if array.ndim == 1 else draws.reshape(array.shape)) < array
        return from_array(ones.astype(array.dtype), dtype)

    return fast


def positive(size: Ints) -> int:
    """Return the number of elements, or 0 if a size is not positive."""
    return prod(size) if min(size, default=1) > 0 else 0


def numbers(sample: Callable[..., ndarray], first: float, second: float) -> Callable[[Row], Row]:
    """Build the fast path that draws a few numbers with two parameters from the default generator."""

    def draw(size: Ints, dtype: Any = None, layout: Any = None, device: Any = None,
             pin_memory: Any = None) -> Tensor | None:
        dtype, count = dtype or get_default_dtype(), size[0] if len(size) == 1 else positive(size)
        if dtype not in PLAIN or not 0 < count <= FEW:
            return None
        values = sample(default_generator, count, dtype.np, first, second)
        return from_array(values if len(size) == 1 else values.reshape(size), dtype)

    return drawing(draw)


def numbers_like(sample: Callable[..., ndarray], first: float, second: float) -> Callable[[Row], Row]:
    """Build the fast path that draws a few numbers in the shape and dtype of a tensor."""

    def draw(self: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
             memory_format: Any = None) -> Tensor | None:
        array, dtype = self._array, dtype or self._dtype
        if dtype not in PLAIN or device not in (None, CPU) or memory_format is not None or not 0 < array.size <= FEW:
            return None
        return from_array(sample(default_generator, array.size, dtype.np, first, second).reshape(array.shape), dtype)

    return drawing(draw)


def randint(low: Any, high: Any, size: Ints, dtype: Any = None, layout: Any = None, device: Any = None,
            pin_memory: Any = None) -> Tensor | None:
    count = size[0] if len(size) == 1 else positive(size)
    if ((dtype is not None and dtype is not int64) or not -1 << 31 <= low < high < 1 << 31 or not 0 < count <= FEW):
        return None
    values = integers.random_from_to(default_generator, count, int64.np, low, high)
    return from_array(values if len(size) == 1 else values.reshape(size), int64)


def randperm(n: int, dtype: Any = None, layout: Any = None, device: Any = None,
             pin_memory: Any = None) -> Tensor | None:
    if (dtype is not None and dtype is not int64) or not 0 < n <= MOST:
        return None
    return from_array(integers.randperm(default_generator, n, int64.np), int64)


FAST_PATHS.update({
    "normal_": filling(sampling.normal, 0.0, 1.0),
    "uniform_": filling(sampling.uniform, 0.0, 1.0),
    "exponential_": filling(sampling.exponential, 1.0),
    "cauchy_": filling(sampling.cauchy, 0.0, 1.0),
    "log_normal_": filling(sampling.log_normal, 1.0, 2.0),
    "geometric_": filling(sampling.geometric, None),
    "bernoulli_.float": filling(lambda generator, n, dtype, p: sampling.bernoulli(generator, n, p), 0.5),
    "random_": filling(integers.random),
    "bernoulli": bernoulli,
    "rand": numbers(sampling.uniform, 0.0, 1.0),
    "randn": numbers(sampling.normal, 0.0, 1.0),
    "rand_like": numbers_like(sampling.uniform, 0.0, 1.0),
    "randn_like": numbers_like(sampling.normal, 0.0, 1.0),
    "randint": drawing(lambda high, size, *options: randint(0, high, size, *options)),
    "randint.low": drawing(randint),
    "randperm": drawing(randperm),
})
