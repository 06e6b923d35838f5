"""Derivatives where a function has a corner, where a limit is a convention, and where numbers are complex."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch
from tests.support import assert_same, torch

NAN = float("nan")


def first(function: Callable[..., Any], *values: Any) -> Callable[[Any], Any]:
    """Make a program that shows the gradients of a function at some points, from a gradient of 1, 2, 3, ..."""

    def case(t: Any) -> Any:
        inputs = [t.tensor(value, requires_grad=True) for value in values]
        out = function(t, *inputs)
        start = t.arange(1.0, 1 + out.numel()).reshape(out.shape).to(out.dtype) * ((1 + 2j) if out.is_complex() else 1)
        return t.autograd.grad(out, inputs, start)

    return case


def second(function: Callable[..., Any], *values: Any) -> Callable[[Any], Any]:
    """Make a program that shows the gradients of the squares of the gradients."""

    def case(t: Any) -> Any:
        inputs = [t.tensor(value, requires_grad=True) for value in values]
        start = t.full_like(inputs[0], 3.0).requires_grad_()
        gradients = t.autograd.grad(function(t, *inputs), inputs, start, create_graph=True)
        return t.autograd.grad(sum((g * g).sum() for g in gradients), [*inputs, start], allow_unused=True)

    return case


ONE, OTHER, THIRD = [1 + 2j, -0.5j, 2.0 - 1j], [0.25 - 1j, 3.0 + 0j, 1j], [0.5 + 1j, -1 + 0j, 2j]
CASES = {
    "max of all with NaN": first(lambda t, x: x.max(), [1.0, NAN, 3.0, NAN]),
    "min of all with ties": first(lambda t, x: x.min(), [1.0, 2.0, 1.0]),
    "amax with NaN": first(lambda t, x: x.amax(0), [1.0, NAN, 3.0, NAN]),
    "0 to the power of 0": first(lambda t, x, e: x.pow(e), [0.0, 0.0, 0.0, 2.0], [0.0, 1.0, -1.0, 0.0]),
    "0 to the power of complex numbers": first(lambda t, x, e: x.pow(e), [0j, 0j, 0j, 2j], [0j, 1j, 1 + 1j, 0j]),
    "0 to complex powers, the exponent's alone": first(lambda t, e: t.pow(0.0, e), [0j, 1j, 1 + 1j, 2 + 0j]),
    "0 to powers, the exponent's alone": first(lambda t, e: t.pow(0.0, e), [0.0, 1.0, -1.0]),
    "elu, twice": second(lambda t, x: t.nn.functional.elu(x, 2.0), [-1.0, 0.0, 1.0]),
    "celu, twice": second(lambda t, x: t.nn.functional.celu(x, 2.0), [-1.0, 0.0, 1.0]),
    "prelu": first(lambda t, x, w: t.nn.functional.prelu(x, w), [-1.0, 0.0, 1.0], [0.25]),
    "prelu, twice": second(lambda t, x, w: t.nn.functional.prelu(x, w), [-1.0, 0.0, 1.0], [0.25]),
    "leaky_relu, twice": second(lambda t, x: t.nn.functional.leaky_relu(x, 0.25), [-1.0, 0.0, 1.0]),
    **{f"{order} gradient of cumprod of {values}": make(lambda t, x: x.cumprod(0), values)
       for order, make in (("first", first), ("second", second))
       for values in ([NAN, 0.0, 2.0], [2.0, 0.0, NAN, 3.0], [0.0, float("inf"), 0.0], [2.0, 0.0, 3.0])},
    "cumprod of complex numbers": first(lambda t, x: x.cumprod(0), [1j, 0j, 2 + 1j, 3 + 0j]),
    "angle of complex numbers": first(lambda t, x: x.angle(), [0j, 1 + 1j, -2 + 0j]),
    "angle of real numbers": first(lambda t, x: x.angle(), [0.0, 1.0, -2.0]),
    "abs of complex numbers": first(lambda t, x: x.abs(), [0j, 3 + 4j]),
    "sgn of complex numbers": first(lambda t, x: x.sgn(), [0j, *ONE]),
    "logaddexp of complex numbers": first(lambda t, x, y: t.logaddexp(x, y), ONE, OTHER),
    "lerp of complex numbers": first(lambda t, x, y, w: t.lerp(x, y, w), ONE, OTHER, THIRD),
    "lerp of complex numbers by a number": first(lambda t, x, y: t.lerp(x, y, 0.25 + 1j), ONE, OTHER),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_pytorchs(name: str) -> None:
    for ours, theirs in zip(CASES[name](mindtorch), CASES[name](torch), strict=True):
        assert_same(ours, theirs)


REAL_ONLY = {
    **{name: lambda t, x, name=name: getattr(t, name)(x) for name in (
        "nan_to_num", "slice_copy", "view_as_complex_copy", "_neg_view_copy", "clone", "abs")},
    **{name: lambda t, x, name=name: getattr(t, name)(x[:1], 0) for name in (
        "amax", "cummin", "median", "mode", "softmax", "log_softmax")},
    "normal": lambda t, x: t.normal(x, 1.0), "select_copy": lambda t, x: t.select_copy(x, 0, 0),
    "silu": lambda t, x: t.nn.functional.silu(x), "silu_": lambda t, x: t.nn.functional.silu(x * 1, inplace=True),
    "embedding": lambda t, x: t.nn.functional.embedding(t.tensor([1]), x.reshape(1, -1)[[0, 0]]),
    "dropout": lambda t, x: t.native_dropout(x, 0.5, True), "to_sparse": lambda t, x: x.to_sparse(),
    "scatter_reduce": lambda t, x: x.scatter_reduce(0, t.zeros(x.shape, dtype=t.int64), x, "sum"),
    "slice_scatter": lambda t, x: t.slice_scatter(x, x), "select_scatter": lambda t, x: t.select_scatter(x, x[0], 0, 1),
    "index_reduce": lambda t, x: t.index_reduce(t.stack([x, x]), 0, t.tensor([0]), x[None], "prod"),
    "soft_margin_loss": lambda t, x: t.nn.functional.soft_margin_loss(x, t.ones(x.shape)),
    "geqrf": lambda t, x: t.geqrf(x.reshape(1, -1)), "without": lambda t, x: t.nan_to_num(x.detach()).requires_grad,
}


@pytest.mark.parametrize("values", [[1 + 2j, -0.5j], [[1.0, 2.0], [0.5, -1.0]]], ids=["complex", "real"])
@pytest.mark.parametrize("name", REAL_ONLY)
def test_complex_outputs_of_operators_for_real_numbers_have_no_gradient(name: str, values: Any) -> None:
    told = []
    for t in (mindtorch, torch):
        try:
            REAL_ONLY[name](t, t.tensor(values, requires_grad=True))
            told.append("")
        except RuntimeError as error:
            told.append(str(error).partition("\n")[0])
    assert told[0] == told[1]


@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
def test_second_derivatives_of_products_with_two_zeros_are_refused(name: str) -> None:
    def gradient(t: Any, zeros: int) -> Any:
        x = t.tensor([2.0, 3.0], requires_grad=True)
        factors = t.tensor([0.0] * zeros + [5.0] * (3 - zeros), requires_grad=True)
        product = getattr(x, name)(0, t.tensor([0, 0, 1]), factors, "prod")
        return t.autograd.grad(product.square().sum(), factors, create_graph=True)[0], factors

    for zeros in (1, 2):
        ours, theirs = (gradient(t, zeros) for t in (mindtorch, torch))
        assert_same(ours[0].detach(), theirs[0].detach())
    ours, theirs = (t.autograd.grad(found.sum(), factors)[0] for t in (mindtorch, torch)
                    for found, factors in [gradient(t, 1)])
    assert_same(ours, theirs)
    for t in (mindtorch, torch):
        found, factors = gradient(t, 2)
        with pytest.raises(RuntimeError, match=rf"{name}\(\): Double backward is unsupported"):
            t.autograd.grad(found.sum(), factors)
