"""Powers, exponentials, activations, and the steps of optimizers."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from ..coefficients import ARTANH_ERF, ERF, ERF_FAR, ERF_NEAR, ERFINV, ERFINV_FAR, POWER
from .elements import of_each
from .random import log
from .writing import bits_of, f32, f64, float_of, fma, i32, loop, polynomial


@loop("float32[::1]", "float32[::1]", "float32", "float32[::1]")
def threshold_backward(grad: Any, x: Any, threshold: Any, out: Any) -> None:
    for i in range(len(x)):
        out[i] = f32(0) if x[i] <= threshold else grad[i]


#: The factor of exponents of 2; the logarithm of 2 in two parts; a number beside which float32 holds integers only.
LOG2_E, LN_2, INTEGERS = f32(math.log2(math.e)), (f32(math.log(2)), f32(math.log(2) - f64(f32(math.log(2))))), f32(
    1.5 * 2**23)
#: Exponents beyond which exp is infinite, and 0.
HIGHEST, LOWEST = f32(89), f32(-104)
#: The density of normal numbers at 0.
DENSITY = f32(1 / math.sqrt(2 * math.pi))
#: Taylor's series, which is exact to 6e-9 up to half the logarithm of 2.
EXP = tuple(f32(1 / math.factorial(k)) for k in range(7, -1, -1))


@njit
def exp(x: Any) -> Any:
    x = HIGHEST if x > HIGHEST else x  # in this order NaN stays
    below = x < LOWEST
    x = f32(0) if below else x  # a result that underflows takes the processor a hundred times as long
    shifted = fma(x, LOG2_E, INTEGERS)
    whole = shifted - INTEGERS
    rest = fma(whole, -LN_2[1], fma(whole, -LN_2[0], x))
    exponent = i32(bits_of(shifted) - bits_of(INTEGERS))
    half = i32(exponent >> i32(1))  # two factors, since one has not all exponents
    first, second = i32((half + i32(127)) << i32(23)), i32((i32(exponent - half) + i32(127)) << i32(23))
    return f32(0) if below else polynomial(rest, EXP) * float_of(first) * float_of(second)


#: The exponent of 2 that is -2 times the artanh of erf.
EXPONENT = tuple(f32(-2 * math.log2(math.e) * f64(c)) for c in ARTANH_ERF)


@njit
def power_of_two(x: Any) -> Any:
    """Return 2 to the power of ``x``, at least 2**-126."""
    x = f32(128) if x > f32(128) else x  # which makes infinity
    x = f32(-126) if x < f32(-126) else x
    shifted = x + INTEGERS
    rest = x - (shifted - INTEGERS)
    return float_of(i32(bits_of(polynomial(rest, POWER)) + i32(bits_of(shifted) << i32(23))))


@njit
def sigmoid_of(x: Any) -> Any:
    return f32(1) / (f32(1) + exp(-x))


@njit
def silu_of(x: Any) -> Any:
    return x / (f32(1) + exp(-x))


@njit
def silu_backward_of(grad: Any, x: Any) -> Any:
    y = sigmoid_of(x)
    return grad * (y * (f32(1) + x * (f32(1) - y)))


@njit
def normal_cdf(x: Any) -> Any:
    """Return the ``sigmoid`` of a polynomial."""
    return f32(1) / (f32(1) + power_of_two(x * polynomial(x * x, EXPONENT)))


@njit
def gelu_of(x: Any) -> Any:
    """Return ``x`` times the normal distribution function; the difference turns infinities to NaN as PyTorch."""
    return x / (f32(1) + power_of_two(x * polynomial(x * x, EXPONENT))) + (x - x)


@njit
def gelu_backward_of(grad: Any, x: Any) -> Any:
    return grad * (normal_cdf(x) + x * (DENSITY * exp(f32(-0.5) * (x * x))))


@njit
def erf_of(x: Any) -> Any:
    size = abs(x)
    near = fma(polynomial(x * x, ERF), x, x)
    far = f32(1) - exp(fma(polynomial(size, ERF_FAR), size, -size))
    return far if size > ERF_NEAR and x > f32(0) else -far if size > ERF_NEAR else near


def erfinv_of(x: Any) -> Any:
    """Compute the inverse of erf in float64, but for the logarithm: infinite at -1 and 1, NaN beyond."""
    rest = fma(x, -x, f32(1))
    w = -f64(log(rest if rest > f32(0) else f32(1)))
    near, far = polynomial(w - 2.5, ERFINV), polynomial(np.sqrt(w) - 3.0, ERFINV_FAR)  # by vectors
    inside = f32((near if w < 5.0 else far) * x)
    return inside if rest > f32(0) else f32(x * f32(np.inf)) if rest == f32(0) else f32(np.nan)


of_each("cube", njit(lambda x: x * x * x))
of_each("gelu", gelu_of)
of_each("erf", erf_of)
of_each("erfinv", erfinv_of)
of_each("gelu_backward", gelu_backward_of, 2)


@loop("float32[::1]", "float32[::1]", "float32", "float32")
def sgd(param: Any, grad: Any, weight_decay: Any, rate: Any) -> None:
    for i in range(len(param)):
        change = grad[i] + param[i] * weight_decay if weight_decay != f32(0) else grad[i]
        param[i] += change * rate


@loop("float32[::1]", "float32[::1]", "float32[::1]", "float32", "float32", "float32", "float32", "bool_")
def sgd_with_momentum(param: Any, grad: Any, buffer: Any, weight_decay: Any, rate: Any, momentum: Any, share: Any,
                      nesterov: Any) -> None:
    for i in range(len(param)):
        change = grad[i] + param[i] * weight_decay if weight_decay != f32(0) else grad[i]
        moved = buffer[i] * momentum + change * share
        buffer[i] = moved
        param[i] += (change + moved * momentum if nesterov else moved) * rate


@loop("float32[::1]", "float32[::1]", "float32[::1]", "float32[::1]", "float32", "float32", "float32", "float32",
      "float32", "float32", "float32", "float32")
def adam(param: Any, grad: Any, averages: Any, squares: Any, shrink: Any, weight_decay: Any, share: Any, kept: Any,
         share_of_square: Any, correction: Any, eps: Any, rate: Any) -> None:
    for i in range(len(param)):
        before = param[i] * shrink
        change = grad[i] + before * weight_decay if weight_decay != f32(0) else grad[i]
        average = (change - averages[i]) * share + averages[i]
        square = squares[i] * kept + change * share_of_square * change
        averages[i], squares[i] = average, square
        param[i] = before + average * rate / (np.sqrt(square) / correction + eps)
