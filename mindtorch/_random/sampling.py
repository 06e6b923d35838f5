"""The samplers: words of a generator transformed into distributions, as PyTorch's CPU kernels do it.

Every sampler returns ``n`` new numbers in the order in which PyTorch draws them, as a flat array; :func:`fill` puts
them into an output of any strides. A docstring names the ``at::`` distribution or kernel that a sampler mirrors.
"""
from __future__ import annotations

import math
import warnings

import numpy as np

from . import box_muller
from .generator import Generator
from .numerics import affine, cast, libm

_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
# (significant digits in base 2, largest finite value, name in messages) of the floating point dtypes
_FLOATS = {
    "float16": (11, 65504.0, "c10::Half"),
    "bfloat16": (8, 3.3895313892515355e38, "c10::BFloat16"),
    "float32": (24, 3.4028234663852886e38, "float"),
    "float64": (53, 1.7976931348623157e308, "double"),
}
_C_NAMES = {"bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int",
            "int64": "long"}


def fill(out: np.ndarray, values: np.ndarray) -> None:
    """Write ``values`` into ``out`` in the order of its memory, as ``TensorIterator`` visits an output."""
    out = in_memory_order(out)
    out[...] = values.reshape(out.shape)


def in_memory_order(out: np.ndarray) -> np.ndarray:
    """The view of ``out`` with its dimensions sorted by stride, the largest first."""
    return out.transpose(sorted(range(out.ndim), key=lambda d: -out.strides[d]))


# Uniform and normal ------------------------------------------------------------------------------------------


def standard_uniform(generator: Generator, n: int, dtype: np.dtype) -> np.ndarray:
    """Uniform numbers in [0, 1), float32 of 24 random bits or float64 of 53 (``at::uniform_real_distribution``)."""
    if dtype == np.float32:
        words = generator.random(n)
        words &= np.uint32(2**24 - 1)
        return words.view(np.int32).astype(np.float32) * np.float32(2.0**-24)
    words64 = generator.random64(n)
    words64 &= np.uint64(2**53 - 1)
    return words64.view(np.int64) * 2.0**-53


def uniform(generator: Generator, n: int, dtype: np.dtype, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """Uniform numbers in [low, high) (``uniform_``, ``at::native::templates::cpu::uniform_kernel``).

    Raises:
        RuntimeError: if a bound is not finite in ``dtype``, low > high, or high - low is not finite.
    """
    _, largest, name = _FLOATS[dtype.name]
    for bound, value in (("from", low), ("to", high)):
        if not abs(value) <= largest:
            raise RuntimeError(f"{bound} is out of bounds for {name}: uniform_ got {bound}={value:g}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > largest:
        raise RuntimeError(f"uniform_ expects to-from <= std::numeric_limits<{name}>::max(), but found to={high:g}"
                           f" and from={low:g} which result in to-from to exceed the limit")
    compute = _compute_dtype(dtype)
    start, stop = compute.type(low), compute.type(high)
    values = cast(affine(standard_uniform(generator, n, compute), stop - start, start), dtype)
    np.copyto(values, dtype.type(start), where=values == dtype.type(stop))  # those rounded up to the excluded bound
    return values


def normal(generator: Generator, n: int, dtype: np.dtype, mean: float = 0.0, std: float = 1.0,
           contiguous: bool = True) -> np.ndarray:
    """Normal numbers (``normal_``, ``at::native::templates::cpu::normal_kernel``).

    16 and more for a contiguous output come from Box-Muller on blocks of 16, all others from pairs, whose second
    number the generator keeps for the next draw.

    Raises:
        RuntimeError: if std < 0.
    """
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if n < 16 or not contiguous:
        return cast(_normal_pairs(generator, n, mean, std), dtype)
    return cast(affine(_normal_blocks(generator, n, dtype), std, mean), dtype)


def log_normal(generator: Generator, n: int, dtype: np.dtype, mean: float = 1.0, std: float = 2.0) -> np.ndarray:
    """Exponentials of normal numbers (``log_normal_``, ``at::lognormal_distribution<double>``).

    Raises:
        RuntimeError: if std <= 0.
    """
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    return cast(libm(np.exp, _normal_pairs(generator, n, mean, std), dtype), dtype)


def _normal_blocks(generator: Generator, n: int, dtype: np.dtype) -> np.ndarray:
    """Standard normals; where n is no multiple of 16, the last 16 are drawn anew (``normal_fill``)."""
    compute = _compute_dtype(dtype)
    tail = n % 16
    discarded = tail if compute == dtype else 0  # of a half dtype, only whole blocks are drawn
    u = standard_uniform(generator, n - tail + discarded + (16 if tail else 0), compute)
    values = np.empty(n, compute)
    values[:n - tail] = box_muller.blocks(u[:n - tail].reshape(-1, 16)).ravel()
    if tail:
        values[n - 16:] = box_muller.blocks(u[-16:].reshape(1, 16)).ravel()
    return values


def _normal_pairs(generator: Generator, n: int, mean: float, std: float) -> np.ndarray:
    """Normals in float64, one after the other (``at::normal_distribution<double>``)."""
    with generator.lock:
        kept = [] if generator.next_normal is None else [generator.next_normal]
        u = standard_uniform(generator, 2 * max(0, (n - len(kept) + 1) // 2), _FLOAT64).reshape(-1, 2)
        radius, angle = np.sqrt(-2 * libm(np.log1p, -u[:, 1], _FLOAT64)), box_muller.TWO_PI * u[:, 0]
        pairs = np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1)
        values = np.concatenate((kept, pairs.ravel()))
        if n:
            generator.next_normal = float(values[n]) if len(values) > n else None
    return affine(values[:n], std, mean)


# Other continuous distributions and the geometric, from one float64 uniform each ------------------------------


def exponential(generator: Generator, n: int, dtype: np.dtype, rate: float = 1.0) -> np.ndarray:
    """Exponential numbers (``exponential_``, ``at::exponential_distribution<double>``).

    Raises:
        RuntimeError: if rate <= 0.
    """
    if not rate > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
    u = standard_uniform(generator, n, _FLOAT64)
    return cast(-1.0 / rate * libm(np.log1p, -u, dtype), dtype)


def cauchy(generator: Generator, n: int, dtype: np.dtype, median: float = 0.0, sigma: float = 1.0) -> np.ndarray:
    """Cauchy numbers (``cauchy_``, ``at::cauchy_distribution<double>``).

    Raises:
        RuntimeError: if sigma <= 0.
    """
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    u = standard_uniform(generator, n, _FLOAT64)
    return cast(affine(libm(np.tan, math.pi * (u - 0.5), dtype), sigma, median), dtype)


def geometric(generator: Generator, n: int, dtype: np.dtype, p: float) -> np.ndarray:
    """Numbers of trials up to the first success (``geometric_``, ``at::geometric_distribution<double>``).

    Raises:
        RuntimeError: if p is not in (0, 1).
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    with np.errstate(divide="ignore"):  # log(0) is -inf
        return cast(np.ceil(np.log(standard_uniform(generator, n, _FLOAT64)) / math.log1p(-p)), dtype)


# Discrete distributions --------------------------------------------------------------------------------------


def bernoulli(generator: Generator, n: int, p: float = 0.5) -> np.ndarray:
    """Booleans, true with probability p (``bernoulli_(p)``, ``at::bernoulli_distribution<double>``).

    Raises:
        RuntimeError: if p is not in [0, 1].
    """
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return standard_uniform(generator, n, _FLOAT64) < p


def bernoulli_tensor(generator: Generator, p: np.ndarray) -> np.ndarray:
    """Booleans, true with the probabilities of a floating point array (``bernoulli_(Tensor p)``), in its order.

    Raises:
        RuntimeError: if a probability is not in [0, 1].
    """
    if not np.all((p >= 0) & (p <= 1)):
        raise RuntimeError("bernoulli: Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    compute = _compute_dtype(p.dtype)
    return standard_uniform(generator, p.size, compute) < p.ravel().astype(compute, copy=False)


def random(generator: Generator, n: int, dtype: np.dtype) -> np.ndarray:
    """Integers from 0 to the dtype's largest, or to 2**digits of a float (``at::uniform_int_distribution``)."""
    if dtype == np.bool_:
        values = 2
    elif dtype.name in _FLOATS:
        values = 2 ** _FLOATS[dtype.name][0] + 1
    else:
        values = np.iinfo(dtype).max + 1
    return _integers(generator, n, dtype, 0, values, wide=dtype.name in ("int64", "float64"))


def random_from_to(generator: Generator, n: int, dtype: np.dtype, low: int, high: int | None) -> np.ndarray:
    """Integers in [low, high), or from low to the largest (``random_(from, to)``, ``randint``).

    Mirrors ``at::native::templates::random_from_to_impl`` and ``at::uniform_int_from_to_distribution``.

    Raises:
        RuntimeError: if low >= high, or a bound does not fit into ``dtype``.
    """
    if high is None and low == _INT64_MIN:
        if dtype.name not in ("int64", "float64", "float32", "bfloat16"):
            raise RuntimeError("random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16,"
                               f" but got {dtype.name}")
        return cast(generator.random64(n).view(np.int64), dtype)
    low, last = _integer_bounds(dtype, low, high)
    return _integers(generator, n, dtype, low, last - low + 1, wide=last - low + 1 >= 2**28)


def randperm(generator: Generator, n: int, dtype: np.dtype) -> np.ndarray:
    """A permutation of 0 to n - 1 (``randperm``): Fisher and Yates's exchanges, from the first element on.

    Raises:
        RuntimeError: if ``dtype`` cannot hold n, or n is 2**32 / 20 or more, where PyTorch uses another method.
    """
    if dtype.name in ("float16", "float32") and n > 2 ** _FLOATS[dtype.name][0] + 1:
        raise RuntimeError(f"randperm: n cannot be greater than {2 ** _FLOATS[dtype.name][0] + 1} for {dtype.name},"
                           f" but got n={n}")
    if dtype.kind in "iu" and n > np.iinfo(dtype).max + 1:
        raise RuntimeError(f"randperm: value cannot be converted to type {dtype.name}_t without overflow: n={n}")
    if n >= 2**32 // 20:
        raise RuntimeError(f"randperm: expected n < {2**32 // 20}, but got n={n}")
    order = list(range(n))
    first = np.arange(max(n - 1, 0), dtype=np.uint32)
    for i, j in enumerate((first + generator.random(first.size) % (np.uint32(n) - first)).tolist()):
        order[i], order[j] = order[j], order[i]
    return cast(np.array(order, np.int64), dtype)


def multinomial(generator: Generator, probabilities: np.ndarray, n: int, replacement: bool) -> np.ndarray:
    """``n`` categories of each row of a floating point array of shape (rows, categories), as int64 (rows, n).

    Mirrors ``at::native::multinomial_out``. Without replacement, categories of equal keys (zero probabilities
    among them) come in the order of their index.

    Raises:
        RuntimeError: for negative, infinite or nan probabilities, or a row of zeros.
    """
    if not np.all((probabilities >= 0) & (probabilities < np.inf)):
        raise RuntimeError("multinomial: probability tensor contains either `inf`, `nan` or element < 0")
    if not np.all(probabilities.sum(axis=1) > 0):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if replacement and n > 1:
        return _multinomial_with_replacement(generator, probabilities, n)
    # Of the keys p / q with exponential q, the n largest are a sample (Gumbel's trick).
    keys = np.empty_like(probabilities)
    fill(keys, exponential(generator, keys.size, keys.dtype))
    with np.errstate(divide="ignore", invalid="ignore"):
        keys = (probabilities / keys).astype(np.float64)
    return keys.argmax(axis=1)[:, None] if n == 1 else np.argsort(-keys, axis=1, kind="stable")[:, :n]


def _multinomial_with_replacement(generator: Generator, probabilities: np.ndarray, n: int) -> np.ndarray:
    cumulative = np.cumsum(probabilities, axis=1, dtype=_compute_dtype(probabilities.dtype))
    cumulative /= cumulative[:, -1:].copy()
    cumulative[:, -1] = 1
    u = standard_uniform(generator, len(cumulative) * n, _FLOAT64).reshape(len(cumulative), n)
    samples = np.empty(u.shape, np.int64)
    for row, row_cumulative, row_u in zip(samples, cumulative.astype(np.float64), u, strict=True):
        row[:] = row_cumulative.searchsorted(row_u)
    return samples


def _integers(generator: Generator, n: int, dtype: np.dtype, low: int, count: int, wide: bool) -> np.ndarray:
    """``low + word % count``, of words of 64 bits if ``wide``, else of 32."""
    words = generator.random64(n) if wide else generator.random(n)
    values = (words % words.dtype.type(count)).astype(np.uint64, copy=False)
    values += np.uint64(low % 2**64)  # modulo 2**64, as in C
    return cast(values.view(np.int64), dtype)


def _integer_bounds(dtype: np.dtype, low: int, high: int | None) -> tuple[int, int]:
    """The least and the greatest integer to draw, moved inwards to numbers that a floating point dtype has."""
    if high is not None and low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if dtype.name not in _FLOATS:
        least, most = (0, 1) if dtype == np.bool_ else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
        last = most if high is None else high - 1
        _check_in_range(dtype, low, last, least, most, _C_NAMES[dtype.name])
        return low, last
    digits, largest, name = _FLOATS[dtype.name]
    low = _towards_representable(low, +1, digits, dtype)
    last = 2**digits if high is None else _towards_representable(high, -1, digits, dtype) - 1
    if low > last or (high is None and low == last):
        raise RuntimeError("random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                           f"but got from={low} >= to={last + 1}")
    _check_in_range(dtype, low, last, -largest, largest, name)
    for bound, value in (("from", low), ("to - 1", last)):
        if abs(value) > 2**digits:
            warnings.warn(f"{bound} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {name}"
                          " can support discrete uniform distribution only within this range.", stacklevel=3)
    return low, last


def _check_in_range(dtype: np.dtype, low: int, last: int, least: float, most: float, name: str) -> None:
    for bound, value in (("from", low), ("to - 1", last)):
        if not least <= value <= most:
            raise RuntimeError(f"{bound} is out of bounds for {name}: random_ on {dtype.name} got {bound}={value}")


def _towards_representable(bound: int, step: int, digits: int, dtype: np.dtype) -> int:
    """``bound``, or the next integer in the direction of ``step`` whose neighbour survives the cast to ``dtype``.

    Mirrors ``at::native::templates::update_from`` (step +1) and ``update_to`` (step -1).
    """
    with np.errstate(invalid="ignore"):  # what does not fit becomes -2**63, as in C
        neighbour = int(cast(np.array(bound + step), dtype).astype(np.int64))
    if not (neighbour < bound if step > 0 else neighbour >= bound):
        return bound
    return neighbour + step * 2 ** (abs(bound + step).bit_length() - digits)


def _compute_dtype(dtype: np.dtype) -> np.dtype:
    """``at::opmath_type``: half dtypes are computed in float32."""
    return _FLOAT32 if dtype.itemsize == 2 else dtype
