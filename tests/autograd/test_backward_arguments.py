"""What `backward` and `grad` are given: what they take, what they refuse, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.autograd.both import Case, assert_same


def leaf(t: Any) -> Any:
    return t.tensor([1.0, 2.0, 3.0], requires_grad=True)


def with_leaf(run: Any) -> Case:
    """Make a program of a leaf: it returns the result, and the leaf's gradient."""

    def case(t: Any) -> Any:
        x = leaf(t)
        return run(t, x), x.grad

    return case


def twice(t: Any, root: Any) -> None:
    root.backward()
    root.backward()


def twice_batched(t: Any, x: Any, y: Any, retain: bool | None) -> Any:
    return [t.autograd.grad(y, [x], t.eye(3), retain_graph=retain, is_grads_batched=True) for _ in range(2)]


CASES: dict[str, Case] = {
    # roots
    "a vector": with_leaf(lambda t, x: (x * 2).backward()),
    "an element": with_leaf(lambda t, x: (x * 2)[:1].sum().view(1, 1).backward()),
    "no graph": lambda t: t.ones(1).backward(),
    "an integer": lambda t: t.ones(1, dtype=t.int64).backward(),
    "a complex number": with_leaf(lambda t, x: (x.sum() * 1j).backward()),
    "one of two without a graph": with_leaf(lambda t, x: t.autograd.backward([x.sum(), t.ones(())])),
    "two": with_leaf(lambda t, x: t.autograd.backward([x.sum(), (x * x).sum()])),
    "the same twice": with_leaf(lambda t, x: t.autograd.backward([x.sum()] * 2)),
    "a leaf": lambda t: t.autograd.grad(w := t.ones((), requires_grad=True), [w]),
    "none": lambda t: t.autograd.backward([]),
    "not a tensor": lambda t: t.autograd.backward([3]),
    "a gradient edge": with_leaf(lambda t, x: t.autograd.backward(t.autograd.graph.get_gradient_edge((x * 2).sum()))),
    "a gradient edge of a vector": with_leaf(
        lambda t, x: t.autograd.backward(t.autograd.graph.get_gradient_edge(x * 2))),
    "twice": with_leaf(lambda t, x: twice(t, (x * x).sum())),
    "twice where nothing is kept": with_leaf(lambda t, x: twice(t, (x + x).sum())),
    # the gradients to start from
    "a gradient": with_leaf(lambda t, x: (x * 2).backward(t.tensor([1.0, 0.0, -1.0]))),
    "a gradient of another shape": with_leaf(lambda t, x: (x * 2).backward(t.ones(2))),
    "a gradient of another dtype": with_leaf(lambda t, x: (x * 2).backward(t.ones(3, dtype=t.float64))),
    "a gradient of integers": with_leaf(lambda t, x: (x * 2).backward(t.ones(3, dtype=t.int64))),
    "a complex gradient": with_leaf(lambda t, x: (x * 2).backward(t.ones(3, dtype=t.complex64))),
    "a gradient on another device": with_leaf(lambda t, x: (x * 2).backward(t.ones(3, device="meta"))),
    "a gradient that is a number": with_leaf(lambda t, x: x.sum().backward(3)),
    "a gradient that is a number in a list": with_leaf(lambda t, x: t.autograd.backward([x.sum()], [3])),
    "fewer gradients": with_leaf(lambda t, x: t.autograd.grad([x.sum(), x.sum()], [x], [None])),
    "gradients under the old name": with_leaf(
        lambda t, x: t.autograd.backward([x * 2], grad_variables=[t.ones(3)])),
    "gradients under both names": with_leaf(
        lambda t, x: t.autograd.backward([x * 2], [t.ones(3)], grad_variables=[t.ones(3)])),
    # inputs
    "no inputs": with_leaf(lambda t, x: t.autograd.grad(x.sum(), [])),
    "no inputs of backward": with_leaf(lambda t, x: x.sum().backward(inputs=[])),
    "an input without gradient": with_leaf(lambda t, x: t.autograd.grad(x.sum(), [t.ones(3)])),
    "an input of backward without gradient": with_leaf(lambda t, x: x.sum().backward(inputs=[t.ones(3)])),
    "an input that is a number": with_leaf(lambda t, x: t.autograd.grad(x.sum(), [3])),
    "an input of backward that is a number": with_leaf(lambda t, x: x.sum().backward(inputs=[3])),
    "an unused input": with_leaf(lambda t, x: t.autograd.grad(x.sum(), [leaf(t)])),
    "an unused input that is allowed": with_leaf(lambda t, x: t.autograd.grad(x.sum(), [leaf(t)], allow_unused=True)),
    "an unused input of backward": with_leaf(lambda t, x: x.sum().backward(inputs=[leaf(t)])),
    "an unused input, materialised": with_leaf(
        lambda t, x: t.autograd.grad(x.sum(), [leaf(t)], materialize_grads=True)),
    "an unused input, materialised with a graph": with_leaf(
        lambda t, x: t.autograd.grad(x.sum(), [leaf(t)], materialize_grads=True, create_graph=True)),
    "materialised and not allowed": with_leaf(
        lambda t, x: t.autograd.grad(x.sum(), [x], materialize_grads=True, allow_unused=False)),
    "inputs in a dict": with_leaf(lambda t, x: t.autograd.grad((x * x).sum(), {"x": x})),
    "inputs in another mapping": with_leaf(
        lambda t, x: t.autograd.grad(x.sum(), __import__("types").MappingProxyType({"x": x}))),
    "an input twice": with_leaf(lambda t, x: t.autograd.grad((x * x).sum(), [x, x])),
    "an input of backward twice": with_leaf(lambda t, x: (x * x).sum().backward(inputs=[x, x])),
    "the root itself": with_leaf(lambda t, x: t.autograd.grad(y := (x * x).sum(), [y, x])),
    "gradient edges": with_leaf(lambda t, x: t.autograd.grad(
        (y := x * 2).sum(), [t.autograd.graph.get_gradient_edge(y), t.autograd.graph.get_gradient_edge(x)])),
    "a gradient edge, materialised": with_leaf(lambda t, x: t.autograd.grad(
        x.sum(), [t.autograd.graph.get_gradient_edge(leaf(t))], materialize_grads=True)),
    "no gradient edge": lambda t: t.autograd.graph.get_gradient_edge(t.ones(3)),
    # batches
    "a batch": with_leaf(lambda t, x: t.autograd.grad(
        x * x, [x], t.tensor([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]), is_grads_batched=True)),
    "a batch, twice": with_leaf(lambda t, x: twice_batched(t, x, x * x, None)),
    "a batch, twice, of what is kept": with_leaf(lambda t, x: twice_batched(t, x, x * x, True)),
    "a batch of scalars": with_leaf(lambda t, x: t.autograd.grad(
        x.sum(), [x, leaf(t)], t.ones(2), is_grads_batched=True, allow_unused=True)),
}


@pytest.mark.parametrize("name", CASES)
def test_arguments_mean_what_they_mean_in_pytorch(name: str) -> None:
    assert_same(CASES[name])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "int64", "bool", "uint8"])
@pytest.mark.parametrize("history", ["a leaf", "a result", "a constant"])
def test_what_backward_needs_and_somebody_wrote_is_named(dtype: str, history: str) -> None:
    def case(t: Any) -> Any:
        kept = t.ones(2, dtype=getattr(t, dtype))
        if history != "a constant":
            if dtype in ("int64", "bool", "uint8"):
                return None
            kept.requires_grad_()
        if history == "a result":
            kept = kept * 1
        other = t.ones(2, requires_grad=True)
        loss = (kept * other).abs().sum()
        with t.no_grad():
            kept.zero_()
        loss.backward()
        return None

    assert_same(case)


def test_a_result_that_somebody_wrote_is_named() -> None:
    def case(t: Any) -> Any:
        result = leaf(t).exp()
        result.add_(1)
        result.sum().backward()

    def view(t: Any) -> Any:
        whole = leaf(t) * 1
        part = whole[1:]
        loss = (part * part).sum()
        whole.add_(1)
        loss.backward()

    def slices(t: Any) -> Any:
        whole = leaf(t) * 1
        whole[1:].mul_(2)
        loss = (whole * whole).sum()
        with t.no_grad():
            whole.add_(1)
        loss.backward()

    for each in (case, view, slices):
        assert_same(each)


def test_a_root_without_a_path_to_the_inputs_does_not_run() -> None:
    def case(t: Any) -> Any:
        ran: list[str] = []

        class Noted(t.autograd.Function):  # type: ignore[name-defined, misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x.clone()

            @staticmethod
            def backward(ctx: Any, gradient: Any) -> Any:
                ran.append("backward")
                return gradient

        root, elsewhere = Noted.apply(leaf(t)), leaf(t)
        root.register_hook(lambda gradient: ran.append("hook"))
        root.sum().backward(inputs=[elsewhere])
        root.backward(t.ones(3), inputs=[elsewhere])
        t.autograd.grad(root, [elsewhere], t.ones(3), allow_unused=True)
        return ran, elsewhere.grad

    assert_same(case)
