"""Fast paths of composites: what a few calls of NumPy make of CPU tensors while nothing watches.

The operators that a composite is written in are for observers, modes, pipelines and gradients to see. Where the keys
are those of contiguous CPU tensors alone, and the dispatcher's mode is none, nobody looks at them.
"""
from __future__ import annotations

from collections.abc import Callable
from math import isfinite, prod
from typing import Any

import numpy as np

from ..._dispatch import dispatcher
from ..._dtype import FLOATING, get_default_dtype, int64
from ..._layout import Ints
from ..._random import integers, sampling
from ..._random.default import default_generator
from ..._tensor import Tensor
from ..common.fast_paths import Row, fast_path, fresh, ndarray
from .kept import MOST, OF_MOVES, PLAIN, UNFIT, keep
from .ops import CPU_KERNELS

FEW = 1 << 6  #: up to so many elements, Python's numbers are quicker than several calls of NumPy's
LARGEST = 3e38  #: what float32 surely holds


def unwatched(fast: Row, general: Row) -> Row:
    """The fast path of a composite, for calls that nothing watches."""

    def call(*args: Any) -> Any:
        return general(*args) if dispatcher.mode else fast(*args)

    return call


def computing(compute: Row) -> Callable[[Row], Row]:
    """The fast path of a composite by what computes it, as ``fast_path`` takes it."""
    return lambda general: unwatched(fast_path(compute)(general), general)


def drawing(draw: Callable[..., Tensor | None]) -> Callable[[Row], Row]:
    """The same for what draws random numbers, which must not be drawn a second time: an error is raised as it is."""

    def make(general: Row) -> Row:
        def fast(*args: Any) -> Any:
            drawn = draw(*args)
            return general(*args) if drawn is None else drawn

        return unwatched(fast, general)

    return make


# -- of tensors --------------------------------------------------------------------------------------------------------

def one_hot(self: Any, num_classes: int = -1) -> Tensor | None:
    array = self._array
    if self._dtype is not int64 or not 0 < array.size <= FEW:
        return None
    classes = array.ravel().tolist()
    most = max(classes)
    count = most + 1 if num_classes == -1 else num_classes
    if min(classes) < 0 or most >= count:
        return None
    out = np.zeros((*array.shape, count), np.int64)
    out.put([start + at for start, at in zip(range(0, out.size, count), classes, strict=True)], 1)
    return fresh(out, int64)


def kron(self: Any, other: Any) -> ndarray | None:
    left, right = self._array, other._array
    if self._dtype not in PLAIN or other._dtype is not self._dtype or left.ndim != 2 or right.ndim != 2:
        return None
    (a, b), (c, d) = left.shape, right.shape
    product = left.reshape(a, 1, b, 1) * right.reshape(1, c, 1, d)
    return product.reshape(a * c, b * d) if product.size else None


def trace(self: Any) -> ndarray | None:
    array = self._array
    return np.asarray(CPU_KERNELS["sum"](array.diagonal())) if self._dtype in PLAIN and array.ndim == 2 else None


def padding(general: Row) -> Row:
    """``constant_pad_nd`` of small floating point tensors, which keeps where they lie in the results."""
    plans: dict[Any, Any] = {}

    def fast(self: Any, pad: Ints, value: Any = 0) -> Any:
        array, dtype = self._array, self._dtype
        if (array.size > MOST or dtype not in PLAIN or value.__class__ not in (int, float)
                or (isfinite(value) and abs(value) > LARGEST)):
            return general(self, pad, value)
        key = array.shape, tuple(pad)
        plan = plans.get(key)
        if not plan:
            result = general(self, pad, value)
            if plan is None:
                fits = min(pad, default=-1) >= 0 and any(pad) and result.is_contiguous() and 0 < result.numel() <= MOST
                keep(plans, key, (tuple(result.shape), middle(array.shape, pad)) if fits else UNFIT)
            return result
        shape, place = plan
        out = np.empty(shape, dtype.np)
        out.fill(value)
        out[place] = array
        return fresh(out, dtype)

    return unwatched(fast, general)


def middle(shape: Ints, pad: Ints) -> tuple[Any, ...]:
    """The key of the place that a tensor takes when it is padded."""
    before = [0] * (len(shape) - len(pad) // 2) + [*pad[-2::-2]]
    return tuple([slice(n, n + size) for n, size in zip(before, shape, strict=True)])


def transform(compute: Callable[..., ndarray], of_real: bool, of_complex: bool) -> Callable[[Row], Row]:
    """A Fourier transform of the last dimension."""

    def run(self: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor | None:
        array, dtype = self._array, self._dtype
        takes = of_complex if dtype.is_complex else of_real and dtype.category == FLOATING
        if (not takes or dtype.to_real() not in PLAIN or n is not None or not array.size or not array.ndim
                or dim not in (-1, array.ndim - 1)):
            return None
        return fresh(compute(array, None, -1, norm), dtype.to_complex())

    return computing(run)


# -- factories ---------------------------------------------------------------------------------------------------------

def arange(start: Any, end: Any, dtype: Any = None, layout: Any = None, device: Any = None,
           pin_memory: Any = None) -> Tensor | None:
    """Integers, one after the other."""
    if start.__class__ is not int or end.__class__ is not int or start > end or (
            dtype is not None and dtype is not int64):
        return None
    return fresh(np.arange(start, end, dtype=np.int64), int64)


def eye(n: int, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None) -> Tensor | None:
    if n.__class__ is not int or n <= 0:
        return None
    dtype = dtype or get_default_dtype()
    out = np.zeros((n, n), dtype.np)
    out.reshape(-1)[::n + 1] = 1
    return fresh(out, dtype)


def numbers(sample: Callable[..., ndarray], first: float, second: float) -> Callable[[Row], Row]:
    """A few random numbers of two parameters, from the default generator."""

    def draw(size: Ints, dtype: Any = None, layout: Any = None, device: Any = None,
             pin_memory: Any = None) -> Tensor | None:
        dtype, count = dtype or get_default_dtype(), size[0] if len(size) == 1 else prod(size)
        if dtype not in PLAIN or not 0 < count <= FEW or min(size, default=1) < 1:
            return None
        values = sample(default_generator, count, dtype.np, first, second)
        return fresh(values if len(size) == 1 else values.reshape(size), dtype)

    return drawing(draw)


def randint(low: Any, high: Any, size: Ints, dtype: Any = None, layout: Any = None, device: Any = None,
            pin_memory: Any = None) -> Tensor | None:
    count = size[0] if len(size) == 1 else prod(size)
    if ((dtype is not None and dtype is not int64) or not -1 << 31 <= low < high < 1 << 31 or not 0 < count <= FEW
            or min(size, default=1) < 1):
        return None
    values = integers.random_from_to(default_generator, count, int64.np, low, high)
    return fresh(values if len(size) == 1 else values.reshape(size), int64)


def randperm(n: int, dtype: Any = None, layout: Any = None, device: Any = None,
             pin_memory: Any = None) -> Tensor | None:
    if (dtype is not None and dtype is not int64) or not 0 < n <= MOST:
        return None
    return fresh(integers.randperm(default_generator, n, int64.np), int64)


FAST_PATHS: dict[str, Callable[[Row], Row]] = {
    **OF_MOVES,
    "one_hot": computing(one_hot),
    "kron": computing(kron),
    "trace": computing(trace),
    "constant_pad_nd": padding,
    "fft_fft": transform(np.fft.fft, True, True),
    "fft_ifft": transform(np.fft.ifft, False, True),
    "fft_rfft": transform(np.fft.rfft, True, False),
    "arange": computing(lambda end, *options: arange(0, end, *options)),
    "arange.start": computing(arange),
    "eye": computing(eye),
    "rand": numbers(sampling.uniform, 0.0, 1.0),
    "randn": numbers(sampling.normal, 0.0, 1.0),
    "randint": drawing(lambda high, size, *options: randint(0, high, size, *options)),
    "randint.low": drawing(randint),
    "randperm": drawing(randperm),
}
