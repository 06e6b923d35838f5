"""Arithmetic in half precision is rounded where PyTorch rounds."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch
from mindtorch._backends.cpu import pointwise, pointwise_halves
from mindtorch._backends.cpu.plans import Plans
from tests.both import Program, assert_same_outcome, each_program
from tests.support import assert_same, port, torch

EXTREMES = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -65504.0, 6e-8]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_multiple_is_added_in_half_precision_with_one_rounding(dtype: str) -> None:
    """The factor is rounded to half precision. What is left of whole vectors PyTorch rounds twice."""
    x, y = np.random.default_rng(0).standard_normal((2, 64, 16), np.float32)

    def results(lib: Any) -> list[Any]:
        a, b = (lib.tensor(v).to(getattr(lib, dtype)) for v in (x, y))
        return [lib.add(a, b, alpha=0.3), lib.sub(a, b, alpha=0.3), lib.rsub(a, b, alpha=0.3),
                a.clone().add_(b, alpha=0.3), a.clone().sub_(b, alpha=0.3)]

    for ours, theirs in zip(results(mindtorch), results(torch), strict=True):
        assert np.mean(np.asarray(ours.float()) != theirs.float().numpy()) < 0.005  # PyTorch fuses, which rounds less


@each_program(*[
    lambda t, name=name, copies=copies, dim=dim: getattr(t, name)(t.tensor(  # type: ignore[misc]
        [[3e38, 3e38, -3e38, 1e-38], [2.0, 0.5, 0.25, 3.0]]).bfloat16().repeat_interleave(copies, 1 - dim), dim)
    for name in ("cumsum", "cumprod", "logcumsumexp") for copies in (1, 3000) for dim in (0, 1)])
def test_running_values_of_half_precision_overflow_as_float32(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[lambda t, dtype=dtype, mode=mode, pair=pair: t.div(*(
    t.tensor(v, dtype=getattr(t, dtype) if isinstance(v, list) else t.float64) for v in pair), rounding_mode=mode)
    for dtype in ("float16", "bfloat16") for mode in (None, "floor", "trunc") for pair in (
        ([2049.0, -777.5, 65504.0, 0.0, -0.0], [3.0, 0.7, -0.1, 5.0, 5.0]), ([2049.0, -777.5, 0.1], 3.3333),
        (4099.7, [3.0, 0.7, -0.1, 0.0]))])
def test_divisions_of_half_precision_round_each_step(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[lambda t, call=call, dtype=dtype, count=count: [
    call(t, t.tensor([2049.0, -777.5, 0.1, 1.7] * count).to(getattr(t, dtype))) for _ in range(3)]
    for dtype in ("float16", "bfloat16") for count in (1, 1000) for call in (
        lambda t, x: t.mul(2.3456, x), lambda t, x: 2.3456 * x, lambda t, x: t.mul(t.tensor(2.3456), x),
        lambda t, x: t.mul(x, t.tensor(2.3456)), lambda t, x: t.div(2.3456, x), lambda t, x: t.true_divide(7, x))])
def test_a_number_that_stands_first_is_rounded_to_half_precision_and_one_that_stands_second_is_not(
        program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[lambda t, dtype=dtype, name=name, turn=turn: [
    getattr(t, name)(*turn(t.tensor([[a, b] for a in EXTREMES for b in EXTREMES] * 40).to(getattr(t, dtype)), t))
    for _ in range(3)] for dtype in ("float16", "bfloat16") for name in ("maximum", "minimum") for turn in (
        lambda x, t: (x[:, 0].contiguous(), x[:, 1].contiguous()),
        lambda x, t: (x[:, 0].reshape(20, -1).T, x[:, 1].reshape(20, -1).T))])
def test_the_larger_and_the_smaller_of_halves_are_those_of_extreme_numbers(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[lambda t, dtype=dtype, call=call: call(t, *[
    (t.arange(count * other) % 97 - 48).reshape(count, other).to(getattr(t, dtype)) for count, other in (
        (1100, 1), (1, 1000), (1100, 1000))])
    for dtype in ("float16", "bfloat16") for call in (
        lambda t, x, y, z: t.hypot(x, y), lambda t, x, y, z: z + y[0], lambda t, x, y, z: z.t() - x[:, 0],
        lambda t, x, y, z: x < y, lambda t, x, y, z: t.addcmul(z, x, y), lambda t, x, y, z: t.where(z > 1, x, y),
        lambda t, x, y, z: t.add(z.reshape(11, 100, 1000).permute(2, 0, 1), x.reshape(11, 100), alpha=2),
        lambda t, x, y, z: t.lerp(z, y, 0.25), lambda t, x, y, z: z[None] + y, lambda t, x, y, z: z[:, None] * y)])
def test_many_halves_of_which_some_broadcast_are_computed_in_parts(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[lambda t, dtype=dtype, call=call: call(t, t.tensor([1.5, -0.75, 0.25, -2.0] * 5000, dtype=dtype(t)))
                for dtype in (lambda t: t.float16, lambda t: t.bfloat16) for call in (
                    lambda t, x: t.autograd.grad(t.nn.functional.elu(x.requires_grad_(), 1.5), x, x.detach()),
                    lambda t, x: t.autograd.grad(t.celu(x.requires_grad_(), 0.5), x, x.detach()),
                    lambda t, x: t.polygamma(1, x))])
def test_numbers_that_are_not_promoted_reach_functions_of_many(program: Program) -> None:
    assert_same_outcome(program)


#: Functions of few numbers, which no plan is made for: of tensors, and of Python's numbers, which are rounded or not.
FEW: dict[str, Callable[..., Any]] = {
    "exp": lambda t, x: x.exp(), "minimum": lambda t, x: t.minimum(x, x.flip(0)), "equal": lambda t, x: x == x.flip(0),
    "add": lambda t, x: x.add(x, alpha=3), "times a number": lambda t, x: x * 0.3001, "less": lambda t, x: x < 0.30005,
    "minus zero": lambda t, x: x * -0.0, "clamp": lambda t, x: x.clamp(-0.3001, 1), "too large": lambda t, x: x / 7e4,
    "shrunk": lambda t, x: t.nn.functional.hardshrink(x, 0.3001), "of two": lambda t, x: x[:1] / x[:0],
    "where": lambda t, x: t.where(x > 0, x, 0.3001), "addcmul": lambda t, x: x.addcmul(x, x, value=0.3001),
    "power": lambda t, x: x ** 3, "remainder": lambda t, x: t.remainder(x, 0.3001), "digamma": lambda t, x: x.digamma()}


@each_program(*[lambda t, call=call, dtype=dtype, strided=strided: call(t, (
    t.tensor([[0.5, -2.0, 3.0], [1.0, 0.3, -0.0]]).mT if strided else t.tensor([[0.5, -2.0], [3.0, 0.0]])).to(
        getattr(t, dtype))) for call in FEW.values() for dtype in ("float16", "bfloat16", "int32", "bool", "float32")
    for strided in (False, True)])
def test_few_numbers_are_converted_and_rounded_as_many_are_in_the_layout_of_the_operand(program: Program) -> None:
    assert_same_outcome(program)


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("name", ["mse_loss", "smooth_l1_loss", "huber_loss"])
@pytest.mark.parametrize("dtype", [mindtorch.float16, mindtorch.bfloat16])
def test_gradients_of_losses_are_rounded_once(dtype: mindtorch.dtype, name: str, strided: bool) -> None:
    """The doubled difference, or one part of the mean, may be beyond float16 where the gradient is not."""
    x = mindtorch.from_numpy(np.random.default_rng(0).standard_normal((30, 700), np.float32) * 2e4).to(dtype)
    x = x.t() if strided else x

    def gradient(leaf: mindtorch.Tensor) -> mindtorch.Tensor:
        leaf.requires_grad_()
        loss = getattr(mindtorch.nn.functional, name)(leaf, leaf.detach().flip(0))
        return mindtorch.autograd.grad(loss, leaf, mindtorch.ones_like(loss))[0]

    assert gradient(x.clone()).equal(gradient(x.float()).to(dtype))


@pytest.mark.parametrize("dtype", [mindtorch.float16, mindtorch.bfloat16])
def test_means_at_an_index_are_rounded_once(dtype: mindtorch.dtype) -> None:
    x = (mindtorch.from_numpy(np.random.default_rng(0).standard_normal(900, np.float32)) + 100).to(dtype)
    found = x.new_zeros(3).index_reduce(0, mindtorch.arange(900) % 3, x, "mean", include_self=False)
    assert found.equal(x.double().view(300, 3).mean(0).to(dtype))


@pytest.mark.parametrize("dtype", [mindtorch.float16, mindtorch.bfloat16])
def test_distances_take_half_precision_where_a_product_computes_them(dtype: mindtorch.dtype) -> None:
    x = mindtorch.arange(90.0).view(30, 3).sin().to(dtype)
    assert mindtorch.cdist(x, x.flip(0)).equal(mindtorch.cdist(x.float(), x.float().flip(0)).to(dtype))


@each_program(*[lambda t, dtype=dtype: t.cdist(t.ones(5, 3, dtype=getattr(t, dtype)), t.ones(4, 3))
                for dtype in ("float16", "bfloat16")])
def test_distances_of_few_rows_refuse_half_precision(program: Program) -> None:
    assert_same_outcome(program)


NAN = float("nan")
#: Functions of numbers of which some are zero, infinite or NaN; PyTorch's NaN has either sign.
OF_SPECIAL: list[Callable[..., Any]] = [
    lambda t, x: t.copysign(x, x.flip(1).nan_to_num()), lambda t, x: x.nansum(), lambda t, x: x.nansum(0),
    lambda t, x: x.nanmean(), lambda t, x: t.floor_divide(x, x.flip(1)), lambda t, x: t.lerp(x, x.flip(1), x.flip(0)),
    lambda t, x: t.xlogy(x, x.flip(1).abs()), lambda t, x: t.signbit(x.nan_to_num()), lambda t, x: t.isneginf(-x)]


@each_program(*[lambda t, call=call, dtype=dtype, some=some: [
    call(t, t.tensor([[2.0, -0.0, 1.5, some], [0.0, -3.0, float("inf"), 5.0]]).to(getattr(t, dtype)).repeat(1, times))
    for times in (1, 1, 1, 100, 400)] for dtype in ("float16", "bfloat16") for some in (4, NAN) for call in OF_SPECIAL])
def test_signs_and_what_is_no_number_count_in_half_precision_of_any_size(program: Program) -> None:
    assert_same_outcome(program)


#: Functions of one number of half precision, of which the library keeps a table, and how each is called.
TABLED = {
    "sinc": lambda lib, x: lib.sinc(x), "logit": lambda lib, x: lib.logit(x), "frac": lambda lib, x: lib.frac(x),
    "selu": lambda lib, x: lib.selu(x), "isneginf": lambda lib, x: lib.isneginf(x),
    "hardshrink": lambda lib, x: lib.nn.functional.hardshrink(x, 0.25), "clamp_min": lambda lib, x: x.clamp_min(-0.5),
    "rsub": lambda lib, x: lib.rsub(x, 2), "i0e": lambda lib, x: lib.special.i0e(x),
    "gelu": lambda lib, x: lib.nn.functional.gelu(x)}


@pytest.mark.parametrize("name", TABLED)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_table_of_results_has_those_of_each_number(dtype: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pointwise_halves, "SOME", 1 << 15)  # two calls before there is one
    monkeypatch.setattr(pointwise, "TABLES", Plans())
    call = TABLED[name]
    some = torch.tensor([-0.0, 0.0, float("inf"), -float("inf"), float("nan"), 0.1, -0.7, 2.5, 300.0])
    if name == "gelu":  # of infinity, PyTorch's is NaN or not, depending on the layout and the processor
        some = some.clamp(-1e3, 1e3)
    many = some.repeat(2000).view(200, -1)
    for numbers in (torch.tensor(0.3), torch.tensor([0.3]), some, some.view(3, 3).T, torch.ones(2, 0), many, many.T):
        x = numbers.to(getattr(torch, dtype))
        for _ in range(6):
            assert_same(call(mindtorch, port(x, mindtorch)), call(torch, x), rtol=0.008)
    assert bool(pointwise.TABLES) == (name != "gelu")
