"""CPU kernels of arithmetic, elementary functions, rounding and complex numbers.

Operands arrive in the dtype of the computation, as arrays, or, on fast paths, numbers.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from math import e, log2, pi
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.errors import C_NAMES, check
from ...._base.loops.chains import Chained, has_vectors
from ...._storage import allocate
from ...common.blocks import BLOCK, LARGE, each_block
from ...common.elements import Looped, by_loop, chained, looped, number, of_bits, of_few, steps_of
from ...common.half import number_in
from ...common.pointwise import PreparedUfunc
from . import CPU_KERNELS
from .comparison import of_kinds

FEW = 1 << 8  #: elements of an array for which several NumPy calls repay a slow one
MOST = 3e38  #: a number that float32 holds
#: The factors that turn exponents of e into exponents of 2, by sign.
LOG2_E = {sign: np.asarray(sign * log2(e), np.float32) for sign in (1, -1)}


def dtype_of(x: Any, y: Any) -> np.dtype:
    """Return the common dtype of two operands; one of them may be a number."""
    found: np.dtype = (x if x.__class__ is np.ndarray else y).dtype
    return found


def refuse_zero(x: Any, y: Any) -> None:
    """Raise PyTorch's error for an integer divisor of 0."""
    if (np.count_nonzero(y) < y.size if y.__class__ is np.ndarray else not y) and np.size(x):
        raise RuntimeError("ZeroDivisionError")


def is_idle(x: Any, factor: Any) -> bool:
    """Return True if a factor is 1 and leaves each element as it is: complex infinities become NaN."""
    return bool(factor == 1) and ((x.__class__ is np.ndarray and x.dtype.kind != "c") or not np.iscomplexobj(x)
                                  or bool(np.isfinite(x).all()))


def times(x: Any, factor: Any) -> Any:
    """Multiply by ``alpha`` in the array's dtype, in which integers wrap."""
    return x if is_idle(x, factor) else x * number_in(factor, x.dtype)


def subtrahend(x: Any, factor: Any) -> Any:
    """Multiply by ``alpha``. PyTorch adds ``-alpha`` times the elements, and the integer 0 has no sign to change."""
    return times(x, factor) if factor or not isinstance(factor, int) else np.negative(times(x, factor))


def held(number: Any, dtype: np.dtype) -> np.ndarray:
    """Convert a number. Raises PyTorch's RuntimeError if it is finite, and the dtype cannot hold it."""
    if number.__class__ is np.ndarray:
        return held_as.__wrapped__(number, None, dtype)
    return held_as(number, None if number else str(number), dtype)  # 0 and -0 are equal


@lru_cache(256)
def held_as(number: Any, zero: str | None, dtype: np.dtype) -> np.ndarray:
    with np.errstate(over="ignore"):
        given = number_in(number, dtype)
    check(np.isfinite(given) or not np.isfinite(number),
          lambda: f"value cannot be converted to type {C_NAMES[dtype.name]} without overflow")
    return given


def scaled(x: Any, factor: Any) -> Any:
    """Multiply the first factor or dividend by ``value``."""
    return x if is_idle(x, factor) else x * held(factor, x.dtype)


subtraction = PreparedUfunc(np.subtract, subtrahend)


def subtracted(dtype: np.dtype, size: int, alpha: Any = 1) -> Callable[..., Any] | None:
    """Return the function of a subtrahend and what it is subtracted from."""
    subtract = subtraction.settle(dtype, size, alpha)
    return None if subtract is None else lambda x, y: subtract(y, x)


def with_factor(name: str, function: Callable[..., Any]) -> Looped:
    """Return the row of a function of three arrays and a factor."""
    row = by_loop(name, function).function

    def scaling(x: Any, first: Any, second: Any, value: Any = 1) -> Any:
        if value.__class__ is not float or x.dtype.char not in "fd" or not -MOST < value < MOST:
            if value.__class__ is int and value == 1 and x.size < FEW:
                return function(x, first, second)  # two calls
            value = held(value, x.dtype)
        return row(x, first, second, value)

    family = loops.elements[name].loops

    def settle(dtype: np.dtype, size: int, value: Any = 1) -> Callable[..., Any] | None:
        factor = held(value, dtype)
        if value.__class__ is int and value == 1 and dtype.kind != "c":
            return function
        numpy = lambda x, first, second: function(x, np.multiply(first, factor), second)  # noqa: E731
        return of_few(family, numpy, dtype, size, factor) or numpy

    steps = steps_of(family, function)
    return Looped(scaling, settle=settle, steps=lambda x, first, second, value=1: steps(
        x, first, second, held(value, x.dtype)))


def divided_by(function: Callable[[Any, Any], Any], family: dict[str, loops.Loop]) -> Looped:
    """Return a division that rejects an integer divisor of 0, by a loop of arrays of the dtypes that it has."""

    def row(x: Any, y: Any) -> Any:
        if (dtype := dtype_of(x, y)).kind in "iu":
            refuse_zero(x, y)
        if x.__class__ is np.ndarray and dtype.char in family and x.size:
            found = looped(family, (x, y if y.__class__ is np.ndarray else number(y, dtype)))
            if found is not None:
                return found
        return function(x, y)

    def settle(dtype: np.dtype, size: int) -> Callable[..., Any] | None:
        plain = np.floor_divide if function is floored and (dtype.itemsize > 2 or dtype.kind in "biu") else (
            truncated_quotient if function is truncated and dtype.kind not in "iu" else function)
        run = of_few(family, plain, dtype, size) or plain
        if dtype.kind not in "iu":
            return run

        def of_integers(x: Any, y: Any) -> Any:
            refuse_zero(x, y)
            return run(x, y)

        return of_integers

    return Looped(row, settle=settle, steps=steps_of(family, function))


EXACT_QUOTIENT = 16  #: up to which integers keep their distance after two roundings to half precision


def truncated(x: Any, y: Any) -> Any:
    if dtype_of(x, y).kind in "iu":
        return np.floor_divide(x - np.fmod(x, y), y)
    return truncated_quotient(x, y)


def truncated_quotient(x: Any, y: Any) -> Any:
    return np.trunc(np.divide(x, y))


def floored(x: Any, y: Any) -> Any:
    """Divide and round down. Half precision is rounded after each step, as in PyTorch's loops."""
    dtype = dtype_of(x, y)
    if dtype.itemsize > 2 or dtype.kind in "biu":
        return np.floor_divide(x, y)
    whole = np.floor_divide(x, y, dtype=np.float32)  # of small quotients, the steps' rounding changes nothing
    if np.count_nonzero(np.abs(whole) <= EXACT_QUOTIENT) == whole.size:
        return whole.astype(dtype)
    rest, exact = np.fmod(x, y), x / y
    quotient = (x - rest) / y
    quotient = np.where((rest != 0) & ((y < 0) != (rest < 0)), quotient - dtype.type(1), quotient)
    below = np.floor(quotient)
    rounded = np.where(quotient - below > 0.5, below + dtype.type(1), below)
    return np.where(y == 0, exact, np.where(quotient == 0, np.copysign(quotient, exact), rounded))


def signed_remainder(x: Any, y: Any) -> Any:
    """Divide and return what is left, with the sign of the divisor, or of the dividend where it is zero."""
    found = np.remainder(x, y)
    if dtype_of(x, y).kind in "iu" or not np.count_nonzero(zeros := np.equal(found, 0)):
        return found
    return np.copysign(found, x, out=np.asarray(found), where=zeros)


remainder, fmod = divided_by(signed_remainder, loops.remainder.loops), divided_by(np.fmod, loops.fmod.loops)
floor_divide, trunc_divide = (
    divided_by(floored, loops.floor_divide.loops), divided_by(truncated, loops.trunc_divide.loops))
DIVISIONS = {None: Looped(np.divide, settle=lambda *_: np.divide), "floor": floor_divide, "trunc": trunc_divide}


def power(x: Any, y: Any) -> Any:
    """Raise to a power. Negative powers of integers are 0, except for 1 and -1. Powers of complex numbers are ``exp(y *
    log(x))`` at zeros and infinities, where NumPy's rules differ.
    """
    if dtype_of(x, y).kind not in "iu" or (y.min(initial=0) if y.__class__ is np.ndarray else y) >= 0:
        raised = np.power(x, y)
        if raised.dtype.kind == "c":
            special = np.equal(x, 0) | ~np.isfinite(x) | ~np.isfinite(y)
            raised = np.where(special, np.exp(np.log(x) * y), raised) if special.any() else raised
        return raised
    of_unit = np.where(x == 1, 1, np.where(x == -1, 1 - 2 * (y & 1), 0))
    return np.where(y < 0, of_unit, np.power(x, np.maximum(y, 0)))


product_of_halves = of_bits(Chained(lambda x, y: x * y, "E", True), np.multiply)


def product(x: Any, y: Any, out: Any) -> Any:
    """Multiply two arrays into a third, or a new one."""
    return product_of_halves(x, y) if x.dtype.itemsize == 2 and out is None else np.multiply(x, y, out)


#: Exponents whose powers round differently from ``exp(y * log(x))``. PyTorch has C's ``pow`` for float16: it takes
#: other roots of -0 and of negative infinity.
EXACT_POWERS: dict[Any, Callable[..., Any]] = {
    0.5: np.sqrt, 2: np.square, 3: lambda x, out: product(product(x, x, out), x, out),
    -0.5: lambda x, out: np.divide(1, np.sqrt(x, out), out), -1: lambda x, out: np.divide(1, x, out),
    -2: lambda x, out: np.divide(1, np.multiply(x, x, out), out),
}


def power_of_number(x: Any, y: Any, out: Any = None) -> Any:
    exact = EXACT_POWERS.get(y if y.__class__ is int or y.__class__ is float else np.asarray(y).item())
    return np.power(x, y, out) if exact is None or x.dtype.kind in "iu" or x.dtype.char == "e" else exact(x, out)


def rsqrt(x: Any) -> Any:
    return np.reciprocal(np.sqrt(x)) if x.dtype.kind == "f" else 1 / np.sqrt(x)


def sign_of(x: Any) -> Any:
    """Return the sign, which is 0 for NaN."""
    if x.dtype.kind == "f":
        return np.subtract(np.greater(x, 0), np.less(x, 0), dtype=x.dtype)
    return x.copy() if x.dtype.kind == "b" else np.sign(x)


sign = by_loop("sign", sign_of)


def sgn_of_complex(x: Any) -> Any:
    return np.where(np.isinf(np.abs(x)), x.dtype.type(complex(np.nan, np.nan)), np.sign(x))


complex_sgn = chained(sgn_of_complex, kinds="F")
sgn = Looped(lambda x: complex_sgn(x) if x.dtype.kind == "c" else sign(x), steps=sign.steps,
             settle=lambda dtype, size: (complex_sgn if dtype.kind == "c" else sign).settle(dtype, size))


def ldexp(x: Any, exponent: Any) -> Any:
    """Multiply by powers of two: exactly for integer exponents of floats, else rounded to the exponents' dtype."""
    if exponent.dtype.kind in "iu" and x.dtype.kind == "f":
        return np.ldexp(x, exponent)
    if not exponent.ndim or exponent.dtype.kind in "biu":
        exponent = exponent.astype(np.result_type(x.dtype, exponent.dtype))
    return x * np.power(exponent.dtype.type(2), exponent).astype(x.dtype)


def sinc(x: Any) -> Any:
    y = x * pi
    return np.where(x == 0, 1, np.sin(y) / y)


def in_blocks(function: Callable[..., Any], count: int = 1, writes: bool = False, loop: loops.Loop | None = None,
              settings: tuple[Any, ...] = ()) -> Callable[..., Any]:
    """Wrap a function of many passes to run on large arrays, its first ``count`` arguments, in blocks that fit the
    cache.

    With ``writes``, the function takes an ``out`` array, which saves a pass and memory; compiled kernels call the row's
    ``into``. ``loop`` computes arrays of its dtype if the other arguments are absent or equal ``settings``.
    """
    def by_loop(args: Any, out: np.ndarray) -> bool:
        """Compute by the loop if it takes the arguments; return whether it did."""
        arrays = *args[:count], out
        if loop is None or args[count:] not in ((), settings) or any(
                a.dtype != loop.dtype or a.shape != out.shape or not a.flags.c_contiguous for a in arrays):
            return False
        compiled = loop.compiled(out.size)
        if compiled is None:
            return False
        *flat, target = [a.reshape(-1) for a in arrays]
        each_block(lambda part: compiled(*[a[part] for a in flat], target[part]), out.size, LARGE, out.size)
        return True

    @wraps(function)
    def row(*args: Any) -> Any:
        size = args[0].size
        if size < loops.FEW or (size <= BLOCK and (loop is None or size < loop.least)):
            return function(*args)
        arrays = args[:count]
        shape = arrays[0].shape
        if (loop is not None and size < LARGE and args[count:] in ((), settings) and loop.taking(*arrays) is not None
                and all([a.shape == shape for a in arrays])):  # noqa: C419 - a generator is slower
            return loop.ufunc(size)(*arrays)  # type: ignore[misc]
        if any(a.shape != shape or not a.flags.c_contiguous for a in arrays):
            if loop is None or count > 1:
                return function(*args)
            x, *rest = args
            return row(x.T, *rest).T if x.flags.f_contiguous else row(np.ascontiguousarray(x), *rest)
        out = allocate(shape, arrays[0].dtype)
        if by_loop(args, out):
            return out
        target, flat = out.reshape(-1), [a.reshape(-1) for a in arrays]

        def work(part: slice) -> None:
            blocks = [a[part] for a in flat]
            if writes:
                function(*blocks, *args[count:], out=target[part])
            else:
                target[part] = function(*blocks, *args[count:])

        each_block(work, out.size, BLOCK, out.size)
        return out

    def into(*args: Any, out: np.ndarray) -> None:
        if loop is None or out.size < loop.least or not by_loop(args, out):
            function(*args, out=out)

    row.into = into if writes else None  # type: ignore[attr-defined]
    return row


def exp_of(x: Any, out: Any, sign: int = 1) -> Any:
    """Compute ``exp(x)``, or ``exp(-x)`` with ``sign=-1``, into ``out``, which may be ``x``, or into a new array.

    If NumPy vectorises ``exp2``, it takes half the time of ``exp``. Rounding the product before it costs a relative
    error of at most 7e-7 for ``x`` up to 22, and 3e-6 at the ends of float32.
    """
    if out is None and not x.ndim:  # NumPy would return a number
        out = np.empty((), x.dtype)
    if x.dtype == np.float32 and has_vectors("exp2"):
        out = np.multiply(x, LOG2_E[sign], out)
        return np.exp2(out, out)
    if sign < 0:
        x = out = np.negative(x, out)
    return np.exp(x, out)


def sigmoid_of(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


sigmoid = chained(sigmoid_of, 1, in_blocks(sigmoid_of))


def sum_of_powers(exp: Any, scale: float, plain: Callable[..., Any] | None = None) -> Looped:
    """Return the row of ``log(exp(x) + exp(y))`` to a base of which ``scale`` is the inverse natural logarithm; of
    complex numbers, by ``plain``.
    """
    def log_of_sum(x: Any, y: Any) -> Any:
        if x.dtype.kind == "c" and plain is not None:
            return plain(x, y)
        away = np.where(x == y, 0, x - y)  # the same infinities are no distance apart; a NaN is in the maximum
        return np.maximum(x, y) + np.log1p(exp(-np.abs(away))) * scale

    return chained(log_of_sum, 2, in_blocks(log_of_sum, 2), "fd")


def logaddexp_of_complex(x: Any, y: Any) -> Any:
    larger, smaller = np.where(x.real >= y.real, x, y), np.where(x.real >= y.real, y, x)
    endless = np.isinf(larger.real) & (larger.real == smaller.real)
    with np.errstate(all="ignore"):
        at_infinity = np.where(larger.real < 0, smaller, np.log(np.exp(smaller) + np.exp(larger)))
        result = np.where(endless, at_infinity, larger + log1p(np.exp(smaller - larger)))
    return np.where(np.isnan(x) | np.isnan(y), complex(np.nan, np.nan), result)


logaddexp, logaddexp2 = sum_of_powers(np.exp, 1, logaddexp_of_complex), sum_of_powers(np.exp2, log2(e))


def log1p(x: Any) -> Any:
    """Compute ``log1p``. For small complex numbers, adding 1 first would round the real part away."""
    if x.dtype.kind != "c":
        return np.log1p(x)
    square = x.real * (2 + x.real) + x.imag * x.imag  # of |1 + x|, less 1
    result = np.asarray(np.log(1 + x))
    result.real = np.where(np.abs(x) < 0.5, np.log1p(square) / 2, result.real)
    return result


def round_to(x: Any, decimals: int) -> Any:
    power = 10.0 ** abs(decimals)
    return np.rint(x * power) / power if decimals >= 0 else np.rint(x / power) * power


def lerp(start: Any, end: Any, weight: Any) -> Any:
    """Interpolate from the nearer end, so that both ends are reached exactly."""
    if getattr(weight, "ndim", 0):
        far = np.greater_equal(abs(weight), 0.5)
        return (end - start) * (weight - far) + np.where(far, end, start)
    near, difference = abs(weight) < 0.5, end - start
    difference *= weight if near else weight - 1
    difference += start if near else end
    return difference


def unless_integer(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wrap a rounding to copy integers."""
    return wraps(function)(lambda x: x.copy() if x.dtype.kind in "iu" else function(x))


def angle(x: Any) -> Any:
    if x.dtype.kind == "c":
        return np.arctan2(x.imag, x.real)
    out = np.multiply(np.less(x, 0), x.dtype.type(pi), out=np.empty(x.shape, x.dtype))
    np.copyto(out, x, where=np.isnan(x))
    return out


def copysign(x: Any, y: Any) -> Any:
    """Join the bits of the number and of its sign: NumPy has no SIMD loop of it."""
    if x.__class__ is not np.ndarray or x.dtype.char not in "fdeE" or x.size <= FEW or np.result_type(x, y) != x.dtype:
        return np.copysign(x, y)
    dtype = np.dtype(f"u{x.itemsize}")
    sign = dtype.type(1 << 8 * x.itemsize - 1)
    signs = np.asarray(y, x.dtype).view(dtype) & sign
    out = x.view(dtype) & ~sign
    return (np.bitwise_or(out, signs, out) if signs.size == out.size else out | signs).view(x.dtype)


def polar(length: Any, angle: Any) -> Any:
    out = np.empty(np.broadcast_shapes(length.shape, angle.shape), f"c{2 * length.itemsize}")
    np.multiply(length, np.cos(angle), out.real)
    np.multiply(length, np.sin(angle), out.imag)
    return out


def complex_(real: Any, imag: Any) -> Any:
    shape = real.shape if real.shape == imag.shape else np.broadcast_shapes(real.shape, imag.shape)
    out = np.empty(shape, np.complex128 if real.dtype.char == "d" else np.complex64)
    out.real, out.imag = real, imag
    return out


CPU_KERNELS.add(np.sqrt, np.exp, np.exp2, np.expm1, np.log, np.log2,
                np.log10, log1p, np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh,
                np.gcd, np.lcm)
CPU_KERNELS.update({
    **{f"a{name[3:]}": getattr(np, name)
       for name in ("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "arctan2")},
    "hypot": np.hypot,
    "sign": sign,
    "sgn": sgn,
    "angle": by_loop("angle", angle, pi),
    "nextafter": by_loop("nextafter", np.nextafter),
    "logaddexp": logaddexp,
    "logaddexp2": logaddexp2,
    "add.Tensor": PreparedUfunc(np.add, times),
    "sub.Tensor": subtraction,
    **dict.fromkeys(("rsub.Tensor", "rsub.Scalar"), Looped(
        lambda x, y, alpha=1: np.subtract(y, subtrahend(x, alpha)), settle=subtracted,
        steps=lambda x, y, alpha=1: np.subtract(y, x * alpha if alpha != 1 else x))),
    "mul.Tensor": np.multiply,
    "div.Tensor": np.divide,
    "div.Tensor_mode": Looped(lambda x, y, rounding_mode=None: DIVISIONS[rounding_mode](x, y),
                              settle=lambda dtype, size, mode=None: DIVISIONS[mode].settle(dtype, size)),
    "floor_divide": floor_divide,
    "floor_divide.Scalar_Tensor": floor_divide,
    **dict.fromkeys(("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor"), remainder),
    "fmod.Tensor": fmod,
    "fmod.Scalar": fmod,
    "pow.Tensor_Tensor": power,
    "pow.Tensor_Scalar": in_blocks(power_of_number, writes=True, loop=loops.cube, settings=(3,)),
    "pow.Scalar": lambda x, y: np.ones_like(y) if x == 1 else power(x, y),
    "neg": np.negative,
    "deg2rad": lambda x: x * x.dtype.type(pi / 180),  # NumPy has no SIMD loop of it
    "rad2deg": lambda x: x * x.dtype.type(180 / pi),  # NumPy rounds the quotient otherwise
    "abs": np.absolute,
    "signbit": of_kinds("fiV", lambda x: np.signbit(x) if x.dtype.kind == "f" else np.less(x, 0), False),
    "reciprocal": lambda x: 1 / x,
    "rsqrt": in_blocks(rsqrt),
    "sigmoid": sigmoid,
    "sinc": chained(sinc),
    "sigmoid_backward": chained(lambda grad, output: grad * np.conj((1 - output) * output), 2),
    "tanh_backward": chained(lambda grad, output: grad * np.conj(1 - output * output), 2),
    "ceil": np.ceil,
    "floor": np.floor,
    "trunc": np.trunc,
    "round": unless_integer(np.rint),
    "round.decimals": chained(round_to, kinds="fd"),
    "frac": in_blocks(lambda x: x - np.trunc(x)),
    **dict.fromkeys(("copysign.Tensor", "copysign.Scalar"), by_loop("copysign", copysign)),
    "ldexp.Tensor": ldexp,
    "frexp.Tensor": np.frexp,
    "lerp.Tensor": by_loop("lerp", lerp),
    "lerp.Scalar": by_loop("lerp", lerp),
    "addcmul": with_factor("addcmul", lambda x, first, second, value=1: x + scaled(first, value) * second),
    "addcdiv": with_factor("addcdiv", lambda x, first, second, value=1: x + scaled(first, value) / second),
    "_conj_physical": lambda x: np.conjugate(x),  # np.conjugate changes the dtype of bools
    "polar": polar,
    "complex": complex_,
})
