"""Operators that treat each element by itself, after broadcasting."""
from __future__ import annotations

from collections.abc import Iterator

from ..placement_types import Partial, Placement, Shard
from .rows import Call, R, Row, rule

#: Sums of processes' tensors stay sums: f(a + b) = f(a) + f(b).
LINEAR = """clone detach alias _to_copy neg copy positive zeros_like contiguous lift_fresh conj _conj real
_conj_physical view_as_real resolve_conj resolve_neg zero"""
#: ... if all inputs are sums.
ADDITIVE = "add sub rsub"
#: ... if one of the inputs is a sum.
MULTIPLICATIVE, DIVISIVE = "mul multiply", "div divide true_divide"
OTHERS = """abs absolute acos acosh addcdiv addcmul angle asin asinh atan atan2 atanh bitwise_and bitwise_left_shift
bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil celu clamp clamp_max clamp_min clip copysign cos cosh
deg2rad digamma elu elu_backward eq erf erfc erfinv exp exp2 expm1 fill float_power floor floor_divide fmax
fmin fmod frac gcd ge gelu gelu_backward gt hardshrink hardsigmoid hardsigmoid_backward hardswish
hardswish_backward hardtanh hardtanh_backward heaviside hypot i0 igamma igammac isclose isfinite isinf isnan isneginf
isposinf lcm ldexp le leaky_relu leaky_relu_backward lerp lgamma log log10 log1p log2 log_sigmoid_backward
log_sigmoid_forward logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit logit_backward lt
masked_fill maximum minimum mish mish_backward mvlgamma nan_to_num ne nextafter polygamma pow prelu
_prelu_kernel rad2deg reciprocal relu relu6 remainder round rsqrt selu sgn sigmoid sigmoid_backward sign signbit silu
silu_backward sin sinc sinh softplus softplus_backward softshrink softshrink_backward special_entr sqrt square tan tanh
tanh_backward threshold threshold_backward trunc where xlogy"""


def by_element(call: Call) -> Iterator[Row]:
    """Yield a row for each dimension of the output; inputs that are broadcast along it are replicated."""
    ndim = len(call.outputs[0].shape)
    for dim in range(ndim):
        inputs: list[Placement] = []
        divided = False
        for spec in call.specs:
            own = dim - (ndim - spec.ndim)
            if own >= 0 and spec.shape[own] == call.outputs[0].shape[dim] and spec.shape[own] != 1:
                inputs.append(Shard(own))
                divided = True
            else:
                inputs.append(R)
        if divided:
            yield Row((Shard(dim),), tuple(inputs))


@rule(OTHERS)
def pointwise(call: Call) -> Iterator[Row]:
    yield from by_element(call)


@rule(LINEAR)
def linear(call: Call) -> Iterator[Row]:
    yield from by_element(call)
    for op in ("sum", "avg"):
        yield call.all(Partial(op))
    if call.name in ("clone", "detach", "alias", "_to_copy", "copy"):
        yield from (call.all(place) for place in call.specs[0].placements if place.is_partial())


@rule("ones_like full_like empty_like")
def shaped_like(call: Call) -> Iterator[Row]:
    yield from by_element(call)
    yield from (Row((R,), (place,)) for place in call.specs[0].placements if place.is_partial())


@rule(ADDITIVE)
def additive(call: Call) -> Iterator[Row]:
    yield from by_element(call)
    if len(call.specs) > 1:  # a number is added once, not by every process
        yield call.all(Partial("sum"))
        yield call.all(Partial("avg"))


@rule(MULTIPLICATIVE)
def multiplicative(call: Call) -> Iterator[Row]:
    yield from by_element(call)
    for op in ("sum", "avg"):
        if len(call.specs) == 1:
            yield call.all(Partial(op))
        else:
            out = (Partial(op),) * (len(call.specs) - 2)
            yield Row((Partial(op),), (Partial(op), R, *out))
            yield Row((Partial(op),), (R, Partial(op), *out))


@rule(DIVISIVE)
def divisive(call: Call) -> Iterator[Row]:
    yield from by_element(call)
    if call["rounding_mode"] is None:
        for op in ("sum", "avg"):
            yield Row((Partial(op),), (Partial(op), R, Partial(op))[:len(call.specs)])
