"""CPU kernels of activation functions and their derivatives."""
from __future__ import annotations

from collections.abc import Callable
from math import e, erfc, isfinite, log2, pi, sqrt
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.loops.coefficients import ARTANH_ERF, float32s
from ...._storage import allocate
from ...common.blocks import BLOCK, LARGE, each_block
from ...common.elements import by_loop, element, number
from ...common.half import converted as as_dtype, number_in
from ...random import sampling
from ...random.default import default_generator
from ..precision import is_half, to_opmath
from . import AT_ONCE, CPU_KERNELS
from .comparison import INTEGERS, chosen, clamped, extreme
from .pointwise import copysign, exp_of, has_vectors, in_blocks, sigmoid
from .special import scipy_function

ndtr = scipy_function("ndtr")
#: The exponents of e and of 2 that are -2 times the artanh of erf.
OF_EXP, OF_EXP2 = (float32s(*(-2 * base * float(c) for c in ARTANH_ERF)) for base in (1, log2(e)))
TANH_SCALE, TANH_CUBIC = sqrt(2 / pi), 0.044715  # of gelu's approximation by tanh


SHORTEST, SQRT_HALF = 32, sqrt(0.5)  #: elements for which Python's functions take less time than NumPy's many calls
FEW = 100  #: up to this many elements, NumPy's call overhead dominates


class _Number(dict[np.dtype, np.ndarray]):
    """A number of each dtype as an array, so that NumPy need not convert it."""

    def __init__(self, number: float) -> None:
        self._number = number

    def __missing__(self, dtype: np.dtype) -> np.ndarray:
        made = self[dtype] = np.array(self._number, dtype)
        return made


ZEROS, INFINITIES = _Number(0), _Number(np.inf)
SHORT = 1024  #: from this many elements on, the faster loop of ``clip`` repays its overhead


def zeroed(values: Any, mask: Any) -> Any:
    """Return the values with 0 where the mask is set, by bitwise operations: ``np.where`` takes four times as long."""
    if mask.shape != values.shape or not values.ndim:
        return np.where(mask, values.dtype.type(0), values)
    if values.size <= FEW:
        out = values.copy()
        out[mask] = 0
        return out
    integer = INTEGERS[values.itemsize]
    kept = mask.view(np.int8)
    kept -= 1  # all bits set where the mask is not set
    out = allocate(values.shape, np.dtype(integer))
    out[...] = kept
    return np.bitwise_and(out, values.view(integer), out=out).view(values.dtype)


def threshold_backward(grad: Any, x: Any, threshold: Any) -> Any:
    """Return the gradient, with 0 where the input did not exceed the threshold."""
    if x.shape == grad.shape and (loop := loops.threshold_backward.taking(x, grad)) is not None:
        out = allocate(x.shape, x.dtype)
        through, line, target, least = grad.reshape(-1), x.reshape(-1), out.reshape(-1), float(threshold)
        if x.size < BLOCK:
            loop(through, line, least, target)
            return out
        each_block(lambda at: loop(through[at], line[at], least, target[at]), x.size, LARGE // 2, x.size)
        return out
    return zeroed(grad, np.less_equal(x, threshold or ZEROS[x.dtype]))


def relu(x: Any) -> Any:
    """Compute ReLU. ``np.maximum`` returns the second of two zeros, which keeps -0."""
    size, dtype = x.size, x.dtype
    if SHORT <= size < LARGE and dtype.kind == "f":
        return x.clip(ZEROS[dtype], INFINITIES[dtype])
    return extreme(np.maximum, ZEROS[dtype], x) if size < LARGE else clamped(x, 0)


def elu(x: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    if not isfinite(alpha):  # 0 times it would be NaN on the other side
        return np.where(x >= 0, x * scale, np.expm1(np.minimum(x, 0) * input_scale) * (alpha * scale)).astype(x.dtype)
    zero, factor = ZEROS[x.dtype], alpha * scale
    if x.size < SHORT:
        above, below = np.maximum(x, zero), np.minimum(x, zero)
    else:
        above, below = x.clip(zero, INFINITIES[x.dtype]), x.clip(-INFINITIES[x.dtype], zero)
    if input_scale != 1:
        below = below * input_scale
    below = np.expm1(below)
    out = (above if scale == 1 else above * scale) + (below if factor == 1 else below * factor)
    return copysign(out, x) if factor >= 0 < scale else out  # the sum of two zeros has lost the sign


#: The values where ``|x|`` exceeds ``lambd``, rounded to the dtype; 0 elsewhere.
outside = by_loop("outside", lambda values, x, lambd: zeroed(
    values, np.abs(to_opmath(x)) <= to_opmath(number_in(lambd, x.dtype))))


def threshold(x: Any, threshold: Any, value: Any) -> Any:
    """Replace elements up to the threshold by a value. Negative numbers wrap around in an unsigned dtype, as in C."""
    threshold, value = (number_in(number, x.dtype) for number in (threshold, value))
    return chosen(np.less_equal(to_opmath(x), to_opmath(threshold)), value, x)


def elu_backward(grad: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool, x: Any) -> Any:
    below = x + alpha * scale if is_result else np.exp(x * input_scale) * (alpha * scale)
    below = np.asarray(below if input_scale == 1 else below * input_scale)
    return grad * chosen(np.less_equal(x, 0), below, np.asarray(scale, below.dtype))


def normal_cdf(x: Any, out: Any = None) -> Any:
    """Return the normal distribution function. float32 uses a fit as exact as PyTorch's, 20 times as fast as SciPy: the
    sigmoid of a polynomial, where nothing cancels.
    """
    if x.size <= SHORTEST:
        found = np.array([0.5 * erfc(y * -SQRT_HALF) for y in x.ravel().tolist()], x.dtype).reshape(x.shape)
        return found if out is None else np.positive(found, out)
    if x.dtype != np.float32:
        return np.asarray(ndtr(x, out=out))  # SciPy returns a number for a 0-d array
    square, out = allocate(x.shape, x.dtype), allocate(x.shape, x.dtype) if out is None else out
    np.multiply(x, x, out=square)
    exp, coefficients = (np.exp2, OF_EXP2) if has_vectors("exp2") else (np.exp, OF_EXP)
    np.multiply(square, coefficients[0], out=out)
    for coefficient in coefficients[1:-1]:
        out += coefficient
        out *= square
    out += coefficients[-1]
    out *= x
    exp(out, out=out)
    out += 1
    return np.divide(1, out, out=out)


def gelu(x: Any, approximate: str = "none", out: Any = None) -> Any:
    if approximate == "tanh":
        out = np.asarray(np.multiply(x, x, out=out))  # (1 + tanh(y)) / 2 is the sigmoid of 2 y, where nothing cancels
        cubic, scale, one = (number(value, x.dtype) for value in (2 * TANH_SCALE * TANH_CUBIC, 2 * TANH_SCALE, 1))
        np.add(np.multiply(out, cubic, out), scale, out)
        exp_of(np.multiply(out, x, out), out, -1)
        return np.divide(x, np.add(out, one, out), out)
    out = normal_cdf(x, out)
    np.multiply(out, x, out=out)
    if x.dtype == np.float32:
        lose_infinity(x, out)
    return out


def lose_infinity(x: Any, out: Any) -> None:
    """Write NaN for infinity among several contiguous elements, as oneDNN does, which computes PyTorch's float32."""
    if x.size > 1 and x.flags.c_contiguous and not x.max() < np.inf:
        out[x == np.inf] = np.nan


def gelu_backward(grad: Any, x: Any, approximate: str = "none", out: Any = None) -> Any:
    if approximate == "tanh":
        tanh = np.tanh(TANH_SCALE * (x + TANH_CUBIC * x * x * x))
        inner = TANH_SCALE * (1 + 3 * TANH_CUBIC * x * x)
        return np.multiply(grad, 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * inner, out=out)
    out, density = normal_cdf(x, out), np.asarray(np.multiply(x, x))
    density *= -0.5
    np.exp(density, out=density)
    density *= x
    density *= 1 / sqrt(2 * pi)
    out += density
    return np.multiply(out, grad, out=out if np.broadcast_shapes(out.shape, np.shape(grad)) == out.shape else None)


def silu(x: Any, out: Any = None) -> Any:
    out = exp_of(x, out, -1)
    np.add(out, number(1, x.dtype), out)
    return np.divide(x, out, out)


def silu_backward(grad: Any, x: Any) -> Any:
    y = sigmoid(x)
    return grad * np.conj(y * (1 + x * (1 - y)))


def up_to_six(x: Any) -> Any:
    """Return ``x + 3``, clamped to [0, 6], as a new array."""
    dtype = x.dtype
    return clipped(x + number(3, dtype), ZEROS[dtype], number(6, dtype))


def hardsigmoid(x: Any) -> Any:
    out = up_to_six(x)
    out /= number(6, x.dtype)
    return out


def hardswish(x: Any) -> Any:
    out = up_to_six(x)
    out *= x
    out /= number(6, x.dtype)
    return out


def softshrink(x: Any, lambd: Any = 0.5) -> Any:
    """Return how far ``x`` lies outside the bounds, and within them a zero of its sign."""
    low, high = number(-float(lambd), x.dtype), number(float(lambd), x.dtype)  # an NPU's is an array
    if x.dtype.kind != "f" or x.size <= FEW:
        return np.copysign(x - np.minimum(np.maximum(x, low), high), x)
    out = x.clip(low, high)
    np.subtract(x, out, out)
    bits = x.view(INTEGERS[x.itemsize])
    signed = out.view(bits.dtype)  # which NumPy copies in a sixth of the time of ``copysign``
    signed |= bits & np.iinfo(bits.dtype).min
    return out


def clipped(x: Any, low: Any, high: Any) -> Any:
    """Clamp a new array between numbers. From ``SHORT`` elements on, ``clip`` takes a sixth of both ufuncs' time."""
    return x.clip(low, high, out=x) if x.size >= SHORT else np.minimum(high, np.maximum(low, x))


def hardswish_backward(grad: Any, x: Any) -> Any:
    inside = np.less(x, 3) if x.size < 32 else ~np.greater_equal(x, 3)  # NaN is inside in PyTorch's vectors
    return zeroed(chosen(inside, np.asarray(grad * (x / 3 + 0.5)), grad), np.less_equal(x, -3))


def softplus(x: Any, beta: Any = 1, threshold: Any = 20) -> Any:
    bound = element(threshold, x.dtype)
    if beta == 1:  # skip both factors
        return np.where(np.greater(x, bound), x, np.log1p(np.exp(x)))
    factor = element(beta, x.dtype)
    scaled = x * factor
    return np.where(np.greater(scaled, bound), x, np.log1p(np.exp(scaled)) / factor)


def softplus_backward(grad: Any, x: Any, beta: Any, threshold: Any) -> Any:
    scaled = x * beta
    return np.where(np.greater(scaled, threshold), grad, grad * sigmoid(scaled))


def mish(x: Any) -> Any:
    return x * np.tanh(softplus(x))


def mish_backward(grad: Any, x: Any) -> Any:
    tanh = np.tanh(softplus(x))
    return grad * (tanh + x * sigmoid(x) * ((1 - tanh) * (1 + tanh)))  # which cancels less than 1 - tanh**2


def log_sigmoid_forward(x: Any) -> Any:
    buffer = np.exp(-np.abs(x))
    return np.minimum(x, ZEROS[x.dtype]) - np.log1p(buffer), buffer


def log_sigmoid_backward(grad: Any, x: Any, buffer: Any) -> Any:
    below = np.less(x, 0)
    return grad * np.where(below, 1 - buffer / (1 + buffer), buffer / (1 + buffer))


def in_opmath(row: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a row to compute half precision in float32."""
    return lambda *args: row(*(to_opmath(arg) if isinstance(arg, np.ndarray) else arg for arg in args))


def halves(x: Any, dim: int) -> tuple[Any, Any]:
    """Return both halves along a dimension."""
    before, length = (slice(None),) * (dim % x.ndim), x.shape[dim] // 2
    return x[(*before, slice(length))], x[(*before, slice(length, None))]


def glu(x: Any, dim: int = -1) -> Any:
    first, second = halves(x, dim)
    return first * sigmoid(second)


def glu_backward(grad: Any, x: Any, dim: int) -> Any:
    first, second = halves(x, dim)
    gate = sigmoid(second)
    return np.concatenate([grad * gate, grad * first * gate * (1 - gate)], dim)


def within(grad: Any, x: Any, low: Any, high: Any) -> Any:
    """Return the gradient where the input lies strictly between the bounds, else 0."""
    return zeroed(grad, ~(np.greater(x, low) & np.less(x, high)))


def leaky_relu(x: Any, slope: Any = 0.01) -> Any:
    return np.maximum(x, x * slope) if 0 < slope <= 1 else leaky(x, x, slope)


#: Elements, multiplied by the slope where the input is not positive: a number, or an array that broadcasts to them.
leaky = by_loop("leaky", lambda grad, x, slope: chosen(
    np.greater(x, 0), grad, np.asarray(grad * np.asarray(slope, x.dtype))))


def prelu_backward(grad: Any, x: Any, weight: Any) -> Any:
    return leaky(grad, x, weight), zeroed(grad * x, np.greater(x, 0))


hardtanh = by_loop("clamp", lambda x, low=-1, high=1: clamped(x, x.dtype.type(low), x.dtype.type(high)), -1, 1)


def at_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what prepares a composite of floating point numbers; half precision is computed in float32."""
    def prepare(x: Any, *others: Any) -> Any:
        if not is_half(x):
            return function if x.dtype.kind == "f" and x.size else None
        narrow = x.dtype
        return lambda *arrays: as_dtype(np.asarray(function(*map(to_opmath, arrays))), narrow)

    return prepare


def prelu(x: Any, weight: Any) -> Any:
    return leaky(x, x, weight.reshape(-1, *[1] * (x.ndim - 2)) if weight.size > 1 else weight.reshape(()))


def rrelu_with_noise(x: Any, noise: Any, lower: Any, upper: Any, training: bool = False, generator: Any = None) -> Any:
    """Compute RReLU. In training, draw the slope of each element that is not positive and store it in ``noise``."""
    x = to_opmath(x)
    if not training:
        return leaky_relu(x, (lower + upper) / 2)
    drawn = np.less_equal(x, 0)
    noise[...] = 1
    count = int(np.count_nonzero(drawn))
    noise[drawn] = sampling.uniform(generator or default_generator, count, np.dtype(np.float64), lower, upper)
    return x * to_opmath(noise)


def rrelu_backward(grad: Any, x: Any, noise: Any, lower: Any, upper: Any, training: bool, is_result: bool) -> Any:
    return grad * noise if training and upper - lower > 1e-6 else leaky(grad, x, (lower + upper) / 2)


CPU_KERNELS.add(elu_backward, leaky_relu, log_sigmoid_backward, rrelu_with_noise)
CPU_KERNELS.update({
    "relu": relu,
    "hardtanh": hardtanh,
    "hardtanh_backward": lambda grad, x, low, high: zeroed(grad, np.less_equal(x, low) | np.greater_equal(x, high)),
    "elu": in_blocks(elu),
    "celu": in_blocks(lambda x, alpha=1.0: elu(x, alpha, 1, 1 / alpha)),
    "gelu": in_blocks(gelu, writes=True, loop=loops.gelu, settings=("none",)),
    "gelu_backward": in_blocks(gelu_backward, 2, writes=True, loop=loops.gelu_backward, settings=("none",)),
    "silu": in_blocks(silu, writes=True, loop=loops.silu),
    "silu_backward": in_blocks(silu_backward, 2, loop=loops.silu_backward),
    "mish": in_blocks(mish),
    "mish_backward": in_blocks(mish_backward, 2),
    "hardsigmoid": by_loop("hardsigmoid", in_blocks(hardsigmoid)),
    "hardsigmoid_backward": lambda grad, x: within(grad * np.float32(1 / 6), x, -3, 3),  # as ATen rounds it
    "hardswish": by_loop("hardswish", in_blocks(hardswish)),
    "hardswish_backward": in_blocks(hardswish_backward, 2, loop=loops.hardswish_backward),
    "leaky_relu_backward": lambda grad, x, slope, is_result: leaky(grad, x, slope),
    "softplus": in_blocks(softplus),
    "softplus_backward": in_blocks(softplus_backward, 2),
    "softshrink": by_loop("softshrink", in_blocks(softshrink), 0.5),
    "softshrink_backward": outside,
    "hardshrink": lambda x, lambd=0.5: outside(x, x, lambd),
    "hardshrink_backward": outside,
    "threshold": by_loop("threshold", threshold),
    "threshold_backward": threshold_backward,
    "log_sigmoid_forward": in_opmath(log_sigmoid_forward),
    "glu": in_opmath(glu),
    "glu_backward": in_opmath(glu_backward),
    "_prelu_kernel": lambda x, weight: leaky(x, x, weight),
    "_prelu_kernel_backward": in_opmath(prelu_backward),
    "rrelu_with_noise_backward": in_opmath(rrelu_backward),
})
AT_ONCE.update({"prelu": at_once(prelu), "relu6": at_once(lambda x: hardtanh(x, 0, 6)),
                "log_sigmoid": at_once(lambda x: log_sigmoid_forward(x)[0])})
