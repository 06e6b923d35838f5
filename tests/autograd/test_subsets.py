"""Whichever inputs of an operator require grad: nodes, edges, gradients and what is kept are PyTorch's."""
from __future__ import annotations

import importlib
import itertools
import types
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch
from tests.autograd import both
from tests.support import torch

Make = Callable[[types.ModuleType], list[Any]]


def rows(*shapes: tuple[int, ...]) -> Make:
    """Tensors of different positive numbers, in double precision."""
    return lambda t: [(t.arange(float(t.Size(shape).numel()), dtype=t.float64).view(shape) * 0.37 + 0.2 + i).sin().abs()
                      + 0.1 for i, shape in enumerate(shapes)]


#: An operator of several tensors: how it is called, and its inputs.
OPERATORS: dict[str, tuple[Callable[..., Any], Make]] = {
    "mul": (lambda t, a, b: a * b, rows((2, 3), (3,))), "div": (lambda t, a, b: a / b, rows((2, 3), (2, 1))),
    "add": (lambda t, a, b: t.add(a, b, alpha=2), rows((2, 3), ())), "sub": (lambda t, a, b: a - b, rows((3,), (2, 3))),
    "pow": (lambda t, a, b: a**b, rows((2, 3), (3,))), "atan2": (lambda t, a, b: t.atan2(a, b), rows((3,), (3,))),
    "maximum": (lambda t, a, b: t.maximum(a, b), rows((2, 3), (3,))),
    "matmul": (lambda t, a, b: a @ b, rows((2, 3), (3, 2))), "mv": (lambda t, a, b: a @ b, rows((2, 3), (3,))),
    "bmm": (lambda t, a, b: t.bmm(a, b), rows((2, 2, 3), (2, 3, 2))),
    "dot": (lambda t, a, b: a.dot(b), rows((3,), (3,))),
    "addmm": (lambda t, a, b, c: t.addmm(a, b, c, beta=2, alpha=3), rows((2,), (2, 3), (3, 2))),
    "addcmul": (lambda t, a, b, c: t.addcmul(a, b, c, value=2), rows((2, 3), (3,), (2, 1))),
    "addcdiv": (lambda t, a, b, c: t.addcdiv(a, b, c), rows((3,), (3,), (3,))),
    "lerp": (lambda t, a, b, c: t.lerp(a, b, c), rows((3,), (3,), (3,))),
    "where": (lambda t, a, b: t.where(t.tensor([True, False, True]), a, b), rows((3,), ())),
    "cat": (lambda t, a, b, c: t.cat([a, b, c]), rows((2, 3), (1, 3), (2, 3))),
    "stack": (lambda t, a, b: t.stack([a, b], 1), rows((3,), (3,))),
    "linear": (lambda t, x, w, b: t.nn.functional.linear(x, w, b), rows((2, 3), (4, 3), (4,))),
    "bilinear": (lambda t, x, y, w: t.nn.functional.bilinear(x, y, w), rows((2, 3), (2, 2), (4, 3, 2))),
    "conv1d": (lambda t, x, w, b: t.nn.functional.conv1d(x, w, b), rows((1, 2, 5), (3, 2, 2), (3,))),
    "conv2d": (lambda t, x, w, b: t.nn.functional.conv2d(x, w, b, padding=1), rows((1, 1, 3, 3), (2, 1, 2, 2), (2,))),
    "layer_norm": (lambda t, x, w, b: t.nn.functional.layer_norm(x, (3,), w, b), rows((2, 3), (3,), (3,))),
    "batch_norm": (lambda t, x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, True), rows((4, 3), (3,), (3,))),
    "group_norm": (lambda t, x, w, b: t.nn.functional.group_norm(x, 2, w, b), rows((2, 4, 3), (4,), (4,))),
    "prelu": (lambda t, x, w: t.nn.functional.prelu(x - 0.5, w), rows((2, 3), (3,))),
    "mse_loss": (lambda t, x, y: t.nn.functional.mse_loss(x, y), rows((3,), (3,))),
    "binary_cross_entropy": (lambda t, x, y: t.nn.functional.binary_cross_entropy(x / 2, y / 2), rows((3,), (3,))),
    "cosine_similarity": (lambda t, x, y: t.cosine_similarity(x, y, 1), rows((2, 3), (2, 3))),
    "cross": (lambda t, x, y: t.linalg.cross(x, y), rows((2, 3), (2, 3))),
    "solve": (lambda t, a, b: t.linalg.solve(a @ a.mT + t.eye(3), b), rows((3, 3), (3, 2))),
    "index_add": (lambda t, x, y: x.index_add(0, t.tensor([0, 2]), y, alpha=2), rows((3, 2), (2, 2))),
    "index_copy": (lambda t, x, y: x.index_copy(0, t.tensor([2, 0]), y), rows((3, 2), (2, 2))),
    "scatter": (lambda t, x, y: x.scatter(0, t.tensor([[0, 2]]), y), rows((3, 2), (1, 2))),
    "masked_scatter": (lambda t, x, y: x.masked_scatter(x > 0.6, y), rows((2, 3), (6,))),
    "masked_fill": (lambda t, x, y: x.masked_fill(x > 0.6, y), rows((2, 3), ())),
    "index_put": (lambda t, x, y: x.index_put((t.tensor([0, 0]),), y, accumulate=True), rows((3, 2), (2, 2))),
    "slice_scatter": (lambda t, x, y: x.slice_scatter(y, 0, 1, 3), rows((4, 2), (2, 2))),
    "complex": (lambda t, x, y: t.view_as_real(t.complex(x, y)), rows((3,), (3,))),
    "logaddexp": (lambda t, x, y: t.logaddexp(x, y), rows((3,), (3,))),
    "hypot": (lambda t, x, y: t.hypot(x, y), rows((3,), (3,))),
    "cdist": (lambda t, x, y: t.cdist(x, y), rows((2, 3), (4, 3))),
    "mul_": (lambda t, a, b: (a * 1).mul_(b), rows((2, 3), (3,))),
    "copy_": (lambda t, a, b: (a * 1).copy_(b), rows((2, 3), (3,))),
    "addmm_": (lambda t, a, b, c: (a * 1).addmm_(b, c), rows((2, 2), (2, 3), (3, 2))),
    "einsum": (lambda t, a, b, c: t.einsum("ij,jk,k->i", a, b, c), rows((2, 3), (3, 4), (4,))),
    "attention": (lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(q, k, v),
                  rows((1, 2, 3), (1, 4, 3), (1, 4, 3))),
}


def graph(node: Any, depth: int = 2) -> Any:
    """Names of nodes, with those that their gradients go to."""
    if node is None or not depth:
        return None if node is None else node.name()
    return node.name(), [(graph(below, depth - 1), number) for below, number in node.next_functions]


def numbers(values: Any) -> Any:
    return None if values is None else values.flatten().tolist()


def kept(node: Any) -> dict[str, Any]:
    """Return the facts that a node keeps, and which tensors it keeps."""
    found = {}
    for name in dir(node):
        if name.startswith("_saved_"):
            value = getattr(node, name)
            found[name] = (value if isinstance(value, (bool, int, float, str, type(None))) else
                           tuple(value.shape) if hasattr(value, "shape") else type(value).__name__)
    return found


def outcome(t: types.ModuleType, name: str, subset: tuple[bool, ...], anomaly: bool) -> Any:
    call, make = OPERATORS[name]
    inputs = [tensor.requires_grad_(wanted) for tensor, wanted in zip(make(t), subset, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with t.autograd.set_detect_anomaly(anomaly):
            out = call(t, *inputs)
            if not out.requires_grad:
                return None
            weights = (t.arange(float(out.numel()), dtype=out.dtype).view(out.shape) + 1).cos()
            shown = graph(out.grad_fn)
            (out * weights).sum().backward()
    return shown, [numbers(x.grad) for x in inputs], out.shape, out.is_leaf


@pytest.mark.parametrize("name", OPERATORS)
def test_every_subset_of_the_inputs_gets_pytorchs_gradients_by_pytorchs_nodes(name: str) -> None:
    count = len(OPERATORS[name][1](mindtorch))
    for subset in itertools.product((False, True), repeat=count):
        for anomaly in (False, True):
            ours, theirs = outcome(mindtorch, name, subset, anomaly), outcome(torch, name, subset, anomaly)
            assert (ours is None) == (theirs is None) == (not any(subset))
            if ours is not None:
                assert ours[0] == theirs[0] and ours[2:] == theirs[2:], subset
                for mine, other in zip(ours[1], theirs[1], strict=True):
                    assert mine == (None if other is None else pytest.approx(other, rel=1e-9, abs=1e-12)), subset


@pytest.mark.parametrize("name", ["mul", "div", "matmul", "addmm", "addcmul", "where", "cat", "linear", "atan2",
                                  "layer_norm"])
def test_a_node_keeps_what_pytorchs_keeps_for_each_subset(name: str) -> None:
    count = len(OPERATORS[name][1](mindtorch))
    for subset in itertools.product((False, True), repeat=count):
        if any(subset):
            found = []
            for t in (mindtorch, torch):
                call, make = OPERATORS[name]
                out = call(t, *(x.requires_grad_(wanted) for x, wanted in zip(make(t), subset, strict=True)))
                found.append(kept(out.grad_fn))
            ours, theirs = found
            present = {key: value for key, value in ours.items() if value is not None}
            assert {key: theirs[key] for key in present if key in theirs} == {
                key: value for key, value in present.items() if key in theirs}, subset
            missing = {key for key, value in theirs.items() if isinstance(value, tuple) and ours.get(key) is None}
            assert not missing, (subset, missing)


def operators_of_backward(t: types.ModuleType, name: str) -> list[str]:
    mode = importlib.import_module(f"{t.__name__}.utils._python_dispatch").TorchDispatchMode
    seen: list[str] = []

    class Seen(mode):  # type: ignore[misc, valid-type]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    call, make = OPERATORS[name]
    out = call(t, *(x.requires_grad_() for x in make(t)))
    with Seen():
        out.sum().backward()
    return seen


@pytest.mark.parametrize("name", ["where", "addcmul", "div", "pow", "linear", "atan2", "mul"])
def test_backward_computes_the_gradients_in_pytorchs_order(name: str) -> None:
    assert operators_of_backward(mindtorch, name) == operators_of_backward(torch, name)


@pytest.mark.parametrize("name", [name for name in OPERATORS if name != "cdist"])
def test_tangents_of_each_input_are_the_gradients_seen_from_the_other_side(name: str) -> None:
    """The derivative along a direction is the sum of the direction times the gradient (forward and backward mode)."""
    call, make = OPERATORS[name]
    ad, t = mindtorch.autograd.forward_ad, mindtorch
    inputs = [x.requires_grad_() for x in make(t)]
    out = call(t, *inputs)
    weights = (t.arange(float(out.numel()), dtype=out.dtype).view(out.shape) + 1).cos()
    gradients = t.autograd.grad((out * weights).sum(), inputs, allow_unused=True)
    for i, gradient in enumerate(gradients):
        with ad.dual_level():
            direction = (make(t)[i] * 3).cos()
            tensors = [ad.make_dual(x, direction) if i == j else x for j, x in enumerate(make(t))]
            tangent = ad.unpack_dual(call(t, *tensors)).tangent
        along = 0.0 if tangent is None else (tangent * weights).sum().item()
        expected = 0.0 if gradient is None else (gradient * direction).sum().item()
        assert along == pytest.approx(expected, rel=1e-8, abs=1e-10), i


def test_nodes_edges_and_contexts_are_shown_as_in_pytorch() -> None:
    def program(t: types.ModuleType) -> Any:
        class Twice(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                shown.append(repr(ctx))
                return x * 2

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * 2

        shown: list[str] = []
        x = t.ones(2, requires_grad=True)
        y = Twice.apply(x * 1)
        below = y.grad_fn.next_functions
        return shown, y.grad_fn, below, below[0][0].next_functions, y.sum().grad_fn

    both.assert_same(program)
