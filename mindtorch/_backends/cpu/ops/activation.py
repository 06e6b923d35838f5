"""CPU kernels of activation functions and their derivatives."""
from __future__ import annotations

from collections.abc import Callable
from math import e, log2, pi, sqrt
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.loops.chains import Chained, has_vectors, polynomial
from ...._base.loops.coefficients import ARTANH_ERF, float32s
from ...._storage import allocate
from ...common.blocks import BLOCK, LARGE, each_block
from ...common.elements import Looped, chained, of_bits
from ...common.half import FEW as FEW_HALVES, converted as as_dtype, number_in
from ...random import sampling
from ...random.default import default_generator
from ...random.laws import draw
from ..precision import is_half, narrowed, opmath, to_opmath
from ..rows import Prepared
from . import AT_ONCE, CPU_KERNELS
from .comparison import INTEGERS, chosen, clamped, clip, extreme
from .pointwise import in_blocks, sigmoid
from .special import erfc

#: The exponents of e and of 2 that are -2 times the artanh of erf.
OF_EXP, OF_EXP2 = (float32s(*(-2 * base * float(c) for c in ARTANH_ERF)) for base in (1, log2(e)))
TANH_SCALE, TANH_CUBIC = sqrt(2 / pi), 0.044715  # of gelu's approximation by tanh


SQRT_HALF, SIXTH = sqrt(0.5), float(np.float32(1 / 6))  # as ATen rounds it
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
        return clip(x, ZEROS[dtype], INFINITIES[dtype])
    return extreme(np.maximum, ZEROS[dtype], x) if size < LARGE else clamped(x, 0)


def elu(x: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    return np.where(x >= 0, x * scale, np.expm1(x * input_scale) * (alpha * scale))


def in_vectors(function: Callable[..., Any], width: int) -> Looped:
    """Return the row of a derivative, a function of the gradient, the input, settings and which of PyTorch's loops
    computes: ``vectors``, in pairs of ``width`` bytes, or ``scalars``, of the elements left over. Their slopes of NaN
    differ. Half precision is computed in float32.
    """
    wide = chained(function, 2, in_blocks(function, 2))
    of_halves = of_bits(Chained(function, "eE"), lambda grad, x, *settings: as_dtype(
        np.asarray(wide(to_opmath(grad), to_opmath(x), *settings)), x.dtype), 2)

    def run(grad: Any, x: Any, *settings: Any) -> Any:
        row = of_halves if is_half(x) else wide
        flat = x.flags.c_contiguous and (grad.flags.c_contiguous or not any(grad.strides))
        left = x.size % (width // x.itemsize) if flat else x.size
        if left == x.size:
            return row(grad, x, *settings, "scalars")
        out = row(grad, x, *settings, "vectors")
        if left and np.isnan(rest := x.reshape(-1)[-left:]).any():
            through = np.broadcast_to(grad, x.shape).reshape(-1)[-left:]
            out.reshape(-1)[-left:] = row(through, rest, *settings, "scalars")
        return out

    return Looped(run, settle=lambda dtype, size, *settings: wide.settle(dtype, size, *settings, "scalars") if (
        size * dtype.itemsize < width) else None)


def within(grad: Any, x: Any, low: Any, high: Any, loop: str) -> Any:
    """Return the gradient where the input lies between the bounds, 0 elsewhere."""
    if loop == "vectors":
        return np.where((x > low) & (x < high), grad, 0)
    return np.where((x <= low) | (x >= high), 0, grad)


def outside_of(values: Any, x: Any, lambd: Any) -> Any:
    """Return the values where ``|x|`` exceeds ``lambd``, rounded to the dtype; 0 elsewhere."""
    return np.where(np.abs(to_opmath(x)) <= to_opmath(number_in(lambd, x.dtype)), values.dtype.type(0), values)


outside = in_vectors(lambda values, x, lambd, loop: np.where(np.abs(x) > lambd, values, 0) if loop == "vectors" else
                     np.where(np.abs(x) <= lambd, 0, values), 64)
#: The derivative of both shrinkages, whose bound is rounded to the dtype.
shrink_backward = Looped(lambda grad, x, lambd: outside(grad, x, float(number_in(lambd, x.dtype))),
                         settle=outside.settle)


def threshold(x: Any, threshold: Any, value: Any) -> Any:
    """Replace elements up to the threshold by a value. Negative numbers wrap around in an unsigned dtype, as in C."""
    threshold, value = (number_in(number, x.dtype) for number in (threshold, value))
    return chosen(np.less_equal(to_opmath(x), to_opmath(threshold)), value, x)


def elu_backward_of(grad: Any, x: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool, loop: str) -> Any:
    below = (x + alpha * scale if is_result else np.exp(x * input_scale) * (alpha * scale)) * input_scale
    return grad * (np.where(x > 0, scale, below) if loop == "vectors" else np.where(x <= 0, below, scale))


elu_backward = in_vectors(elu_backward_of, 128)


def normal_cdf(x: Any) -> Any:
    """Return the normal distribution function. float32 uses a fit as exact as PyTorch's: the sigmoid of a polynomial,
    where nothing cancels.
    """
    if x.dtype != np.float32:
        return erfc(x * -SQRT_HALF) * 0.5
    exp, coefficients = (np.exp2, OF_EXP2) if has_vectors("exp2") else (np.exp, OF_EXP)
    return 1 / (exp(polynomial(x * x, coefficients) * x) + 1)


def gelu_of(x: Any, approximate: str, lost: str) -> Any:
    if approximate == "tanh":  # (1 + tanh(y)) / 2 is the sigmoid of 2 y, where nothing cancels
        return x / (1 + np.exp(x * (x * x * (-2 * TANH_SCALE * TANH_CUBIC) - 2 * TANH_SCALE)))
    out = normal_cdf(x) * x
    return out - (x - x) if lost else out  # which keeps the sign of zero


gelu_row = chained(gelu_of)


def gelu(x: Any, approximate: str = "none") -> Any:
    """Compute GELU. Among several contiguous elements of float32, infinity becomes NaN, as in oneDNN, which computes
    PyTorch's.
    """
    loses = x.dtype == np.float32 and x.size > 1 and x.flags.c_contiguous
    return gelu_row(x, approximate, "infinity" if loses else "")


def gelu_backward(grad: Any, x: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        tanh = np.tanh(TANH_SCALE * (x + TANH_CUBIC * x * x * x))
        inner = TANH_SCALE * (1 + 3 * TANH_CUBIC * x * x)
        return grad * (0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * inner)
    return grad * (normal_cdf(x) + x * (np.exp(x * x * -0.5) * (1 / sqrt(2 * pi))))


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


def silu_backward(grad: Any, x: Any) -> Any:
    y = 1 / (1 + np.exp(-x))
    slope = y * (1 + x * (1 - y))
    return grad * (np.conj(slope) if x.dtype.kind == "c" else slope)


def gate(x: Any) -> Any:
    """Return ``x + 3``, clamped to [0, 6]."""
    return np.minimum(np.maximum(x + 3, 0), 6)


def softshrink(x: Any, lambd: Any = 0.5) -> Any:
    """Return how far ``x`` lies outside the bounds, and within them a zero of its sign."""
    return np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, x * 0))


def hardswish_backward(grad: Any, x: Any, loop: str) -> Any:
    inside = grad * (x / 3 + 0.5)
    return np.where(x <= -3, 0, np.where(x >= 3, grad, inside) if loop == "vectors" else np.where(x < 3, inside, grad))


def softplus(x: Any, beta: Any = 1, threshold: Any = 20) -> Any:
    scaled = x * beta
    return np.where(scaled > threshold, x, np.log1p(np.exp(scaled)) / beta)


def softplus_backward(grad: Any, x: Any, beta: Any, threshold: Any) -> Any:
    scaled = x * beta
    return np.where(scaled > threshold, grad, grad * (1 / (1 + np.exp(-scaled))))


def mish(x: Any) -> Any:
    return x * np.tanh(softplus(x))


def mish_backward(grad: Any, x: Any) -> Any:
    tanh = np.tanh(softplus(x))
    return grad * (tanh + x * (1 / (1 + np.exp(-x))) * ((1 - tanh) * (1 + tanh)))  # which cancels less than 1 - tanh**2


def log_sigmoid(x: Any) -> Any:
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


log_sigmoid_row, decay = chained(log_sigmoid), chained(lambda x: np.exp(-np.abs(x)))


def log_sigmoid_backward(grad: Any, x: Any, buffer: Any) -> Any:
    return grad * np.where(x < 0, 1 - buffer / (1 + buffer), buffer / (1 + buffer))


def in_opmath(row: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a row to compute half precision in float32."""
    return lambda *args: row(*(to_opmath(arg) if isinstance(arg, np.ndarray) else arg for arg in args))


def halves(x: Any, dim: int) -> tuple[Any, Any]:
    """Return both halves along a dimension."""
    before, length = (slice(None),) * (dim % x.ndim), x.shape[dim] // 2
    return x[(*before, slice(length))], x[(*before, slice(length, None))]


@Prepared
def glu(x: Any, dim: int = -1) -> Callable[[Any], Any]:
    """Prepare the product of the first half and the sigmoid of the second."""
    before, length, dtype = (slice(None),) * (dim % x.ndim), x.shape[dim] // 2, opmath(x.dtype)
    first, second = (*before, slice(length)), (*before, slice(length, None))
    gate = sigmoid.settle(dtype, x.size // 2) or sigmoid

    def run(x: Any) -> Any:
        return np.multiply(x[first], gate(x[second]))

    return narrowed(run, x) if is_half(x) else run


def glu_backward(grad: Any, x: Any, dim: int) -> Any:
    first, second = halves(x, dim)
    gate = sigmoid(second)
    return np.concatenate([grad * gate, grad * first * gate * (1 - gate)], dim)


def leaky_relu(x: Any, slope: Any = 0.01) -> Any:
    return np.maximum(x, x * slope) if 0 < slope <= 1 else leaky(x, x, slope)


#: Elements, multiplied by the slope where the input is not positive: a number, or an array that broadcasts to them.
leaky = chained(lambda grad, x, slope: np.where(x > 0, grad, grad * slope), 3)
sloped = chained(lambda x, slope: np.where(x > 0, x, x * slope), 2)


def prelu_backward(grad: Any, x: Any, weight: Any) -> Any:
    return leaky(grad, x, weight), zeroed(grad * x, np.greater(x, 0))


def hardtanh_of(x: Any, low: Any = -1, high: Any = 1) -> Any:
    return clamped(x, x.dtype.type(low), x.dtype.type(high))


hardtanh = chained(lambda x, low=-1, high=1: clip(x, low, high), 1, hardtanh_of, "fdlihbB")
up_to_six = chained(lambda x: clip(x, 0, 6), 1, None, "fdlihbB")


def at_once(row: Looped, is_exact: bool = False) -> Callable[..., Any]:
    """Return what prepares a composite of floating point numbers; half precision is computed in float32, but for few
    elements of functions that round nothing.
    """
    chain = Chained(row.steps, "eE", True)

    def prepare(x: Any, *others: Any) -> Any:
        half, wide = is_half(x), loops.SINGLE
        if not x.size or not (half or x.dtype.kind in ("fiu" if is_exact else "f")):
            return None
        if not half or (is_exact and x.size < FEW):
            return row.settle(x.dtype, x.size) or row.function
        narrow, run = x.dtype, row.settle(wide, x.size) or row.function
        return of_bits(chain, (lambda *arrays: np.asarray(run(*[x.astype(wide) for x in arrays])).astype(narrow)) if (
            x.size < FEW_HALVES) else lambda *arrays: as_dtype(np.asarray(run(*map(to_opmath, arrays))), narrow))

    return prepare


def prelu(x: Any, weight: Any) -> Any:
    """Prepare ``prelu``, given one slope or one for each channel."""
    run, shape = at_once(sloped)(x), (-1, *[1] * (x.ndim - 2)) if weight.size > 1 else ()
    return run if weight.shape == shape else run and (lambda x, weight: run(x, weight.reshape(shape)))


def rrelu_with_noise(x: Any, noise: Any, lower: Any, upper: Any, training: bool = False, generator: Any = None) -> Any:
    """Compute RReLU. In training, draw the slope of each element that is not positive and store it in ``noise``."""
    if not training:
        return leaky_relu(to_opmath(x), (lower + upper) / 2)
    wide = to_opmath(x)
    drawn, slopes, low = np.less_equal(wide, 0), np.ones_like(wide), np.float64(wide.dtype.type(lower))
    law = sampling.standard_uniform(np.dtype(np.float64))
    numbers = draw(generator or default_generator, int(np.count_nonzero(drawn)), law)
    slopes[drawn] = numbers * (wide.dtype.type(upper) - low) + low  # rounded twice, unlike those of ``uniform_``
    noise[...] = slopes
    return wide * slopes


def rrelu_backward(grad: Any, x: Any, noise: Any, lower: Any, upper: Any, training: bool, is_result: bool) -> Any:
    return grad * noise if training and upper - lower > 1e-6 else leaky(grad, x, (lower + upper) / 2)


CPU_KERNELS.add(leaky_relu, rrelu_with_noise)
CPU_KERNELS.update({
    "relu": Looped(relu),
    "hardtanh": hardtanh,
    "hardtanh_backward": in_vectors(within, 64),
    "elu": (elu_row := chained(elu, 1, in_blocks(elu))),
    "celu": Looped(lambda x, alpha=1.0: elu_row(x, alpha, 1, 1 / alpha)),
    "elu_backward": Looped(lambda grad, *settings: elu_backward(grad, settings[-1], *settings[:-1])),
    "silu": chained(silu, 1, in_blocks(silu)),
    "mish": chained(mish, 1, in_blocks(mish)),
    "softplus": chained(softplus, 1, in_blocks(softplus)),
    "log_sigmoid_backward": chained(log_sigmoid_backward, 3),
    **{function.__name__: chained(function, 2, in_blocks(function, 2)) for function in (
        silu_backward, mish_backward, softplus_backward)},
    "gelu": in_blocks(gelu, loop=loops.gelu, settings=("none",)),
    "gelu_backward": in_blocks(chained(gelu_backward, 2).function, 2, loop=loops.gelu_backward, settings=("none",)),
    "hardswish_backward": in_vectors(hardswish_backward, 128),
    "hardsigmoid": chained(lambda x: gate(x) / 6),
    "hardsigmoid_backward": chained(lambda grad, x: np.where((x > -3) & (x < 3), grad * SIXTH, 0), 2),
    "hardswish": chained(lambda x: gate(x) * x / 6),
    "leaky_relu_backward": Looped(lambda grad, x, slope, is_result: leaky(grad, x, slope),
                                  steps=lambda grad, x, slope, is_result: np.where(x > 0, grad, grad * slope)),
    "softshrink": chained(softshrink, 1, in_blocks(softshrink)),
    "softshrink_backward": shrink_backward,
    "hardshrink": chained(lambda x, lambd=0.5: np.where(np.abs(x) <= lambd, 0, x), 1,
                          lambda x, lambd=0.5: outside_of(x, x, lambd)),
    "hardshrink_backward": shrink_backward,
    "threshold": chained(lambda x, least, value: np.where(x <= least, value, x), 1, threshold, "fdil"),
    "threshold_backward": Looped(threshold_backward, steps=lambda grad, x, least: np.where(x <= least, 0, grad)),
    "log_sigmoid_forward": in_opmath(lambda x: (log_sigmoid_row(x), decay(x))),
    "glu": glu,
    "glu_backward": in_opmath(glu_backward),
    "_prelu_kernel": sloped,
    "_prelu_kernel_backward": in_opmath(prelu_backward),
    "rrelu_with_noise_backward": in_opmath(rrelu_backward),
})
AT_ONCE.update({"prelu": prelu, "relu6": at_once(up_to_six, True),
                "log_sigmoid": at_once(log_sigmoid_row)})
