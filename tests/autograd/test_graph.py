"""The graph and the engine: the same programs on mindtorch and on PyTorch."""
from __future__ import annotations

import gc
import sys
import threading
import weakref

import pytest

import mindtorch

torch = pytest.importorskip("torch", reason="PyTorch says what each of these gives")
BOTH = pytest.mark.parametrize("t", [mindtorch, torch], ids=["mindtorch", "torch"])


def tree(node, depth=0):
    """Names and edges of a graph, as text."""
    if node is None:
        return f"{'  ' * depth}-\n"
    lines = f"{'  ' * depth}{node.name()}\n"
    return lines + "".join(f"{tree(child, depth + 1)[:-1]} {number}\n" for child, number in node.next_functions)


PROGRAMS = {
    "arithmetic": lambda t, a, b: ((a * b + a) / b - 2) ** 2,
    "numbers": lambda t, a, b: 2 * a + 1 - (3 - b) / 2 + 1 / a,
    "matrix products": lambda t, a, b: (a @ b.t()).sum() + (a.mm(b.t()) @ a).mean(),
    "a linear layer": lambda t, a, b: t.nn.functional.linear(a, b, b[:, 0]),
    "views": lambda t, a, b: a.view(-1)[1:4].unsqueeze(0).expand(2, 3).t().reshape(6),
    "indexing": lambda t, a, b: a[0, 1:] + b[[0, 1]][:, 0] + a[a > 0].sum(),
    "joining and splitting": lambda t, a, b: t.cat([a, b]).split(1)[1] + t.stack([a, b])[0].chunk(2)[0],
    "reductions": lambda t, a, b: (
        a.sum(0).mean() + a.max() + a.max(1).values.sum() + b.std() + b.var(0).prod() + b.norm()
    ),
    "activations": lambda t, a, b: a.relu().tanh().sigmoid().exp().log().softmax(1).log_softmax(0),
    "a loss": lambda t, a, b: t.nn.functional.cross_entropy(a, t.tensor([0, 1])) + t.nn.functional.mse_loss(a, b),
    "in place": lambda t, a, b: (a * 1).add_(b).mul_(2).relu_(),
    "in place through a view": lambda t, a, b: _written(a * 1, b),
    "conversions": lambda t, a, b: a.double().float().clone().contiguous() + b.to(t.float64).sum(),
}


def _written(x, b):
    x[0].mul_(b[0])
    return x + x.view(-1)[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_names_and_edges_of_nodes_are_pytorchs(name):
    shown = []
    for t in (torch, mindtorch):
        a = t.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])[:, :2 if "indexing" in name or "linear" in name else 3].clone()
        a, b = a.requires_grad_(), (a / 2).requires_grad_()
        out = PROGRAMS[name](t, a, b)
        out.sum().backward()
        shown.append((tree(out.grad_fn), a.grad.tolist(), b.grad.tolist() if b.grad is not None else None))
    assert shown[1][0] == shown[0][0]
    torch.testing.assert_close(torch.tensor(shown[1][1]), torch.tensor(shown[0][1]))


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
def test_hooks_run_in_pytorchs_order_and_may_replace(t):
    log = []
    x = t.ones(1, requires_grad=True)
    y = x * 2
    z = y * 3
    y.register_hook(lambda g: log.append(("tensor", g.item())) or g * 10)
    y.retain_grad()
    y.grad_fn.register_prehook(lambda gs: log.append(("pre", gs[0].item())))
    y.grad_fn.register_hook(
        lambda gi, go: log.append(("post", go[0].item(), [None if g is None else g.item() for g in gi]))
    )
    x.register_hook(lambda g: log.append(("leaf", g.item())))
    x.register_post_accumulate_grad_hook(lambda leaf: log.append(("accumulated", leaf.grad.item())))
    removed = y.register_hook(lambda g: log.append("never"))
    removed.remove()
    z.backward()
    assert log == [
        ("tensor", 3.0), ("pre", 30.0), ("post", 30.0, [60.0]), ("leaf", 60.0), ("accumulated", 60.0),
    ] or log == [
        ("tensor", 3.0), ("pre", 30.0), ("post", 30.0, [60.0, None]), ("leaf", 60.0), ("accumulated", 60.0),
    ]
    assert y.grad.item() == 30.0


@BOTH
def test_a_node_keeps_notes_and_requires_grad(t):
    node = (t.ones(1, requires_grad=True) * 2).grad_fn
    assert node.requires_grad is True
    assert node.metadata == {}
    node.metadata["seen"] = 1
    assert node.metadata == {"seen": 1}


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
def test_modes_are_per_thread_and_restored(t):
    seen = []

    def other():
        seen.append((t.is_grad_enabled(), t.is_inference_mode_enabled()))
        with t.inference_mode():
            seen.append(t.ones(1).is_inference())

    with t.no_grad():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert not t.is_grad_enabled()
        with t.enable_grad():
            assert (t.ones(1, requires_grad=True) * 2).requires_grad
    assert seen == [(True, False), True] and t.is_grad_enabled()

    @t.no_grad()
    def decorated():
        return t.is_grad_enabled()

    @t.no_grad()
    def generator():
        yield t.is_grad_enabled()
        yield t.is_grad_enabled()

    assert decorated() is False and list(generator()) == [False, False]
    t.set_grad_enabled(False)
    assert not t.is_grad_enabled()
    t.set_grad_enabled(True)


@BOTH
def test_inference_tensors(t):
    with t.inference_mode():
        x = t.ones(2)
        x.add_(1)
    assert x.is_inference() and not x.requires_grad
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        t.ones(2, requires_grad=True) * x
    with pytest.raises(RuntimeError, match="version counter"):
        x._version
    assert (x.clone() * t.ones(2, requires_grad=True)).requires_grad


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
def test_graphs_are_freed_without_the_garbage_collector(t):
    gc.collect()
    gc.disable()
    try:
        x = t.ones(3, requires_grad=True)
        h = (x * 2).exp().relu()
        loss = (h * h).sum()
        references = [weakref.ref(h), weakref.ref(loss)]
        node = weakref.ref(h.grad_fn) if t is mindtorch else lambda: None
        loss.backward()
        del h, loss
        assert all(r() is None for r in references) and node() is None
    finally:
        gc.enable()


@BOTH
def test_saved_values_are_attributes_of_nodes(t):
    a, b = t.ones(2, requires_grad=True), t.full((2,), 3.0)
    node = (a * b).grad_fn
    assert node._saved_other.tolist() == [3.0, 3.0] and node._saved_self is None
    result = a.exp()
    assert result.grad_fn._saved_result.tolist() == result.tolist()
    node = (a * b).grad_fn
    node._raw_saved_other.register_hooks(lambda v: v * 2, lambda v: v)
    assert node._saved_other.tolist() == [6.0, 6.0]


@BOTH
def test_modifying_a_saved_tensor_is_pytorchs_error(t):
    x = t.ones(2, requires_grad=True)
    y = x.exp()
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError) as error:
        z.sum().backward()
    for words in (
        "modified by an inplace operation: [torch.FloatTensor [2]]",
        "is at version 1; expected version 0 instead",
    ):
        assert words in str(error.value)


@BOTH
def test_a_batch_of_gradients_frees_the_graph_after_the_last(t):
    x = t.ones(2, requires_grad=True)
    y = x.exp()
    t.autograd.grad(y, x, t.eye(2), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


@BOTH
def test_a_function_that_keeps_its_output_goes_without_the_collector(t):
    class Exp(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(result := x.exp())
            return result

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    gc.collect()
    gc.disable()
    try:
        out = Exp.apply(t.ones(2, requires_grad=True))
        node = weakref.ref(out.grad_fn)
        del out
        assert node() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("asked", [(True, True), (False, True), (True, False)])
@pytest.mark.parametrize("name", ["mm", "addmm"])
def test_nodes_of_products_know_the_sizes_of_both_factors(name: str, asked: tuple[bool, bool]) -> None:
    facts = []
    for lib in (mindtorch, torch):
        factors = [lib.ones(2, 3, requires_grad=asked[0]), lib.ones(3, 4, requires_grad=asked[1])]
        node = getattr(lib, name)(*[lib.ones(2, 4)] * (name == "addmm"), *factors).grad_fn
        first = "self" if name == "mm" else "mat1"
        facts.append([tuple(getattr(node, f"_saved_{factor}_sym_{fact}"))
                      for factor in (first, "mat2") for fact in ("sizes", "strides")])
    assert facts[0] == facts[1]
