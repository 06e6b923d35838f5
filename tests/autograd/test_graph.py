"""The graph: the same programs on mindtorch and on PyTorch."""
from __future__ import annotations

import gc
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
    "numbers in composites": lambda t, a, b: (
        t.trapezoid(a, b).sum() + t.trapezoid(a, dx=2).sum() + t.cumulative_trapezoid(a, b).sum()
        + t.cumulative_trapezoid(a, dx=0.5).sum() + t.special.ndtr(a).sum()),
    "numbers in losses": lambda t, a, b: (
        t.nn.functional.triplet_margin_loss(a, b, b) + t.nn.functional.margin_ranking_loss(a, b, a.detach(), 0.5)
        + t.nn.functional.cosine_embedding_loss(a, b, t.tensor([1, -1])) + t.nn.functional.hinge_embedding_loss(a, b)
        + t.nn.functional.poisson_nll_loss(a, b, log_input=False, full=True)
        + t.nn.functional.cross_entropy(a, b, label_smoothing=0.1)
        + t.nn.functional.cross_entropy(a, t.tensor([0, 1]), label_smoothing=0.1)),
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
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        t.add(t.ones(2), 1, out=x)
    assert t.add(x, x, out=t.zeros(2)).tolist() == [4, 4] and t.ones(2).add_(x).tolist() == [3, 3]  # they are read
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        t.ones(2, requires_grad=True) * x
    with pytest.raises(RuntimeError, match="version counter"):
        x._version
    assert (x.clone() * t.ones(2, requires_grad=True)).requires_grad


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
    for number, dtype in (2, t.int64), (2.5, t.float64), (True, t.bool), (1j, t.complex128):
        assert (a * number).grad_fn._saved_other.dtype is dtype and (a * number).grad_fn._saved_other == number
    ends = [(node._saved_start, node._saved_end) for node in (a[1:].grad_fn, a[:1].grad_fn, a[::2].grad_fn)]
    assert ends == [(1, 2**63 - 1), (0, 1), (0, 2**63 - 1)]


@BOTH
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_an_overload_for_numbers_has_a_node_of_its_own(t, name):
    x = t.ones(2, requires_grad=True)
    out = getattr(t.ops.aten, name).Scalar(x, 2)
    assert out.grad_fn.name() == f"{name.title()}Backward1"
    assert getattr(t.ops.aten, name).Tensor(x, 2).grad_fn.name() == f"{name.title()}Backward0"
    out.sum().backward()
    assert x.grad.tolist() == [{"add": 1, "sub": 1, "mul": 2, "div": 0.5}[name]] * 2


@pytest.mark.parametrize("name", [
    "log2", "log1p", "sqrt", "rsqrt", "tan", "atan", "erf", "erfinv", "expm1", "exp2", "var", "std", "erfc"])
def test_graphs_of_formulas_multiply_by_numbers_as_cpp_does(name):
    def names(node, depth):
        return node and (node.name(), [depth and names(below, depth - 1) for below, _ in node.next_functions])

    def graph(t):
        x = t.tensor([0.25, 0.5], requires_grad=True)
        out = getattr(t, name)(x)
        return names(t.autograd.grad(out, x, t.ones_like(out).requires_grad_(), create_graph=True)[0].grad_fn, 2)

    assert graph(mindtorch) == graph(torch)


@BOTH
def test_saved_integers_are_unsigned_and_saved_numbers_are_not(t):
    a, negative = t.ones(2, 3, requires_grad=True), 2**64 - 1
    assert a.softmax(-1).grad_fn._saved_dim == a.transpose(-1, 0).grad_fn._saved_dim0 == negative
    assert a.sum((-1, -2)).grad_fn._saved_dim == (negative, negative - 1)
    assert a[-1].grad_fn._saved_index == a[:, -1:].grad_fn._saved_start == negative
    assert t.nn.functional.pad(a, (-1, 1)).grad_fn._saved_pad == (negative, 1)
    assert t.nn.functional.nll_loss(a, t.tensor([0, 1]), ignore_index=-1).grad_fn._saved_ignore_index == negative
    norm = a.norm(-1, -1).grad_fn
    assert norm._saved_ord == -1 and norm._saved_dim == (negative,)
    assert a.pow(-2).grad_fn._saved_exponent == -2 and a.clamp(-1, 1).grad_fn._saved_min == -1
    assert a.tril(-1).grad_fn._saved_diagonal == negative and a.amax(1, True).grad_fn._saved_keepdim is True


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
