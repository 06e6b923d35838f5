"""Uniform integers and permutations, as PyTorch's CPU kernels draw them; see :mod:`.sampling`."""
from __future__ import annotations

import warnings
from functools import cache, lru_cache

import numpy as np

from ..._base import loops
from .generator import Generator, of_64_bits
from .laws import BLOCK, LAWS, Law
from .numerics import cast, float_facts

_INT64_MIN = -(2**63)
_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)
_C_NAMES = {"uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int",
            "int64": "long", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long"}


@cache
def _integer_facts(dtype: np.dtype) -> tuple[int, int, str]:
    """Return the least and the greatest number of an integral dtype, and its name in C."""
    if dtype == np.bool_:
        return 0, 1, "bool"
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max), _C_NAMES[dtype.name]


def random(dtype: np.dtype) -> Law:
    """Integers from 0 to the dtype's largest; for floats, to 2**digits (``at::uniform_int_distribution``)."""
    if dtype == np.bool_:
        values = 2
    elif facts := float_facts(dtype):
        values = 2 ** facts[0] + 1
    else:
        values = _integer_facts(dtype)[1] + 1
    return _integers(dtype, 0, values, dtype in (_INT64, _FLOAT64))


def random_from_to(dtype: np.dtype, low: int = 0, high: int | None = None) -> Law:
    """Integers in [low, high), or from low to the largest (``random_(from, to)``, ``randint``).

    Mirrors ``at::native::templates::random_from_to_impl``, ``at::uniform_int_from_to_distribution`` and
    ``at::uniform_int_full_range_distribution``. Raises RuntimeError if low >= high, or a bound does not fit into
    ``dtype``.
    """
    if high is None and low == _INT64_MIN:
        if dtype.name not in ("int64", "float64", "float32", "bfloat16"):
            raise RuntimeError("random_full_64_bits_range_kernel_cpu handles only int64, double, float and"
                               f" bfloat16, but got {dtype.name}")
        return Law(2, lambda words: cast(of_64_bits(words).view(np.int64), dtype))
    low, last = _integer_bounds(dtype, low, high)
    return _integers(dtype, low, last - low + 1, last - low + 1 >= 2**28)


def randperm(generator: Generator, n: int, dtype: np.dtype) -> np.ndarray:
    """Return a permutation of 0 to n - 1 (``randperm``) by Fisher and Yates's exchanges, from the first element on."""
    limit = 2**32 // 20 - 1
    if dtype.kind in "iu":
        limit = min(limit, _integer_facts(dtype)[1] + 1)
    elif (facts := float_facts(dtype)) and dtype.kind == "f" and dtype != _FLOAT64:
        limit = min(limit, 2 ** facts[0] + 1)
    if n > limit:
        raise RuntimeError(f"randperm: n cannot be greater than {limit} for {dtype.name}, but got n={n}")
    values, loop = np.arange(n, dtype=np.int64), loops.exchange.compiled(loops.SLOWER * n)
    if loop is not None:
        with generator.lock:
            for start in range(0, n - 1, BLOCK):
                loop(generator.random(min(BLOCK, n - 1 - start)), values[start:])
        return cast(values, dtype)
    numbers = values.tolist()
    for place, word in enumerate(generator.random(max(n - 1, 0)).tolist()):
        partner = place + word % (n - place)
        numbers[place], numbers[partner] = numbers[partner], numbers[place]
    return cast(np.array(numbers, np.int64), dtype)


@lru_cache(LAWS)
def _integers(dtype: np.dtype, low: int, count: int, wide: bool) -> Law:
    """``low + word % count``, of words of 64 bits if ``wide``, else of 32."""
    def make(words: np.ndarray) -> np.ndarray:
        words = of_64_bits(words) if wide else words
        values = (words % words.dtype.type(count)).astype(np.uint64, copy=False)
        if low:
            values += np.uint64(low % 2**64)  # modulo 2**64, as in C
        return cast(values.view(np.int64), dtype)

    return Law(2 if wide else 1, make)


def _integer_bounds(dtype: np.dtype, low: int, high: int | None) -> tuple[int, int]:
    """Return the least and the greatest integer to draw, moved inwards to numbers that a float dtype has."""
    if high is not None and low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    facts = float_facts(dtype)
    if facts is None:
        least, most, name = _integer_facts(dtype)
        last = most if high is None else high - 1
        _check_in_range(dtype, low, last, least, most, name)
        return low, last
    digits, largest, name = facts
    low = _towards_representable(low, +1, digits, dtype)
    last = 2**digits if high is None else _towards_representable(high, -1, digits, dtype) - 1
    if low > last or (high is None and low == last):
        raise RuntimeError("random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                           f"but got from={low} >= to={last + 1}")
    _check_in_range(dtype, low, last, -largest, largest, name)
    for bound, value in (("from", low), ("to - 1", last)):
        if abs(value) > 2**digits:
            warnings.warn(f"{bound} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {name} "
                          "can support discrete uniform distribution only within this range. This warning will become "
                          "an error in version 1.7 release, please fix the code in advance", stacklevel=3)
    return low, last


def _check_in_range(dtype: np.dtype, low: int, last: int, least: float, most: float, name: str) -> None:
    for bound, value in (("from", low), ("to - 1", last)):
        if not least <= value <= most:
            raise RuntimeError(f"{bound} is out of bounds for {name}: random_ on {dtype.name} got {bound}={value}")


def _towards_representable(bound: int, step: int, digits: int, dtype: np.dtype) -> int:
    """Return ``bound``, or if its neighbour in the direction of ``step`` is lost in ``dtype``, one whose neighbour is
    not.

    Mirrors ``at::native::templates::update_from`` (step +1) and ``update_to`` (step -1).
    """
    with np.errstate(invalid="ignore"):  # what does not fit becomes -2**63, as in C
        neighbour = int(cast(np.array(bound + step), dtype).astype(np.int64))
    if not (neighbour < bound if step > 0 else neighbour >= bound):
        return bound
    return neighbour + step * 2 ** (abs(bound + step).bit_length() - digits)
