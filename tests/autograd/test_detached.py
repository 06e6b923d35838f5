"""``detach_()`` of a tensor that a node has kept for backward: PyTorch's error where the node needs its history."""
from __future__ import annotations

from typing import Any

import pytest

import mindtorch
from tests.support import torch

from .both import Case, shown


def computed(t: Any) -> Any:
    return t.ones(2, requires_grad=True) * 2


def kept(use: Any, then: Any = lambda a: None) -> Case:
    """Make a program that returns the gradient of ``use(t, a, x)``; ``a`` was computed from ``x``, then detached."""

    def run(t: Any) -> Any:
        x = t.ones(2, requires_grad=True)
        a = x * 2
        out = use(t, a, x)
        a.detach_()
        then(a)
        out.sum().backward()
        return x.grad

    return run


def hooked(t: Any, a: Any, x: Any) -> Any:
    with t.autograd.graph.saved_tensors_hooks(lambda kept: kept, lambda kept: kept):
        return a * x


def in_a_function(t: Any, a: Any, x: Any) -> Any:
    class Square(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Any) -> Any:
            ctx.save_for_backward(value)
            return value * value

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return 2 * grad * ctx.saved_tensors[0]

    return Square.apply(a)


def leaf(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    out = x.sin().sum()
    x.detach_()
    out.backward()
    return x.grad


def recorded_again(t: Any) -> Any:
    a = computed(t)
    a.detach_()
    a.requires_grad_()
    (a * a).sum().backward()
    return a.grad


def shown_by_its_node(t: Any) -> Any:
    a = computed(t)
    out = a.sin()
    a.detach_()
    return out.grad_fn._saved_self


CASES: dict[str, Case] = {
    "kept by sin": kept(lambda t, a, x: a.sin()),
    "kept by a product": kept(lambda t, a, x: a * x),
    "kept in a list": kept(lambda t, a, x: t.stack(t._foreach_mul([a], [x]))),
    "kept, and written since": kept(lambda t, a, x: a * x, lambda a: a.mul_(2)),
    "kept, and recorded again": kept(lambda t, a, x: a * x, lambda a: a.requires_grad_()),
    "kept after it was written": kept(lambda t, a, x: a.mul_(3).sin()),
    "not kept": kept(lambda t, a, x: a.sum() + x),
    "a view of it kept": kept(lambda t, a, x: a[:1].sin()),
    "a result kept": kept(lambda t, a, x: a.exp()),
    "kept by hooks": kept(hooked),
    "kept by a Function": kept(in_a_function),
    "a leaf": leaf, "recorded after": recorded_again, "only shown": shown_by_its_node,
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_node_has_kept_may_be_detached_where_pytorch_allows_it(name: str) -> None:
    assert shown(CASES[name], mindtorch) == shown(CASES[name], torch).replace(".This", ". This")
