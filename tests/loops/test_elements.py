"""Loops over elements, and over lines of them, compute what NumPy and PyTorch do, on any number of threads."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import mindtorch
from mindtorch._base import loops

from ..support import port, torch
from .support import LARGE, OTHERS, again, lines, normalised, numbers, tame

EXACT = {
    "float16 to float32": ("widen_float16", "float16", lambda t, x, y: x.float()),
    "float32 to float16": ("narrow_float16", "float32", lambda t, x, y: x.half()),
    "bfloat16 to float32": ("widen_bfloat16", "bfloat16", lambda t, x, y: x.float()),
    "float32 to bfloat16": ("narrow_bfloat16", "float32", lambda t, x, y: x.bfloat16()),
    **{f"{mode} quotient of {dtype}": (f"{name}_{dtype}", dtype, lambda t, x, y, mode=mode: t.div(
        x, y, rounding_mode=mode)) for dtype in ("float16", "bfloat16")
       for name, mode in (("floor_divide", "floor"), ("trunc_divide", "trunc"))},
}


@pytest.mark.parametrize(("name", "dtype", "call"), EXACT.values(), ids=EXACT)
def test_loops_of_half_precision_have_the_bits_of_numpy(name, dtype, call, by_numpy, used) -> None:
    x, y = (port(line, mindtorch) for line in numbers(getattr(torch, dtype)))
    mine, other = call(mindtorch, x, y), by_numpy(lambda: call(mindtorch, x, y))
    assert name in used
    assert_same_bits(mine, other)


def assert_same_bits(mine: Any, other: Any) -> None:
    assert mine.dtype is other.dtype
    nan = other.isnan()
    assert mine.isnan().equal(nan)
    integer = {2: mindtorch.int16, 4: mindtorch.int32, 8: mindtorch.int64}[mine.element_size()]
    assert mine[~nan].view(integer).equal(other[~nan].view(integer))


#: Functions of two lines of numbers, by the loop's name, where there is one.
ELEMENTS = {
    "sign": lambda t, x, y: x.sgn(), "angle": lambda t, x, y: x.angle(), "heaviside": lambda t, x, y: x.heaviside(y),
    "nextafter": lambda t, x, y: x.nextafter(y), "copysign": lambda t, x, y: x.copysign(y),
    **{f"copysign of {name}": lambda t, x, y, given=given: given(x).copysign(y) for name, given in (
        ("a column", lambda x: x[:1]), ("a row", lambda x: x[0]))},
    "softshrink": lambda t, x, y: t.nn.functional.softshrink(x),
    "outside": lambda t, x, y: t.nn.functional.hardshrink(x, 1.5),
    "outside of others": lambda t, x, y: t.ops.aten.hardshrink_backward(x, y, 0.0),
    "leaky": lambda t, x, y: t.ops.aten.leaky_relu_backward(x, y, -0.0, False),
    "leaky by each": lambda t, x, y: t.ops.aten._prelu_kernel(x, y),
    **{f"leaky of {name}": lambda t, x, y, slopes=slopes: t.ops.aten._prelu_kernel(x, slopes(y))
       for name, slopes in (("a column", lambda y: y[:1]), ("a row", lambda y: y[0]),
                            ("a number", lambda y: y[(0,) * y.ndim]))},
    "threshold": lambda t, x, y: t.nn.functional.threshold(x, 0.5, -0.0),
    "hardsigmoid": lambda t, x, y: t.nn.functional.hardsigmoid(x),
    "hardswish": lambda t, x, y: t.nn.functional.hardswish(x),
    "clamp": lambda t, x, y: x.clamp(-0.0, 0.0), "clamp to NaN": lambda t, x, y: x.clamp(t.nan, 1),
    "clamp by each": lambda t, x, y: x.clamp(y, y.flip(0)), "clamp by six": lambda t, x, y: t.nn.functional.relu6(x),
    "lerp": lambda t, x, y: x.lerp(y, 0.3), "lerp near the end": lambda t, x, y: x.lerp(y, 0.7),
    "lerp by each": lambda t, x, y: x.lerp(y, x / 9), "addcdiv": lambda t, x, y: t.addcdiv(x, x, y, value=-0.7),
    "addcmul": lambda t, x, y: t.addcmul(x, x, y, value=-0.7), "addcmul by one": lambda t, x, y: t.addcmul(x, y, y),
    "addcmul of a column": lambda t, x, y: t.addcmul(x[:1], x, y[0], value=3),
}


@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.sampled(2)
def test_functions_of_elements_have_the_bits_of_numpy_and_agree_with_pytorch(name, dtype, by_numpy, used) -> None:
    call, x, y = ELEMENTS[name], *(line[:3 << 10].view(-1, 64).to(dtype) for line in numbers())
    for given in ((x, y), (x[:3, :3], y[:3, :3]), (x.t(), y.t()), (x.t(), y[0, :48].expand(64, 48))):
        mine = [port(part, mindtorch) for part in given]
        result, without = call(mindtorch, *mine), by_numpy(lambda mine=mine: call(mindtorch, *mine))
        assert_same_bits(result, without)
        given = [part.nan_to_num(0).clamp(-9, 9) for part in given]
        mindtorch.testing.assert_close(call(mindtorch, *[port(part, mindtorch) for part in given]),
                                       port(call(torch, *given), mindtorch), equal_nan=True)
    assert name.split()[0] not in loops.elements or f"{name.split()[0]}_{str(dtype)[6:]}" in used


def test_few_elements_that_broadcast_to_many_repay_a_loop_as_many_do(monkeypatch) -> None:
    loop = loops.remainder.loops["f"]
    monkeypatch.setattr(loop, "_function", None)
    monkeypatch.setattr(loop, "_ufuncs", {})
    monkeypatch.setattr(loop, "_left", loops.REPAID)
    x, y = numbers()[0][2000:5000].view(-1, 1), numbers()[1][2000:5000]
    found = port(x, mindtorch).remainder(port(y, mindtorch))
    assert loop._ufuncs
    np.testing.assert_allclose(found.numpy(), x.remainder(y).numpy(), rtol=1e-5)


@pytest.mark.parametrize("call", [lambda t, x: x.to(t.float32), lambda t, x: x * x, lambda t, x: x - x.flip(0)],
                         ids=["float", "mul", "sub"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_all_numbers_of_half_precision_agree_with_pytorch(call, dtype, used) -> None:
    every = torch.arange(-1 << 15, 1 << 15, dtype=torch.int16).view(dtype).repeat(8)
    assert_same_bits(call(mindtorch, port(every, mindtorch)), port(call(torch, every), mindtorch))


@pytest.mark.parametrize("loop, draw", [
    ("box_muller", lambda t, n: t.randn(n)), ("exchange", lambda t, n: t.randperm(n)),
    ("poisson", lambda t, n: t.poisson(t.arange(n).double() % 40 * 0.9)),
    ("binomial", lambda t, n: t.binomial((t.arange(n).float() % 97).view(1, n), (t.arange(n) % 89 / 88)[:, None].mT)),
    ("binomial", lambda t, n: t.binomial((t.arange(n) % 9001).double(), (t.arange(n) % 7 / 6).double())),
    ("gamma", lambda t, n: t._standard_gamma((t.arange(n) % 61 / 20).view(1, n).mT)),
    ("gamma", lambda t, n: t._sample_dirichlet((t.arange(4 * n) % 61 / 20 + 0.1).view(n, 4).double()))])
@pytest.mark.parametrize("n", [1 << 14, (1 << 14) + 5])
def test_random_numbers_are_those_of_pytorch(n, draw, loop, by_numpy, used) -> None:
    for lib in (mindtorch, torch):
        lib.manual_seed(7)
    mine, theirs = draw(mindtorch, n), draw(torch, n)
    assert loop in used
    np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    mindtorch.manual_seed(7)
    np.testing.assert_array_equal(by_numpy(lambda: draw(mindtorch, n)).numpy(), theirs.numpy())


def test_words_of_random_numbers_are_those_of_numpy_and_pytorch_wherever_in_a_state_they_begin(by_numpy, used) -> None:
    looped, plain, theirs = mindtorch.Generator(), mindtorch.Generator(), torch.Generator()
    for n in (1, 622, 625, 3, 617, 1248, 313, 70_000, 624, 5):
        expected = torch.empty(n, dtype=torch.int64).random_(1 << 32, generator=theirs).numpy()
        for generator, run in ((looped, lambda call: call()), (plain, by_numpy)):
            words = run(lambda generator=generator, n=n: generator.random64(n))
            np.testing.assert_array_equal(words % (1 << 32), expected)
            np.testing.assert_array_equal(generator.get_state().numpy(), theirs.get_state().numpy())
        looped.set_state(plain.get_state())
    assert "mt19937" in used


def gradient_of_distances(t: Any, x: Any, y: Any, p: float) -> Any:
    """Return the gradient of 50 features of ``x``; the other ones are the gradients of the distances."""
    away = x[:, None, :50] - y
    return t.ops.aten._cdist_backward(x[:, 50:130] / 100, x[:, :50].contiguous(), y, p, away.abs().amax(-1))


def gradients_of_samples(t: Any, x: Any, mode: int) -> Any:
    """Return the gradients of images and of a grid; the padding has the mode's number."""
    images, grid = x[:120].view(2, 2, 4, 60, 80), x[120:150].view(2, 60, 80, 2) / 9
    backward = t.ops.aten.grid_sampler_2d_backward
    found = again(backward, images[0] / 999, images[1] / 9, grid, mode, mode, False, (True, True))
    return t.cat([part.reshape(2, -1) for part in found], 1)


ROUNDED = {
    "erf": lambda t, x: x.erf(), "erfinv": lambda t, x: (x / (1 + x.abs())).erfinv(),
    "erfc": lambda t, x: x.erfc(), "lgamma": lambda t, x: x.lgamma(),
    **{f"{name}_float64": lambda t, x, name=name: getattr(x.double(), name)() for name in (
        "sin", "cos", "erf", "erfc")},
    "erfinv_float64": lambda t, x: (x.double() / (1 + x.double().abs())).erfinv(),
    "asin": lambda t, x: (x / 6).asin(),
    "acos": lambda t, x: (x / 6).acos(), "atan": lambda t, x: x.atan(), "atan turned": lambda t, x: lines(x).t().atan(),
    "gelu": lambda t, x: t.nn.functional.gelu(x), "gelu_backward": lambda t, x: t.ops.aten.gelu_backward(x * 2, x),
    "softmax": lambda t, x: lines(x).softmax(1),
    "log_softmax": lambda t, x: lines(x).log_softmax(-1),
    **{f"distances_backward_{dtype} for p = {p}": lambda t, x, dtype=dtype, p=p: gradient_of_distances(
        t, tame(x)[:90].to(getattr(t, dtype)), tame(x)[90:170, :50].to(getattr(t, dtype)).contiguous(), p)
       for p in (1.0, 2.0, torch.inf) for dtype in ("float32", "float64")},
    **{f"sample_backward_{dtype} in mode {mode}": lambda t, x, dtype=dtype, mode=mode: gradients_of_samples(
        t, tame(x)[:150].to(getattr(t, dtype)), mode) for mode in (0, 1, 2) for dtype in ("float32", "float64")},
    "softmax_backward": lambda t, x: t.ops.aten._softmax_backward_data(
        tame(x).flip(1), tame(x).abs() / 6400, 1, t.float32),
    "log_softmax_backward": lambda t, x: t.ops.aten._log_softmax_backward_data(
        tame(x).flip(1).abs() / 640, tame(x) - 9, -1, t.float32),
    "softmax_down": lambda t, x: lines(x).softmax(0),
    "log_softmax_down": lambda t, x: lines(x)[:820].view(20, 41, 640).log_softmax(-2),
    "softmax_backward_down": lambda t, x: t.ops.aten._softmax_backward_data(
        tame(x).flip(1), tame(x).abs() / 6400, 0, t.float32),
    "log_softmax_backward_down": lambda t, x: t.ops.aten._log_softmax_backward_data(
        tame(x).flip(1).abs() / 640, tame(x) - 9, 0, t.float32),
}


@pytest.mark.parametrize("name", ROUNDED)
@pytest.mark.sampled(2)
def test_other_loops_agree_with_numpy_and_pytorch(name, by_numpy, used) -> None:
    x = numbers()[0]
    x = x[(x.abs() < 1e38) | x.isnan()] if name == "gelu" else x  # of which PyTorch makes infinities and NaN
    call, mine = ROUNDED[name], port(x, mindtorch)
    result, without = call(mindtorch, mine), by_numpy(lambda: call(mindtorch, mine))
    assert used - OTHERS == {name.split()[0]}
    for other in (without, port(call(torch, x), mindtorch)):
        mindtorch.testing.assert_close(result, other, equal_nan=True)


@pytest.mark.parametrize(("name", "units"), [("sin", 4), ("cos", 4), ("erf", 4), ("erfc", 4), ("erfinv", 8)])
def test_functions_of_float64_lose_few_units_in_the_last_place(name, units, used) -> None:
    drawn = np.random.default_rng(0)
    x = np.concatenate([drawn.uniform(-1, 1, 5000) * 10.0 ** drawn.uniform(-320, 308, 5000),
                        *[drawn.uniform(-most, most, 5000) for most in (2, 30, 2e6)],
                        np.arange(-5000, 5000) * (np.pi / 2), [0.0, -0.0, np.inf, -np.inf, np.nan,
                        2.0**20, 28.0, -28.0, 26.5, 1.0, -1.0, 0.5, 5e-324, 1 - 2.0**-53]])
    x = np.where(np.abs(x) > 1, 1 / np.maximum(np.abs(x), 1), x) if name == "erfinv" else x
    for given in (x, x[:29986].reshape(22, -1).T):
        found, wanted = (getattr(lib.from_numpy(given), name)().numpy() for lib in (mindtorch, torch))
        np.testing.assert_array_max_ulp(found, wanted, units)
        np.testing.assert_array_equal(np.signbit(found)[wanted == 0], np.signbit(wanted)[wanted == 0])
    assert f"{name}_float64" in used


@pytest.mark.parametrize("name", ["i1", "i1e"])
def test_bessel_functions_of_float32_are_those_of_pytorch_from_one_number_on(name, used) -> None:
    x = numbers()[0]
    for given in (x, x[:1], x[500:700], x[:9] * 9):
        result = getattr(mindtorch.special, name)(port(given, mindtorch))
        expected = port(getattr(torch.special, name)(given), mindtorch)
        mindtorch.testing.assert_close(result, expected, rtol=2e-6, atol=0, equal_nan=True)
        assert result[result == 0].signbit().equal(expected[result == 0].signbit())
    assert f"{name}_float32" in used


@pytest.mark.parametrize("name", ROUNDED)
@pytest.mark.sampled(2)
def test_results_do_not_depend_on_the_number_of_threads(name, with_threads, used) -> None:
    x = port(torch.randn(1 << 21), mindtorch)
    found = [with_threads(count, lambda: ROUNDED[name](mindtorch, x)) for count in (1, 2, 3)]
    assert used - OTHERS == {name.split()[0]}
    assert found[0].equal(found[1]) and found[0].equal(found[2])


@pytest.mark.parametrize("memory", ["read-only", "unaligned"])
def test_loops_take_memory_that_may_not_be_written_to_or_is_not_aligned(memory, used) -> None:
    x = np.random.default_rng(1).standard_normal(LARGE + 640, np.float32)
    given = np.frombuffer(b"?" + x.tobytes(), np.uint8)[1:].copy() if memory == "read-only" else np.frombuffer(
        bytearray(b"?" + x.tobytes()), np.uint8)[1:]
    given = given.view(np.float32)
    given.flags.writeable = memory == "unaligned"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as PyTorch does of arrays that may not be written to
        other, mine = mindtorch.from_numpy(given), mindtorch.from_numpy(x)
    assert other._array.flags.carray is False
    for call in ROUNDED.values():
        assert call(mindtorch, other).equal(call(mindtorch, mine))
    assert normalised(mindtorch, other, True, False)[0].equal(normalised(mindtorch, mine, True, False)[0])
    assert used >= {*(name.split()[0] for name in ROUNDED), "layer_norm_float32", "layer_norm_backward_float32"}


def test_what_no_loop_is_written_for_is_computed_by_numpy(used) -> None:
    x = mindtorch.randn(LARGE + 640)
    for y in (x.double(), x.to(mindtorch.complex64)):
        y.sigmoid()
    lines(x.double()).softmax(1), lines(x).t().softmax(0), lines(x).t().softmax(1)
    lines(x.to(mindtorch.complex64)).exp()
    mindtorch.nn.functional.gelu(x, approximate="tanh")
    assert used <= {"box_muller", "mt19937", "sum_rows_float32"}  # of softmax, whose exponentials are NumPy's
