"""Corners of autograd: programs that show the same in both libraries, or raise the same error."""
from __future__ import annotations

from typing import Any

import pytest

from .both import Case, assert_same


def differentiated(function: Case, *values: Any, **options: Any) -> Case:
    """Where the gradient of a function of a tensor is finite."""

    def run(t: Any) -> Any:
        x = t.tensor(*values, **{name: getattr(t, value) for name, value in options.items()}).requires_grad_()
        function_of_x: Any = function(t)
        function_of_x(x).abs().sum().backward()
        return x.grad.isfinite()

    return run


@pytest.mark.parametrize("case", [
    differentiated(lambda t: lambda x: t.cdist(x, t.tensor([[0.0, 3.0]]), p=0.5), [[0.0, 1.0]]),
    differentiated(lambda t: lambda x: t.sinc(x), [1e-300, 0.0, 1e-310], dtype="double"),
    differentiated(lambda t: lambda x: t.pow(t.tensor(-2.0), x), 0.5 + 1j),
])
def test_gradients_are_finite_where_pytorchs_are(case: Case) -> None:
    assert_same(case)


def view_made_under(mode: str) -> Case:
    def run(t: Any) -> Any:
        base = t.ones(3, requires_grad=True).clone()
        with getattr(t, mode)():
            view = base[:2]
        return view.mul_(2)

    return run


def view_of_view_made_under(mode: str) -> Case:
    def run(t: Any) -> Any:
        view = t.ones(3, requires_grad=True).clone()[:2]
        with getattr(t, mode)():
            inner = view[:1]
        view.mul_(2)
        return inner.grad_fn

    return run


@pytest.mark.parametrize("case", [made(mode) for made in (view_made_under, view_of_view_made_under)
                                  for mode in ("no_grad", "inference_mode")])
def test_views_remember_the_mode_that_they_were_made_in(case: Case) -> None:
    assert_same(case)


def what_inference_mode_detaches(t: Any) -> Any:
    """Describe normal tensors that inference mode detached, and views of them taken outside."""
    x = t.ones(2, 3, requires_grad=True)
    with t.inference_mode():
        made = x.detach(), x.data, x[0].detach(), (x * 2).detach()
    return [(y.is_inference(), y._base is None, y[:1].is_inference(), y[:1]._base is y) for y in made]


def views_of_inference_tensors(t: Any) -> Any:
    with t.inference_mode():
        x = t.ones(3)
        inside = x[:2]
    return inside._is_view(), x[:2]._is_view(), x[:2].is_inference()


def a_parameter_that_shrinks(t: Any) -> Any:
    p = t.ones(3, requires_grad=True)
    (p * p).sum().backward()
    with t.no_grad():
        p.grad = None
        p.set_(p[1:])
    (p * p).sum().backward()
    return p.grad


def a_leaf_that_became_another(t: Any) -> Any:
    x = t.ones(3, requires_grad=True)
    out = x * 2
    with t.no_grad():
        x.set_(t.ones(3))
    return t.autograd.grad(out.sum(), x)


def final_callbacks(t: Any) -> Any:
    seen: list[str] = []
    engine = t.autograd.Variable._execution_engine
    x = t.ones(1, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: engine.queue_callback(
        lambda: seen.append("first") or engine.queue_callback(lambda: seen.append("second"))))
    x.register_hook(lambda grad: seen.append("gradient"))
    y.backward()
    engine_outside = pytest.raises(RuntimeError, match="can only be installed during backward")
    with engine_outside:
        engine.queue_callback(lambda: None)
    return seen


def constants_without_gradients(t: Any) -> Any:
    seen = []

    class Split(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx._materialize_non_diff_grads = False
            positive = x > 0
            ctx.mark_non_differentiable(positive)
            return x * 2, positive

        @staticmethod
        def backward(ctx: Any, grad: Any, constant: Any) -> Any:
            seen.append(constant)
            return grad

    Split.apply(t.ones(1, requires_grad=True))[0].backward()
    return seen


@pytest.mark.parametrize("case", [views_of_inference_tensors, what_inference_mode_detaches, a_parameter_that_shrinks,
                                  a_leaf_that_became_another, final_callbacks, constants_without_gradients])
def test_programs_of_autograd(case: Case) -> None:
    assert_same(case)


def checked_forward(t: Any) -> bool:
    x = t.tensor([0.5, 1.5], dtype=t.double, requires_grad=True)
    return t.autograd.gradcheck(lambda x: (x.sin(), x * x.sum()), (x,), check_forward_ad=True) and (
        t.autograd.gradcheck(t.sin, (x * 1j,), check_forward_ad=True, fast_mode=True))


def wrong_forward(t: Any) -> Any:
    class Wrong(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return tangent * 3

    x = t.tensor([0.5], dtype=t.double, requires_grad=True)
    with pytest.raises(RuntimeError, match="Jacobian computed with forward mode mismatch for output 0 with respect to "
                                           "input 0"):
        t.autograd.gradcheck(Wrong.apply, (x,), check_forward_ad=True)


@pytest.mark.parametrize("case", [checked_forward, wrong_forward])
def test_gradcheck_compares_forward_mode(case: Case) -> None:
    assert_same(case)
