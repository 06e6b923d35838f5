"""The engine: what it computes, accumulates and frees, on mindtorch and on PyTorch."""
from __future__ import annotations

import sys
import threading

import pytest

import mindtorch

torch = pytest.importorskip("torch", reason="PyTorch says what each of these gives")
BOTH = pytest.mark.parametrize("t", [mindtorch, torch], ids=["mindtorch", "torch"])


@BOTH
def test_a_chain_of_100000_operators_runs_and_is_freed_without_recursion(t):
    limit = sys.getrecursionlimit()
    x = t.ones(2, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0] and sys.getrecursionlimit() == limit
    del y


@BOTH
def test_retain_graph_and_accumulation(t):
    x = t.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    first = x.grad
    y.backward()
    assert x.grad is first and x.grad.tolist() == [4.0, 4.0]
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    (x * 1).sum().backward(create_graph=True)
    assert x.grad is not first


@BOTH
def test_gradients_of_two_leaves_never_share_memory(t):
    a, b = t.ones(3, requires_grad=True), t.ones(3, requires_grad=True)
    seed = t.ones(3)
    (a + b).backward(seed)
    a.grad.mul_(5)
    assert b.grad.tolist() == [1, 1, 1] and seed.tolist() == [1, 1, 1]
    c, d = t.ones(4, requires_grad=True), t.ones(4, requires_grad=True)
    (c.view(2, 2) + d.view(2, 2)).sum().backward()
    c.grad.zero_()
    assert d.grad.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("given", [
    lambda kept: kept.view(3), lambda kept: kept[:], lambda kept: kept.detach(), lambda kept: kept,
], ids=["a view", "a slice", "detached", "itself"])
def test_a_leaf_takes_no_gradient_whose_memory_somebody_else_sees(given):
    kept = mindtorch.ones(3)

    class Keeps(mindtorch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return given(kept)

    x = mindtorch.ones(3, requires_grad=True)
    Keeps.apply(x).sum().backward()
    x.grad.add_(1)
    assert kept.tolist() == [1, 1, 1] and x.grad.tolist() == [2, 2, 2]


@BOTH
def test_a_first_gradient_lies_like_its_leaf_and_is_no_view(t):
    x = t.ones(3, 4).t().requires_grad_()
    x.sin().backward(t.ones(4, 3))
    assert x.grad.stride() == (1, 4)
    x = t.ones(12, requires_grad=True)
    x.unsqueeze(0).exp().backward(t.ones(1, 12))
    assert not x.grad._is_view()


@BOTH
def test_a_hook_that_raises_leaves_the_engine_usable(t):
    x = t.ones(1, requires_grad=True)
    y = x * 2

    def fails(grad):
        raise ValueError("mine")

    handle = y.register_hook(fails)
    with pytest.raises(ValueError, match="mine"):
        y.backward(retain_graph=True)
    handle.remove()
    y.backward()
    assert x.grad.item() == 2.0 and t.is_grad_enabled()


@BOTH
def test_grad_of_inputs_unused_and_materialised(t):
    x, y = t.ones(2, requires_grad=True), t.ones(3, requires_grad=True)
    out = (x * 2).sum()
    with pytest.raises(RuntimeError, match="not have been used"):
        t.autograd.grad(out, [x, y], retain_graph=True)
    assert t.autograd.grad(out, [x, y], allow_unused=True, retain_graph=True)[1] is None
    assert t.autograd.grad(out, [x, y], materialize_grads=True)[1].tolist() == [0, 0, 0]
    assert x.grad is None
    h = x * 3
    loss = (h * h).sum()
    loss.backward(inputs=[h])
    assert h.grad.tolist() == [6.0, 6.0] and x.grad is None


@BOTH
def test_double_and_triple_backward(t):
    x = t.tensor(2.0, requires_grad=True)
    y = x**4
    values = []
    for _ in range(4):
        (y,) = t.autograd.grad(y, x, create_graph=True)
        values.append(y.item())
    assert values == [32.0, 48.0, 48.0, 24.0]


@BOTH
def test_two_threads_run_backward_through_a_shared_leaf(t):
    w = t.ones(100, requires_grad=True)
    errors = []

    def work():
        try:
            for _ in range(20):
                (w * 2).sum().backward()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and w.grad[0].item() == 160.0


@BOTH
def test_a_batch_of_gradients_frees_the_graph_after_the_last(t):
    x = t.ones(2, requires_grad=True)
    y = x.exp()
    t.autograd.grad(y, x, t.eye(2), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


def joined_below_a_chain(t, x, y):
    z = (x * y).exp()
    (z.sin() * z + z * x).sum().neg().view(1).view(()).backward()


def joined_at_the_root(t, x, y):
    ((x * 2).unbind()[1] * (x * 2).sum()).backward()


def of_several_roots(t, x, y):
    a, b = x * y, x + y
    t.autograd.backward([a.sum(), b.sum(), (a * b).sum(), x], [None, None, None, t.ones(4)])


def of_one_root_twice(t, x, y):
    a = (x * y).sum()
    t.autograd.backward([a, a])


def of_a_number_in_another_dtype(t, x, y):
    t.autograd.backward((x * y).sum(), t.tensor(2.0, dtype=t.float64))


@pytest.mark.parametrize("program", [joined_below_a_chain, joined_at_the_root, of_several_roots, of_one_root_twice,
                                     of_a_number_in_another_dtype])
def test_each_edge_of_a_graph_brings_its_gradient(program):
    found = []
    for t in (mindtorch, torch):
        leaves = t.arange(4.0, requires_grad=True), t.ones(4, requires_grad=True)
        program(t, *leaves)
        found.append([None if leaf.grad is None else leaf.grad.tolist() for leaf in leaves])
    assert found[0] == [None if given is None else pytest.approx(given, rel=1e-4) for given in found[1]]
