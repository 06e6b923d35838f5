"""Chains of NumPy's inner loops: the bits of NumPy, whichever computes."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import mindtorch
from mindtorch._backends.cpu.ops import CPU_KERNELS
from mindtorch._base.loops import chains
from mindtorch._base.loops.chains import Chain, Chained, polynomial

from ..support import assert_same, torch
from .support import SPECIAL

#: Arguments after the arrays, of which there are as many as the operator's name says, by the operator's name.
UNARY = {"sigmoid": (), "silu": (), "mish": (), "softplus": (2.0, 3.0), "elu": (1.5, 2.0, 0.5), "celu": (0.7,),
         "sinc": (), "gelu": ("tanh",), "log_sigmoid_forward": (), "hardsigmoid": (), "hardswish": (),
         "softshrink": (0.5,), "threshold": (0.5, -0.0), "logit": (), "lgamma": (),
         "special_spherical_bessel_j0": ()}
BINARY = {"sigmoid_backward": (), "tanh_backward": (), "silu_backward": (), "mish_backward": (),
          "softplus_backward": (2.0, 3.0), "hardswish_backward": (), "gelu_backward": ("none",), "logaddexp": (),
          "logaddexp2": (), "hardtanh_backward": (-1, 2), "hardsigmoid_backward": (),
          "hardshrink_backward": (0.0,), "leaky_relu_backward": (-0.0, False), "xlogy.Tensor": ()}


@pytest.fixture
def soon(monkeypatch) -> None:
    """Let chains begin at once."""
    monkeypatch.setattr(Chained, "left", -1)
    monkeypatch.setattr(chains, "TRACED", -1)


def numbers(count: int, kind: str, seed: int = 1) -> np.ndarray:
    made = np.random.default_rng(seed).normal(size=count) * 4
    made[:len(SPECIAL)] = SPECIAL[:count]
    return np.roll(made, seed).astype(kind)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_a_chain_computes_the_bits_of_numpy(name, kind, soon, by_numpy) -> None:
    rest = UNARY.get(name, BINARY.get(name))

    def compute(*arrays: Any) -> Any:
        with np.errstate(all="ignore"):
            return CPU_KERNELS[name](*arrays[:1 + (name in BINARY)], *rest)

    for count in (1, 3, 31, 511, 513, 3000) if name != "lgamma" else (1, 3, 31, 511):
        x, y = numbers(count, kind), numbers(count, kind, 5)
        for given in ((x, y), (np.repeat(x, 2)[::2], np.repeat(y, 3)[::3]), (np.broadcast_to(x[:1], x.shape), y)):
            found, wanted = compute(*given), by_numpy(partial(compute, *given))
            np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(np.signbit(found)[~np.isnan(found)], np.signbit(wanted)[~np.isnan(wanted)])


def test_a_chain_begins_in_the_middle_of_a_process_and_serves_all_calls_alike(monkeypatch) -> None:
    monkeypatch.setattr(Chained, "left", 1000)
    monkeypatch.setattr(chains, "TRACED", 500)
    monkeypatch.setattr(chains.machine_code, "is_ready", lambda: False)
    traced = list[Any]()

    def function(x: Any, by: Any) -> Any:
        if x.__class__ is not np.ndarray:
            traced.append(by)
        return np.exp(x) * by + 1

    chained, x = Chained(function), np.linspace(-1, 1, 7)
    assert [chained.ufunc("d", (by,), 300, (x, by)) is not None for by in (2.0, 2.0, 2.0, 2.0, 0.0, 0.0, -0.0)] == [
        False, False, False, True, False, True, False]
    assert traced == [2.0, 0.0]
    np.testing.assert_array_equal(chained.ufunc("d", (2,), 300, (x, 2))(x), function(x, 2))


def test_a_function_that_looks_at_elements_is_left_to_numpy(soon) -> None:
    chained = Chained(lambda x: x + 1 if x > 0 else x)
    with pytest.warns(RuntimeWarning, match="no chain of <lambda>.*has no truth value"):
        assert chained.ufunc("d", (), 1, (np.ones(1),)) is None
    assert chained.ufunc("d", (), 1, (np.ones(1),)) is None


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_a_polynomial_and_a_selection_are_steps_of_a_chain(kind) -> None:
    coefficients = tuple(np.arange(1, 6).astype(kind) / 7)

    def function(x: Any, y: Any) -> Any:
        x += 1
        return np.where(x > y, polynomial(x, coefficients), y) / (x - y)

    x, y = numbers(700, kind), numbers(700, kind, 2)
    chain = Chain(function, (x, y))
    assert len(chain.steps) == 6  # among them one polynomial
    ufunc = chain.ufunc()
    with np.errstate(all="ignore"):
        wanted = function(x.copy(), y)
        for step in (1, 2, -3):
            np.testing.assert_array_equal(ufunc(x[::step], y[::step]), wanted[::step])
        np.testing.assert_array_equal(ufunc(x[:, None], y[:9]), function(x[:, None].copy(), y[:9]))
        np.testing.assert_array_equal(ufunc(x, y, out=x), wanted)  # each element is read before it is written


def test_a_chain_that_only_returns_its_operand_copies_it() -> None:
    x = np.arange(3.0)
    found = Chain(lambda x: x, (x,)).ufunc()(x)
    assert found is not x
    np.testing.assert_array_equal(found, x)


def test_a_ufunc_that_would_convert_is_no_step() -> None:
    with pytest.raises(TypeError, match="has no inner loop of float32, float64 and one result"):
        Chain(lambda x, y: x * y, (np.ones(1, np.float32), np.ones(1)))


def test_elements_of_programs_have_the_bits_that_few_have(soon) -> None:
    x = mindtorch.tensor(numbers(3000, "float32"))
    for function in (mindtorch.sigmoid, mindtorch.nn.functional.silu, mindtorch.nn.functional.mish):
        whole = function(x)
        assert mindtorch.equal(mindtorch.cat([function(part) for part in x.split(7)]).nan_to_num(), whole.nan_to_num())


@pytest.mark.parametrize("name", ["sigmoid", "sinc", "erf", "erfc", "erfinv", "lgamma"])
@pytest.mark.parametrize("count", [40, 999])
def test_forms_that_write_into_a_tensor_have_the_bits_of_those_that_make_one(name, count, soon) -> None:
    x = mindtorch.tensor(numbers(count, "float32"))
    function = getattr(mindtorch, name)
    changed, target, wanted = x.clone(), mindtorch.empty_like(x), function(x)
    assert getattr(changed, f"{name}_")() is changed
    assert function(x, out=target) is target
    for found in (changed, target, function(x, out=mindtorch.empty(0))):
        mindtorch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)


#: Functions of two tensors of half precision, or of the first of them.
OF_HALVES = {
    "add": lambda t, x, y: x + y, "a number": lambda t, x, y: 2.1 - x,
    "isfinite": lambda t, x, y: x.isfinite(),
    "maximum": lambda t, x, y: t.maximum(x, y), "less": lambda t, x, y: x < y, "round": lambda t, x, y: x.round(),
    "clamp": lambda t, x, y: x.clamp(-1, 2.5), "relu6": lambda t, x, y: t.nn.functional.relu6(x),
    "prelu": lambda t, x, y: t.ops.aten._prelu_kernel(x, y), "sign": lambda t, x, y: x.sign(),
    "remainder": lambda t, x, y: x.remainder(y), "fmod": lambda t, x, y: x.fmod(y),
    "trunc": lambda t, x, y: t.div(x, y, rounding_mode="trunc"), "lerp": lambda t, x, y: x.lerp(y, 0.7),
    "addcmul": lambda t, x, y: x.addcmul(y, y, value=1.7), "addcdiv": lambda t, x, y: y.addcdiv(x, y),
    "heaviside": lambda t, x, y: x.heaviside(y), "threshold": lambda t, x, y: t.nn.functional.threshold(x, 0.3, 2.0),
    **{name: lambda t, x, y, name=name, given=given: getattr(t.ops.aten, name)(x, y, *given) for name, given in {
        "threshold_backward": (0.3,), "leaky_relu_backward": (0.1, False), "hardtanh_backward": (-1, 2.3),
        "softshrink_backward": (0.3,), "hardshrink_backward": (0.7,), "hardswish_backward": ()}.items()},
    "elu_backward": lambda t, x, y: t.ops.aten.elu_backward(x, 1.3, 1.1, 0.9, False, y)}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", OF_HALVES)
def test_a_chain_computes_halves_of_any_layout_as_pytorch_does(name, dtype, soon, by_numpy, monkeypatch) -> None:
    taken, ufunc = set[Any](), Chained.ufunc

    def noted(self: Chained, *call: Any) -> Any:
        taken.add(found := ufunc(self, *call))
        return found

    monkeypatch.setattr(Chained, "ufunc", noted)
    values = np.random.default_rng(0).normal(size=(2, 3000)).astype("float32") * 4
    values[0, 7:12], values[1, 9:14] = ([np.nan, np.inf, -np.inf, 0.0, -0.0] for _ in values)

    def compute(lib: Any) -> list[Any]:
        x, y = (lib.tensor(value).to(getattr(lib, dtype)) for value in values)
        pairs = [(x, y), (x[:777], y[:777]), (x[::2], y[1::2]), (x.view(30, 100).t(), y.view(30, 100).t()),
                 (x.view(30, 100).t(), y.view(100, 30)), (x[:300, None], y[:30]), (x[:300], y[40]),
                 (x.repeat(30), y.repeat(30))]
        return [OF_HALVES[name](lib, *pair) for pair in pairs for _ in range(3)]

    plain = by_numpy(partial(compute, mindtorch))
    assert not taken
    for one, other, wanted in zip(compute(mindtorch), plain, compute(torch), strict=True):
        assert_same(one, wanted)
        assert_same(other, wanted)
    assert taken - {None}
