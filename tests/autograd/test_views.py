"""Views in the graph: whose history they have after writes, what they retain, and which of them must not be written."""
from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

import mindtorch as torch
from tests.autograd.both import Case, assert_same


def base_and_view(t: Any) -> tuple[Any, Any]:
    base = t.ones(3, requires_grad=True) * 2
    return base, base[1:]


def two_views(t: Any) -> tuple[Any, Any]:
    """Return the outputs of a Function that returns two views."""

    class Halves(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x[:1], x[1:]

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            return t.cat([first, second])

    return Halves.apply(t.ones(3, requires_grad=True) * 2)


def history(t: Any) -> Any:
    """Check that the node of a view is made anew after a write to its base, and only then."""
    base, view = base_and_view(t)
    nodes = [view.grad_fn]
    for write in (lambda: None, lambda: base.mul_(2), lambda: None, lambda: view.mul_(3), lambda: None):
        write()
        nodes.append(view.grad_fn)
    return [node.name() for node in nodes], [a is b for a, b in pairwise(nodes)]


def retained(write: Any) -> Case:
    def case(t: Any) -> Any:
        base, view = base_and_view(t)
        view.retain_grad()
        write(base, view)
        view.grad_fn  # it is made anew here
        (base.sum() + (view * 5).sum()).backward()
        return view.grad

    return case


def leaf_view_retained(t: Any) -> Any:
    base = t.zeros(3)
    view = base[1:]
    base.add_(t.ones(3, requires_grad=True))
    view.retain_grad()
    base.mul_(2)
    (view * 3).sum().backward()
    return view.grad, view.grad_fn.name()


def made_without_grad_mode(t: Any) -> Any:
    base, _ = base_and_view(t)
    with t.no_grad():
        inside = base[:1]
    return inside.mul_(2)


def turned(t: Any) -> Any:
    """Check that a view whose layout is changed in place has the node of that change, not one of its base."""
    base, view = base_and_view(t)
    view.unsqueeze_(0).t_()
    node = view.grad_fn
    return node.name(), node is view.grad_fn, node.next_functions[0][0].name(), t.autograd.grad(view.sum(), base)


def made_after_writes(device: str) -> Case:
    """Check that a view of a tensor that was written to has its own node, although the version is not 0."""

    def case(t: Any) -> Any:
        base = t.ones(2, 2, requires_grad=True, device=device) * 1
        base.add_(1).mul_(2)
        return [view.grad_fn.name() for view in (base[0], base.t(), base.t()[0], base.select(0, 1).unsqueeze(0))]

    return case


def recorded_after_writes(t: Any) -> Any:
    """Check that operators on a view, first of its kind and later, are recorded below the write to its base."""
    names, gradients = [], []
    for _ in range(3):
        leaf = t.ones(3, 2, requires_grad=True)
        base = leaf * 2
        view = base[0]
        base.mul_(5)
        for result in (view * 3, view.neg(), view.sum(), t.cat([view, view]), view.add(view)):
            above = result.grad_fn.next_functions[0][0]
            names.append((above.name(), above.next_functions[0][0].name()))
            gradients.append(t.autograd.grad(result.sum(), leaf, retain_graph=True))
    return names, gradients


def switched(t: Any) -> list[bool]:
    """Return whether views require grad while their base, a leaf, is switched on and off."""
    base = t.zeros(4)
    first, second = base[:2], base[2:]
    first.requires_grad_()
    told = []
    for on in True, False, True:
        base.requires_grad_(on)
        told += [view.requires_grad for view in (first, second)]
    return told


CASES: dict[str, Case] = {
    "switched with their base": switched,
    "turned in place": turned,
    "made after writes": made_after_writes("cpu"),
    "made after writes, without values": made_after_writes("meta"),
    "recorded after writes": recorded_after_writes,
    "history": history,
    "retained": retained(lambda base, view: None),
    "retained, the base is written": retained(lambda base, view: base.mul_(2)),
    "retained, the view is written": retained(lambda base, view: view.mul_(2)),
    "retained, both are written": retained(lambda base, view: (view.mul_(2), base.mul_(3), view.add_(1))),
    "retained, of a base that joins the graph later": leaf_view_retained,
    "one of several": lambda t: t.ones(2, 2, requires_grad=True).mul(2).unbind()[0].add_(1),
    "a view of one of several": lambda t: t.ones(2, 2, requires_grad=True).mul(2).unbind()[0][1:].add_(1),
    "a view of a view of one of several": lambda t: t.ones(4, 2, requires_grad=True).mul(2).split(2)[0][1:].t().add_(1),
    "one of several of a Function": lambda t: two_views(t)[0].add_(1),
    "another of several of a Function": lambda t: two_views(t)[1].add_(1),
    "a view of one of several of a Function": lambda t: two_views(t)[1][1:].add_(1),
    "made without grad mode": made_without_grad_mode,
}


@pytest.mark.parametrize("name", CASES)
def test_views_in_the_graph_are_pytorchs(name: str) -> None:
    assert_same(CASES[name])


def test_a_part_that_a_function_without_gradient_has_written_passes_none_to_its_base() -> None:
    class Fill(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.fill_(5)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> None:
            return None

    x = torch.ones(3, requires_grad=True)
    base = x * 2
    Fill.apply(base[1:])
    base.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 0, 0]  # where PyTorch passes no gradient to the base at all


def test_a_leaf_with_data_of_another_dtype_has_gradients_of_it() -> None:
    leaf = torch.ones(3, dtype=torch.float64, requires_grad=True)
    before = leaf.split(1)[-1]  # whose node knows that the leaf is of float64
    leaf.data = torch.ones(3)
    (leaf * 2).sum().backward()
    assert leaf.grad.dtype is torch.float32 and before.dtype is torch.float64
