"""`torch.func`: derivatives of functions in both modes, nested in each other, and modules as functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch
import mindtorch.func
from tests.func.both import assert_agree
from tests.support import torch

CASES = {
    "grad": lambda L, F, x, v: F.grad(lambda x: (x.sin() * x).sum())(x),
    "grad of several": lambda L, F, x, v: F.grad(lambda x, y: (x * y.exp()).sum(), argnums=(1, 0))(x, v),
    "grad of the last": lambda L, F, x, v: F.grad(lambda x, y: (x * y.exp()).sum(), argnums=-1)(x, v),
    "grad of a dict": lambda L, F, x, v: F.grad(lambda p, s: (p["a"] * p["b"][0] * s).sum())({"a": x, "b": [v]}, 2),
    "grad of what is unused": lambda L, F, x, v: F.grad(lambda x, y: y.sum())(x, v),
    "grad_and_value": lambda L, F, x, v: F.grad_and_value(lambda x: (x**2).sum())(x),
    "aux": lambda L, F, x, v: F.grad_and_value(lambda x: ((x.sin() * v).sum(), {"v": v, "x": x}), has_aux=True)(x),
    "grad of grad": lambda L, F, x, v: F.grad(lambda x: F.grad(lambda y: (y**3 * x).sum())(x).sum())(x),
    "grad of grad by another": lambda L, F, x, v: F.grad(lambda x: F.grad(lambda z: (x * z**2).sum())(v).sum())(x),
    "no_grad inside": lambda L, F, x, v: F.grad(lambda x: (x * x.detach()).sum())(x),
    "vjp": lambda L, F, x, v: F.vjp(lambda x: {"a": x.sin(), "b": (x @ x.t(),)}, x)[1](
        {"a": v, "b": (L.ones(3, 3, dtype=x.dtype),)}),
    "vjp of vjp": lambda L, F, x, v: F.vjp(F.vjp(lambda x: x.sin(), x)[1], v)[1]((v,)),
    "vjp twice": lambda L, F, x, v: (lambda back: (back(v), back(v * 2)))(F.vjp(lambda x: x.exp(), x)[1]),
    "vjp with aux": lambda L, F, x, v: F.vjp(lambda x: (x.exp(), x), x, has_aux=True)[2],
    "jvp": lambda L, F, x, v: F.jvp(lambda x: (x.exp(), x @ x.t()), (x,), (v,)),
    "jvp of what is unused": lambda L, F, x, v: F.jvp(lambda x: v * 2, (x,), (v,)),
    "jvp with aux": lambda L, F, x, v: F.jvp(lambda x: (x.exp(), x.sum()), (x,), (v,), has_aux=True),
    "jvp of jvp": lambda L, F, x, v: F.jvp(lambda x: F.jvp(lambda y: (y * x).sin(), (x,), (v,))[1], (x,), (v,)),
    "jvp of grad": lambda L, F, x, v: F.jvp(F.grad(lambda x: (x.sin() * x).sum()), (x,), (v,)),
    "grad of jvp": lambda L, F, x, v: F.grad(lambda x: F.jvp(lambda y: (y * x).sin(), (x,), (v,))[1].sum())(x),
    "jvp is not confused": lambda L, F, x, v: F.jvp(
        lambda x: x * F.jvp(lambda y: x + y, (L.ones_like(x),), (L.ones_like(x),))[1], (x,), (v,)),
    "grad of jvp of grad": lambda L, F, x, v: F.grad(lambda x: F.jvp(
        F.grad(lambda y: (y**4).sum()), (x,), (v,))[1].sum())(x),
    "linearize": lambda L, F, x, v: F.linearize(lambda x: x.sin() @ x.t(), x)[1](v),
}
WRONG = {
    "grad of a vector": lambda L, F, x, v: F.grad(lambda x: x * 2)(x),
    "grad of no tensor": lambda L, F, x, v: F.grad(lambda x: 2)(x),
    "grad by a number": lambda L, F, x, v: F.grad(lambda x: x)(2.0),
    "grad by integers": lambda L, F, x, v: F.grad(lambda x: x.sum())(L.tensor([1, 2])),
    "argnums": lambda L, F, x, v: F.grad(lambda x: x.sum(), argnums=1)(x),
    "argnums twice": lambda L, F, x, v: F.grad(lambda x, y: x.sum(), argnums=(0, 0))(x, v),
    "no argnums": lambda L, F, x, v: F.grad(lambda x, y: x.sum(), argnums=())(x, v),
    "argnums of no int": lambda L, F, x, v: F.grad(lambda x, y: x.sum(), argnums=0.5)(x, v),
    "no aux": lambda L, F, x, v: F.grad(lambda x: x.sum(), has_aux=True)(x),
    "aux of no tensor": lambda L, F, x, v: F.grad(lambda x: (x.sum(), 3), has_aux=True)(x),
    "vjp of nothing": lambda L, F, x, v: F.vjp(lambda x: None, x),
    "vjp of a number": lambda L, F, x, v: F.vjp(lambda x: (x, 3), x),
    "vjp of integers": lambda L, F, x, v: F.vjp(lambda x: x.argmax(), x),
    "jvp of a list": lambda L, F, x, v: F.jvp(lambda x: x, [x], [v]),
    "jvp of a number": lambda L, F, x, v: F.jvp(lambda x: x, (2,), (v,)),
    "jvp strict": lambda L, F, x, v: F.jvp(lambda x: v, (x,), (v,), strict=True),
    "jvp of nothing": lambda L, F, x, v: F.jvp(lambda: x, (), ()),
    "jvp without aux": lambda L, F, x, v: F.jvp(lambda x: x, (x,), (v,), has_aux=True),
    "hooks": lambda L, F, x, v: hooked(L, F, x),
}


def hooked(lib: Any, func: Any, x: Any) -> Any:
    def function(x: Any) -> Any:
        with lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            return x.sin().sum()

    return func.grad(function)(x)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_derivative(case: str, requires_grad: bool) -> None:
    assert_agree(CASES[case], (3, 4), (3, 4), requires_grad=requires_grad)


@pytest.mark.parametrize("case", WRONG)
def test_wrong_call(case: str) -> None:
    assert_agree(WRONG[case], (3, 4), (3, 4))


def test_the_result_belongs_to_the_graph_outside() -> None:
    x = mindtorch.tensor([1.0, 2.0], requires_grad=True)
    mindtorch.func.grad(lambda x: (x**3).sum())(x).sum().backward()
    assert x.grad.tolist() == [6, 12]


def test_a_transform_ignores_no_grad_around_it_and_respects_it_inside() -> None:
    x = mindtorch.tensor([1.0, 2.0])

    def function(x: Any) -> Any:
        with mindtorch.no_grad():
            c = x**2
        return (x * c).sum()

    with mindtorch.no_grad():
        assert mindtorch.func.grad(function)(x).tolist() == [1, 4]


def constant(lib: Any, function: Any) -> Any:
    """Return a function that is called under ``no_grad``."""
    def call(*args: Any) -> Any:
        with lib.no_grad():
            return function(*args)

    return call


#: Transforms under ``no_grad``, whose results are constants for what is around it: (the value, its gradient).
CONSTANTS = {
    "grad": lambda L, F, x: constant(L, F.grad(lambda x: x**2))(x),
    "its value": lambda L, F, x: constant(L, F.grad_and_value(lambda x: x**3))(x)[1],
    "auxiliary": lambda L, F, x: constant(L, F.grad(lambda x: (x**3, x * 2), has_aux=True))(x)[1],
    "vjp": lambda L, F, x: constant(L, lambda x: F.vjp(lambda x: x**3, x)[0])(x),
    "a product": lambda L, F, x: constant(L, F.vjp(lambda x: x**3, x)[1])(x.detach())[0],
    "a product afterwards": lambda L, F, x: constant(L, lambda x: F.vjp(lambda x: x**3, x)[1])(x)(x.detach())[0],
    "inside of grad": lambda L, F, x: F.grad(lambda x: x**3 - constant(L, F.grad(lambda x: x**4))(x))(x),
    "jvp": lambda L, F, x: constant(L, lambda x: F.jvp(lambda x: x**3, (x,), (x.detach(),))[1])(x),
}


@pytest.mark.parametrize("case", CONSTANTS)
def test_results_of_a_transform_under_no_grad_are_constants_around_it(case: str) -> None:
    def run(L: Any, F: Any, x: Any) -> Any:
        x = x.sum().detach().requires_grad_()
        y = CONSTANTS[case](L, F, x)
        return y, L.autograd.grad(y, x)[0] if y.requires_grad else None

    assert_agree(run, (2,))


@pytest.mark.parametrize("uses", ["gradient", "value", "both"])
def test_a_graph_around_a_transform_is_kept_for_its_results(uses: str) -> None:
    def run(L: Any, F: Any, w: Any, x: Any, y: Any) -> Any:
        def loss(w: Any, x: Any, y: Any) -> Any:
            return L.nn.functional.mse_loss((x @ w).tanh(), y)

        def after_a_step(x: Any, y: Any) -> Any:
            gradient, value = F.grad_and_value(loss)(w, x, y)
            return loss(w - 0.1 * gradient if uses != "value" else w, x, y) + (value if uses != "gradient" else 0)

        w.requires_grad_()
        return L.autograd.grad(F.vmap(after_a_step)(x, y).sum(), w)

    assert_agree(run, (4, 2), (3, 5, 4), (3, 5, 2))


def linear(lib: Any) -> Any:
    module = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.Tanh(), lib.nn.Linear(4, 2))
    with lib.no_grad():
        for i, parameter in enumerate(module.parameters()):
            parameter.copy_(lib.tensor(np.random.RandomState(i).randn(*parameter.shape).tolist()))
    return module


MODULES = {
    "gradient": lambda L, F, x: F.grad(lambda p: F.functional_call(linear(L), p, x.float()).sum())(
        {name: p.detach() for name, p in linear(L).named_parameters()}),
    "several dicts": lambda L, F, x: F.functional_call(
        linear(L), ({"0.weight": L.ones(4, 3)}, {"0.bias": L.ones(4)}), (x.float(),)),
    "a name twice": lambda L, F, x: F.functional_call(linear(L), ({"0.bias": x}, {"0.bias": x}), x),
    "no dict": lambda L, F, x: F.functional_call(linear(L), [3], x),
    "None for a bias": lambda L, F, x: F.functional_call(linear(L), {"0.bias": None}, (x.float(),)),
    "None for a weight": lambda L, F, x: F.functional_call(linear(L), {"2.weight": None}, (x.float(),)),
    "an unknown name": lambda L, F, x: F.functional_call(linear(L), {"0.extra": L.ones(4)}, (x.float(),)),
    "a module's name": lambda L, F, x: F.functional_call(linear(L), {"0": L.ones(4)}, (x.float(),)),
    "no name": lambda L, F, x: F.functional_call(linear(L), {"": L.ones(4)}, (x.float(),)),
    "a number": lambda L, F, x: F.functional_call(linear(L), {"0.bias": 3}, (x.float(),)),
    "stacked": lambda L, F, x: F.stack_module_state([linear(L), linear(L)])[0],
    "none stacked": lambda L, F, x: F.stack_module_state([]),
    "stacked in different modes": lambda L, F, x: F.stack_module_state([linear(L), linear(L).eval()]),
    "stacked of different classes": lambda L, F, x: F.stack_module_state([linear(L), L.nn.Linear(3, 4)]),
}


@pytest.mark.parametrize("case", MODULES)
def test_module_as_a_function(case: str) -> None:
    assert_agree(MODULES[case], (2, 3), tolerance=1e-5)


def test_names() -> None:
    assert set(mindtorch.func.__all__) <= set(torch.func.__all__)


@pytest.mark.parametrize("recurse", [True, False])
def test_debug_unwrap_shows_what_lies_below_the_transforms(recurse: bool) -> None:
    def seen(t: Any) -> list[Any]:
        found = []

        def look(x: Any) -> Any:
            below = t.func.debug_unwrap(x, recurse=recurse)
            found.append((tuple(below.shape), below.sum().item(), below.requires_grad) if recurse else
                         tuple(below.shape))
            return (x * x).sum()

        x = t.arange(6.0).view(2, 3)
        t.func.vmap(look)(x)
        t.func.grad(look)(x[0])
        t.func.jvp(look, (x[0],), (x[0],))
        t.func.vmap(t.func.grad(look))(x)
        t.func.grad(lambda y: t.func.vmap(look)(y).sum())(x)
        t.func.grad(lambda y: t.func.vmap(t.func.grad(look))(y).sum())(x)
        t.func.vmap(lambda y: t.func.jvp(look, (y,), (y,)))(x)
        t.func.vmap(t.func.vmap(lambda y: look(y[None])))(x)
        assert t.func.debug_unwrap(x) is x
        return found

    assert seen(mindtorch) == seen(torch)
