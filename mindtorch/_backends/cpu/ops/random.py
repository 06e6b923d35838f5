"""CPU kernels of random numbers: flat samples, written to outputs in memory order."""
from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ...._dtype import DType, from_numpy_dtype, get_default_dtype, int64
from ...random import integers, rejection, sampling
from ...random.default import default_generator
from ...random.generator import Generator
from ...random.laws import Law, draw
from ..rows import Prepared, taking
from ..windows import Ints
from . import AT_ONCE, CPU_KERNELS

#: A law for a dtype and parameters.
LawOf = Callable[..., Law]
FEW = 1 << 14  #: most elements that are drawn in one call


def reals_of(out: np.ndarray) -> np.ndarray:
    """Return an array of twice as many real numbers, if they are complex."""
    kind = out.dtype.kind
    is_complex = kind == "c" or (kind not in "fiub" and out.dtype.name == "complex32")  # ml_dtypes chooses its kind
    return out[..., None].view(f"f{out.itemsize // 2}") if is_complex else out


def put(out: np.ndarray, generator: Generator | None, law: LawOf, *parameters: Any) -> np.ndarray:
    """Fill ``out`` with numbers of a law."""
    reals = reals_of(out)
    sampling.fill(reals, partial(draw, generator or default_generator, reals.size, law(reals.dtype, *parameters)))
    return out


def drawn(law: LawOf, *defaults: Any) -> Prepared:
    """Return a row that fills an array with numbers; ``defaults`` are those of the law's parameters."""
    def plain(out: np.ndarray, *given: Any) -> np.ndarray:
        *parameters, generator = (*given, *(*defaults, None)[len(given):])
        return put(out, generator, law, *parameters)

    def prepare(out: np.ndarray, *given: Any) -> Callable[[np.ndarray], None] | None:
        *parameters, generator = (*given, *(*defaults, None)[len(given):])
        if not is_settled(out, generator):
            return None
        return partial(writing, out.shape, partial(draw, default_generator, out.size, law(out.dtype, *parameters)))

    return Prepared(prepare, 1, plain)


def is_settled(out: np.ndarray, generator: Generator | None) -> bool:
    """Return True for few real numbers of a contiguous array, from the default generator."""
    return generator is None and few(out.shape) > 0 and out.flags.c_contiguous and reals_of(out) is out


def writing(shape: Ints, sample: Callable[[], np.ndarray], out: np.ndarray) -> None:
    """Fill an array with the numbers of a sample."""
    out[...] = sample().reshape(shape)


def normal_(out: np.ndarray, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> np.ndarray:
    reals = reals_of(out)
    if reals is not out:  # both parts share the variance
        std /= math.sqrt(2)
    sampling.fill(reals, partial(sampling.normal, generator or default_generator, reals.size, reals.dtype, mean, std,
                                 out.flags.c_contiguous))
    return out


def log_normal_(out: np.ndarray, mean: float = 1.0, std: float = 2.0, generator: Generator | None = None) -> np.ndarray:
    values = sampling.log_normal(generator or default_generator, out.size, out.dtype, mean, std)
    sampling.fill(out, lambda into: values)
    return out


def prepare_normal(out: np.ndarray, mean: float = 0.0, std: float = 1.0,
                   generator: Generator | None = None) -> Callable[[np.ndarray], None] | None:
    if not is_settled(out, generator):
        return None
    return partial(writing, out.shape, partial(sampling.normal, default_generator, out.size, out.dtype, mean, std))


def bernoulli_tensor(out: np.ndarray, p: np.ndarray, generator: Generator | None = None) -> np.ndarray:
    p = np.broadcast_to(p, out.shape).transpose(sampling.memory_order(out))
    sampling.fill(out, partial(sampling.bernoulli_tensor, generator or default_generator, p))
    return out


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
        sampling.fill(mask, partial(draw, default_generator, mask.size, sampling.bernoulli(1 - p)))
    out = x * mask
    return np.multiply(out, x.dtype.type(0.0 if p == 1 else 1 / (1 - p)), out), mask


def prepare_bernoulli(p: np.ndarray, generator: Generator | None = None) -> Callable[[np.ndarray], np.ndarray] | None:
    """Prepare to draw few zeros and ones, by one comparison if all probabilities are in range."""
    if generator is not None or not few(p.shape) or p.dtype.char not in "fd" or not p.flags.c_contiguous:
        return None
    law, bits, most = sampling.standard_uniform(p.dtype), np.dtype(f"u{p.itemsize}"), p.dtype.type(1).view(
        f"u{p.itemsize}")

    def run(p: np.ndarray) -> np.ndarray:
        if p.view(bits).max() > most:  # a sign is the highest bit, and NaN has the highest exponent
            return bernoulli(p)
        return (draw(default_generator, p.size, law).reshape(p.shape) < p).astype(p.dtype)

    return run


def bernoulli(p: np.ndarray, generator: Generator | None = None) -> np.ndarray:
    return bernoulli_tensor(np.empty(p.shape, p.dtype), p, generator)


# -- composites ------------------------------------------------------------------------------------------------------

def few(size: Ints) -> int:
    """Return the number of elements, or 0 if they are many."""
    count = prod(size)
    return count if count <= FEW else 0


def numbers(bind: Callable[[int, np.dtype], Callable[[], np.ndarray]]) -> Callable[..., Any]:
    """Return a function that prepares drawing a few numbers from the default generator, given what draws so many of a
    dtype.
    """
    def prepare(size: Ints, dtype: DType | None = None, *options: Any) -> Callable[[], np.ndarray] | None:
        kind, count = (dtype or get_default_dtype()).np, few(size)
        if kind.char not in "fd" or not count:
            return None
        sample = bind(count, kind)
        return sample if len(size) == 1 else lambda: sample().reshape(size)

    return prepare


def numbers_like(bind: Callable[[int, np.dtype], Callable[[], np.ndarray]]) -> Callable[..., Any]:
    """Return a function that prepares drawing a few numbers in the shape and dtype of a contiguous array."""
    prepare = numbers(bind)

    def prepare_like(x: np.ndarray, dtype: DType | None = None, *options: Any) -> Callable[..., np.ndarray] | None:
        sample = prepare(x.shape, dtype or from_numpy_dtype(x.dtype)) if x.flags.c_contiguous else None
        return sample and (lambda x: sample())

    return prepare_like


def uniforms(count: int, kind: np.dtype) -> Callable[[], np.ndarray]:
    law = sampling.standard_uniform(kind)
    return lambda: draw(default_generator, count, law).copy()


def normals(count: int, kind: np.dtype) -> Callable[[], np.ndarray]:
    return lambda: sampling.normal(default_generator, count, kind).copy()


def normals_of(mean: float, std: float, size: Ints, generator: Any = None, dtype: DType | None = None,
               *options: Any) -> Callable[[], np.ndarray] | None:
    """Prepare to draw a few normal numbers of a mean and a deviation."""
    if generator is not None or not std >= 0:
        return None
    return numbers(lambda count, kind: lambda: sampling.normal(default_generator, count, kind, mean, std).copy())(
        size, dtype)


def randint(low: int, high: int, size: Ints, dtype: DType | None = None,
            *options: Any) -> Callable[[], np.ndarray] | None:
    count = few(size)
    if dtype not in (None, int64) or not -1 << 31 <= low < high < 1 << 31 or not count:
        return None
    law = integers.random_from_to(int64.np, low, high)
    return lambda: draw(default_generator, count, law).copy().reshape(size)


def randperm(n: int, dtype: DType | None = None, *options: Any) -> Callable[[], np.ndarray] | None:
    return None if dtype not in (None, int64) else lambda: integers.randperm(default_generator, n, int64.np)


@taking(2)
def normal(mean: Any, std: Any = 1.0, generator: Any = None) -> Callable[..., np.ndarray | None] | None:
    """Prepare to draw a few normal numbers of these means and deviations; negative ones are left to the composite."""
    varies = isinstance(std, np.ndarray)
    shape, kind = np.broadcast_shapes(np.shape(mean), np.shape(std)), (std if varies else mean).dtype
    if kind.char not in "fd" or not few(shape) or getattr(mean, "dtype", kind) != kind:
        return None

    def run(mean: Any, std: Any = 1.0) -> np.ndarray | None:
        if varies and not (std >= 0).all():
            return None
        values = sampling.normal(default_generator, prod(shape), kind, 0.0, 1.0 if varies else std).reshape(shape)
        values = values * std if varies else values.copy()
        values += mean
        return values

    return run


AT_ONCE.add(randperm)
AT_ONCE.update({
    "normal.Tensor_Tensor": normal,
    "normal.Tensor_float": normal,
    "normal.float_Tensor": normal,
    "normal.float_float": normals_of,
    "rand": numbers(uniforms),
    "randn": numbers(normals),
    "rand_like": numbers_like(uniforms),
    "randn_like": numbers_like(normals),
    "randint": lambda high, size, *options: randint(0, high, size, *options),
    "randint.low": randint,
})
def planned(row: Callable[..., Any], count: int = 1) -> Prepared:
    """Return a row of so many arrays that draws from the default generator in plans."""
    return Prepared(lambda *args: lambda *arrays: row(*arrays, *args[count:]), count, row)


CPU_KERNELS.add(planned(multinomial), planned(binomial, 2), planned(native_dropout))
CPU_KERNELS.update({
    "normal_": Prepared(prepare_normal, 1, normal_),
    "uniform_": drawn(sampling.uniform, 0.0, 1.0),
    "random_": drawn(integers.random),
    "random_.from": drawn(integers.random_from_to, 0, None),
    "random_.to": drawn(lambda dtype, high: integers.random_from_to(dtype, 0, high), None),
    "bernoulli_.float": drawn(lambda dtype, p: sampling.bernoulli(p), 0.5),
    "bernoulli_.Tensor": bernoulli_tensor,
    "exponential_": drawn(sampling.exponential, 1.0),
    "geometric_": drawn(sampling.geometric, None),
    "cauchy_": drawn(sampling.cauchy, 0.0, 1.0),
    "log_normal_": log_normal_,
    "bernoulli": Prepared(prepare_bernoulli, 1, bernoulli),
    "bernoulli.p": planned(lambda x, p, generator=None: put(
        np.empty(x.shape, x.dtype), generator, lambda dtype: sampling.bernoulli(p))),
    "_standard_gamma": planned(standard_gamma),
    "_sample_dirichlet": planned(sample_dirichlet),
    "poisson": planned(lambda rate, generator=None: rejection.poisson(generator or default_generator, rate)),
    "randperm.generator": lambda n, generator, dtype=None, *options:
        integers.randperm(generator or default_generator, n, (dtype or int64).np),
})
