"""Compiled programs compute what the functions compute as they are written: values, layouts, gradients, aliases."""
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mindtorch as torch
from mindtorch import nn
from mindtorch._base import loops
from mindtorch._compile import kernels
from mindtorch._dynamo import explain
from mindtorch.nn import functional as F
from tests.compile import differential


def explained(function, *args):
    return explain(function)(*args)


def same(ours, eager) -> None:
    """Results of both, with everything that a program can see of them."""
    if isinstance(eager, torch.Tensor):
        assert (ours.shape, ours.stride(), ours.dtype, ours.requires_grad, ours.storage_offset()) == (
            eager.shape, eager.stride(), eager.dtype, eager.requires_grad, eager.storage_offset())
        torch.testing.assert_close(ours.detach(), eager.detach(), rtol=2e-5, atol=1e-5, equal_nan=True)
    elif isinstance(eager, (list, tuple)):
        assert type(ours) is type(eager) and len(ours) == len(eager)
        for mine, other in zip(ours, eager, strict=True):
            same(mine, other)
    elif isinstance(eager, dict):
        assert [*ours] == [*eager]
        same([*ours.values()], [*eager.values()])
    else:
        assert ours == eager and type(ours) is type(eager)


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = [*value.values()]
    return [tensor for item in value for tensor in tensors_of(item)] if isinstance(value, (list, tuple)) else []


def compare(function, *args, graph: bool = True) -> None:
    """Call a function compiled, three times, and as it is; with gradients of the inputs that require them."""
    compiled = torch.compile(function, fullgraph=graph)
    for _ in range(3):
        results, gradients = [], []
        for call in (compiled, function):
            torch.manual_seed(1)
            inputs = [arg.detach().clone().requires_grad_(arg.requires_grad) if isinstance(arg, torch.Tensor) else arg
                      for arg in args]
            result = call(*inputs)
            results.append((result, inputs))
            wanted = [tensor for tensor in inputs if isinstance(tensor, torch.Tensor) and tensor.requires_grad]
            made = [tensor for tensor in tensors_of(result) if tensor.requires_grad and tensor.dtype.is_floating_point]
            if wanted and made:
                grads = [torch.ones_like(tensor) * 0.5 for tensor in made]
                gradients.append(torch.autograd.grad(made, wanted, grads, allow_unused=True))
        same(*(result for result, _ in results))
        same(*(inputs for _, inputs in results))
        if gradients:
            same(*(tuple(None if g is None else g.contiguous() for g in grads) for grads in gradients))
    if graph:
        assert compiled._compiled.entries[0].compiled.forward is not None and len(compiled._compiled.entries) == 1


def mutated(x, y):
    y.add_(x)
    y[0] = 2.0
    return y * x


def in_place_inside(x):
    y = x * 2
    y.add_(1).mul_(x)
    y[0] += 1
    return y.relu_()


def without_grad(x):
    with torch.no_grad():
        y = x.exp()
    return x * y, y, (x * 2).detach()


def attention(x, w):
    q, k, v = (x @ w).split(4, dim=-1)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True), (q @ k.transpose(-2, -1) / 2).softmax(-1) @ v


torch.manual_seed(0)  # the tensors are the same in each run
x34, y34 = torch.randn(3, 4), torch.randn(3, 4)
PROGRAMS = {
    "pointwise chain": (lambda x, y: (x * y + 1).tanh() * x - y.sigmoid(), x34, y34),
    "broadcasting": (lambda x, y: (x[:, None] * y + y[0]).sum((0, 2), keepdim=True) / 3, x34, y34),
    "activations": (lambda x: (F.gelu(x), F.silu(x), F.leaky_relu(x), F.elu(x), F.softplus(x), F.hardtanh(x)), x34),
    "reductions": (lambda x: (x.sum(), x.mean(1), x.max(1), x.var(0), x.logsumexp(1), x.argmax()), x34),
    "views that leave": (lambda x: ((x + 1).t(), x.t(), x[1:], x.view(2, 6)[0], x, x.unbind(1)), x34),
    "views of one result": (lambda x: [(z := x * 2), z.t(), z[0]], x34),
    "slices": (lambda x: x[:, 1:3].exp() + x[:, ::2] * x[1:2, :2], x34),
    "matmul with bias and relu": (lambda x, w, b: F.linear(x, w, b).relu().sum(), x34, torch.randn(5, 4),
                                  torch.randn(5)),
    "batched matmul": (lambda x, y: F.gelu(x[None] @ y.t()[None]), x34, y34),
    "attention": (attention, torch.randn(2, 5, 6), torch.randn(6, 12)),
    "softmax and loss": (lambda x: F.cross_entropy(x.log_softmax(1), torch.tensor([0, 2, 1])), x34),
    "layer norm": (lambda x, w: F.layer_norm(x, (4,), w, w * 2), x34, torch.randn(4)),
    "comparisons": (lambda x, y: torch.where(x > y, x * 2, y).clamp(-1, 1) + (x == y).float(), x34, y34),
    "factories": (lambda x: x + torch.arange(4) * torch.ones(4) + torch.zeros_like(x) + torch.full((3, 1), 2.0), x34),
    "constants": (lambda x: x * torch.tensor([1.0, 2.0, 3.0, 4.0]), x34),
    "cat and stack": (lambda x, y: torch.cat([x, y, torch.stack([x, y]).sum(0)], 1), x34, y34),
    "indexing": (lambda x: x[torch.tensor([2, 0])] + x.gather(1, torch.tensor([[0], [1]])), x34),
    "in place on inputs": (mutated, x34, y34),
    "in place inside": (in_place_inside, x34),
    "without grad": (without_grad, x34),
    "dictionaries": (lambda x: {"a": x + 1, "b": [x * 2, (x.shape, 3, None)]}, x34),
    "random numbers": (lambda x: F.dropout(x, 0.5) + torch.rand(3, 4) + torch.randn_like(x), x34),
    "dtypes": (lambda x: (x.double() * 2, x.to(torch.int64) + 1, x.half() * x.half(), x > 0), x34),
    "complex": (lambda x: torch.fft.fft(x).abs().sum(), x34),
    "common subexpressions": (lambda x, y: (x * y).exp() + (x * y).exp() + (x * y), x34, y34),
    "dead code": (lambda x: (x.exp() * 3, x * 2)[1], x34),
    "convolution": (lambda x, w: F.max_pool2d(F.conv2d(x, w, padding=1).relu(), 2), torch.randn(2, 1, 6, 6),
                    torch.randn(3, 1, 3, 3)),
    "empty": (lambda x: x[:0] * 2 + 1, x34),
    "no dimensions": (lambda x: x.sum() * 2 + x.mean().exp(), x34),
    "nan and infinity": (lambda x: (x / 0).relu() + (x * float("inf")).sigmoid() + float("nan"), x34),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.sampled(3)
def test_a_compiled_program_computes_what_its_function_does(name, grad) -> None:
    function, *args = PROGRAMS[name]
    args = [arg.clone().requires_grad_(grad and not (name == "in place on inputs" and i))
            for i, arg in enumerate(args)]
    if name == "in place on inputs" and grad:  # what is written then requires grad: no graph, but the same results
        compare(function, *args, graph=False)
    else:
        compare(function, *args)


def test_addcmul_multiplies_by_its_value_first() -> None:
    """As the operator does: in another order, these products overflow, or are rounded otherwise."""
    for value in (1, 1e-30, 0.3):
        x, first, second = torch.randn(64), torch.randn(64) * 1e25, torch.randn(64) * 1e25

        def function(x: torch.Tensor, first: torch.Tensor, second: torch.Tensor, value: float = value) -> torch.Tensor:
            return torch.addcmul(x, first, second, value=value) * 2

        assert torch.equal(torch.compile(function)(x, first, second), function(x, first, second))


def test_large_arrays_go_through_kernels_in_blocks() -> None:
    for shape, other in [((400, 1000), (400, 1000)), ((400, 1000), (1000,)), ((400, 1000), (400, 1)), ((300001,), ())]:
        x, y = torch.randn(shape, requires_grad=True), torch.randn(other)
        compare(lambda x, y: ((x * y + 1).tanh() * x).sigmoid() * y, x, y)
        source = explained(lambda x, y: (x * y + 1).tanh(), x, y).compiled[0].programs[0].source
        assert "each_block" in source
    turned = torch.randn(1000, 400).t()
    same(torch.compile(lambda x: (x + 1) * x.contiguous())(turned), (turned + 1) * turned)


ARITHMETIC = {
    "a chain": lambda x, y: ((x * y + 1) * x - y).relu() * 0.5,
    "several results": lambda x, y: (x - 2, -(x - 2) / y, (x * y).abs()),
    "a choice": lambda x, y: torch.where(x > y, x * 3, y - 1),
    "comparisons": lambda x, y: (x + 1 < y, x == y, x * 2 >= 3),
    "roots": lambda x, y: (x + y).sqrt() + (x * y).rsqrt() + y.reciprocal(),
    "a tensor without dimensions": lambda x, y: x * y.sum() + 2,
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("function", ARITHMETIC.values(), ids=ARITHMETIC)
@pytest.mark.sampled(3)
def test_compiled_loops_compute_what_kernels_of_numpy_do(function, dtype, monkeypatch) -> None:
    pytest.importorskip("numba")
    torch.manual_seed(0)
    special = torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan, 1e-45, 1e38, -1], dtype=dtype)
    x, y = (torch.cat([values.reshape(-1), torch.randn(1 << 19, dtype=dtype)]).requires_grad_()
            for values in torch.meshgrid(special, special, indexing="ij"))

    def run():
        compiled = torch.compile(function)
        results = compiled(x, y)
        results = [results] if isinstance(results, torch.Tensor) else [*results]
        total = sum(result.sum() for result in results if result.is_floating_point())
        return [*results, *(torch.autograd.grad(total, [x, y]) if results[0].is_floating_point() else [])]

    assert "@loop" in explained(function, x, y).compiled[0].programs[0].source
    loops = run()
    monkeypatch.setattr(kernels, "define", lambda *text: None)
    assert "@loop" not in explained(function, x, y).compiled[0].programs[0].source
    for mine, other in zip(loops, run(), strict=True):
        mine, other = mine.detach().numpy(), other.detach().numpy()
        np.testing.assert_array_equal(mine, other)
        numbers = ~np.isnan(mine)
        np.testing.assert_array_equal(np.signbit(mine[numbers]), np.signbit(other[numbers]))


ACTIVATED = {
    "gelu after a bias": lambda x, b: F.gelu(x + b), "a gate": lambda x, b: F.silu(x) * b,
    "sigmoid of a product": lambda x, b: (x * b).sigmoid(), "gelu twice": lambda x, b: F.gelu(F.gelu(x) - b),
}


@pytest.mark.parametrize("function", ACTIVATED.values(), ids=ACTIVATED)
def test_activations_are_fused_into_compiled_loops_with_their_derivatives(function) -> None:
    pytest.importorskip("numba")
    torch.manual_seed(0)
    x, b = torch.randn(64, 80).mul_(3).requires_grad_(), torch.randn(80, requires_grad=True)
    compiled, grad = torch.compile(function), torch.randn(64, 80)
    for _ in range(2):
        made = compiled(x, b)
    torch.testing.assert_close(made, function(x, b), rtol=1e-5, atol=1e-6)
    expected = torch.autograd.grad(function(x, b), [x, b], grad)
    torch.testing.assert_close(torch.autograd.grad(made, [x, b], grad), expected, rtol=1e-4, atol=1e-4)
    forward, backward = (program.source for program in explained(function, x, b).compiled[0].programs)
    assert "activation." in forward and "@loop" in backward


BROADCAST = {
    "a bias for each column": lambda x, w, b: (x + b).relu() * 2,
    "numbers for each row": lambda x, w, b: (x * x[:, :1] - 1).relu(),
    "three dimensions": lambda x, w, b: (x.view(8, 10, 80) * b + x.view(8, 10, 80)[:, :1]).relu(),
    "after a product": lambda x, w, b: (x @ w + b).relu(),
    "after a product that is kept": lambda x, w, b: ((product := x @ w) + b, product * 2),
    "after a product of another dtype than the result": lambda x, w, b: (x @ w + b) * 2 > 0,
}


@pytest.mark.parametrize("function", BROADCAST.values(), ids=BROADCAST)
def test_loops_over_several_dimensions_compute_what_kernels_of_numpy_do(function, monkeypatch) -> None:
    pytest.importorskip("numba")
    torch.manual_seed(0)
    x, w, b = torch.randn(80, 80), torch.randn(80, 80), torch.randn(80)
    x[3, 5] = torch.nan
    source = explained(function, x, w, b).compiled[0].programs[0].source
    assert "for j in range" in source
    loops = torch.compile(function)
    loops(x, w, b)
    results = loops(x, w, b)
    monkeypatch.setattr(kernels, "define", lambda *text: None)
    others = torch.compile(function)
    others(x, w, b)
    for mine, other in zip(*[made if isinstance(made, tuple) else (made,) for made in (results, others(x, w, b))],
                           strict=True):
        np.testing.assert_array_equal(mine.numpy(), other.numpy())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_a_few_rows_are_added_up_by_a_product_with_ones(dtype) -> None:
    x = torch.randn(30, 7, dtype=dtype)
    x[3, 2], x[4, 5] = torch.inf, torch.nan
    function = torch.compile(lambda x: (x.sum(0), x.sum(-2, keepdim=True), x.sum(0, dtype=torch.float64), x.sum(1)))
    for _ in range(2):
        results = function(x)
    for mine, other in zip(results, [x.sum(0), x.sum(0, True), x.sum(0, dtype=torch.float64), x.sum(1)], strict=True):
        torch.testing.assert_close(mine, other, equal_nan=True)
    source = explained(lambda x: (x.sum(0), x.sum(1)), x).compiled[0].programs[0].source
    assert ".dot(x)" in source and "aten.sum(x, (1,)" in source


def test_sums_of_products_are_dot_products(monkeypatch) -> None:
    monkeypatch.setattr(kernels, "define", lambda *text: None)  # without loops over rows
    x, y = torch.linspace(-1, 1, 1280).view(2, 20, 32), torch.linspace(1, 2, 1280).view(2, 20, 32)

    def function(x, y):
        return ((x * y).sum(-1), x.pow(2).mean(-1, keepdim=True), x.square().sum(), (x * y).mean(), (y * y).sum(0),
                (x * x.sum(0)).sum(-1), (x * y).sum((0, 1, 2), keepdim=True))

    assert explained(function, x, y).compiled[0].programs[0].source.count("numpy.vecdot") == 5
    for dtype in (torch.float32, torch.float64):
        compare(function, x.to(dtype).requires_grad_(), y.to(dtype))


def test_kernels_with_transcendental_functions_are_those_of_numpy() -> None:
    x = torch.randn(1 << 19)
    assert "@loop" not in explained(lambda x: (x * 2 + 1).exp(), x).compiled[0].programs[0].source


#: Functions of ``x`` (24, 40), ``y`` alike, ``v`` (40) and ``m``, a mask (6, 40), and how many kernels they are.
ROWS = {
    "a mean squared error": lambda x, y, v, m: ((x - y) ** 2).mean(),
    "a loss and a penalty": lambda x, y, v, m: F.mse_loss(x * v, y) + 0.1 * (v * x).sum(),
    "a root mean square norm": lambda x, y, v, m: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * v,
    "a masked softmax": lambda x, y, v, m: (x.view(4, 6, 40) / 8).masked_fill(m, -torch.inf).softmax(-1),
    "a layer norm after a sum": lambda x, y, v, m: F.layer_norm(x + y, (40,), v, v * 2),
    "a loss of classes": lambda x, y, v, m: F.cross_entropy(x * v, torch.arange(24), ignore_index=3),
    "numbers for each row": lambda x, y, v, m: ((x - x.mean(-1, keepdim=True)).exp() + y).sum(-1),
    "a sum that broadcasts along columns": lambda x, y, v, m: (x[:, :24] * 2).sum(-1) + x[:, :24] * x.sum(-1),
    "a sum that is used for all elements": lambda x, y, v, m: (x * 2 + y) * (x * 2).sum(),
}


@pytest.fixture(params=[True, False], ids=["loops", "numpy"])
def with_loops(request, monkeypatch) -> bool:
    """Compile with numba's loops, or without."""
    if request.param:
        pytest.importorskip("numba")
    else:
        monkeypatch.setattr(kernels, "define", lambda *text: None)
    return request.param


@pytest.mark.parametrize("function", ROWS.values(), ids=ROWS)
@pytest.mark.sampled(2)
def test_reductions_are_computed_with_the_pointwise_steps_around_them(function, with_loops) -> None:
    torch.manual_seed(0)
    x, y, v = (torch.randn(shape).requires_grad_() for shape in ((24, 40), (24, 40), (40,)))
    mask = torch.randn(6, 40) > 1
    compare(function, x, y, v, mask)
    source = explained(function, x, y, v, mask).compiled[0].programs[0].source
    assert ("by compiled loops" in source or "by a compiled loop over rows" in source) == with_loops


@pytest.mark.parametrize("function", [
    lambda x: x.sum(0, keepdim=True).view(-1) * 2, lambda x: x.mean((0, -1), keepdim=True).squeeze() + 1,
    lambda x: x.sum(1, keepdim=True).view(3, 2).mul_(3), lambda x: x.sum(0, keepdim=True).view(-1, 1, 2) * 2,
    lambda x: (x.sum(0, keepdim=True), x.sum(0, keepdim=True).flatten() * 2), lambda x: x[0, 0, 0].var(-1),
    lambda x: x.sum(0, keepdim=True).flatten()])
def test_dimensions_that_a_sum_keeps_and_a_view_drops_are_left_out(function) -> None:
    compare(function, torch.arange(24.0).view(3, 4, 2).requires_grad_())


def test_the_gradient_of_a_bias_is_a_sum_without_a_view() -> None:
    x, bias = torch.randn(6, 8), torch.randn(6, requires_grad=True)
    found = explained(lambda x, bias: F.linear(x, x, bias).tanh(), x, bias).compiled[0]
    assert ".reshape" not in found.programs[1].source
    assert "backward: dropped the kept dimensions of 1 sums" in found.optimised


TURNS = {
    "sums of columns": lambda x, y, v: (x.softmax(-1).sum(0), (y * y).sum(-1), y.log_softmax(-1).sum(0, keepdim=True)),
    "views between": lambda x, y, v: (x.softmax(-1).t().reshape(8, -1).softmax(-1), x.softmax(-1)[3:].sum(0)),
    "another kernel between": lambda x, y, v: (x.softmax(-1).cumsum(0).softmax(-1).sum(0) + y.softmax(-1).sum(0)),
    "a loss": lambda x, y, v: F.cross_entropy(F.linear(F.linear(x, y).relu(), x.t(), v).relu(), torch.arange(24)),
    "memory used again": lambda x, y, v: F.linear(F.linear(F.linear(x, y), y.t()), y).softmax(-1).sum(0),
}


@pytest.mark.parametrize("function", TURNS.values(), ids=TURNS)
def test_neighbouring_kernels_of_loops_are_one_kernel(function, with_loops) -> None:
    torch.manual_seed(0)
    x, y, v = (torch.randn(shape).requires_grad_() for shape in ((24, 40), (24, 40), (40,)))
    compare(function, x, y, v)
    program = explained(function, x, y, v).compiled[0].programs[0]
    products = with_loops or loops.has_wide_vectors()  # which are loops of the library
    assert ("@in_turn" in program.source) == with_loops or (products and "product" in program.source)


def test_a_loss_in_a_loop_over_rows_refuses_invalid_targets() -> None:
    pytest.importorskip("numba")
    function = torch.compile(lambda x, target: F.cross_entropy(x, target))
    x, target = torch.randn(24, 40), torch.arange(24)
    function(x, target)
    for wrong in (40, -1):
        target[5] = wrong
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
            function(x, target)
    target[:] = -100
    assert function(x, target).isnan()


OPERATIONS = {
    "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "sub": lambda a, b: a - b * 0.5,
    "tanh": lambda a, b: a.tanh(),
    "relu": lambda a, b: a.relu(), "sigmoid": lambda a, b: b.sigmoid(), "t": lambda a, b: a.t() if a.ndim == 2 else a,
    "view": lambda a, b: a.reshape(-1, 2) if a.numel() % 2 == 0 else a,
    "sum": lambda a, b: a.sum(0, keepdim=True), "max": lambda a, b: a.amax(-1),
    "mm": lambda a, b: a @ b.t() if a.ndim == b.ndim == 2 and a.shape[1] == b.shape[1] else a * 2,
    "slice": lambda a, b: a[1:] if a.ndim and len(a) > 1 else a, "add_": lambda a, b: (a * 1).add_(2),
    "expand": lambda a, b: a + a.new_ones(()).expand(1), "softmax": lambda a, b: a.softmax(-1) if a.ndim else a,
    "where": lambda a, b: torch.where(a > 0, a, a * 0.1), "clone": lambda a, b: a.clone().mul_(b.sum()),
}


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 6), st.integers(0, 6)), min_size=1,
                max_size=10), st.booleans())
def test_programs_made_at_random(calls, grad) -> None:
    def program(x, y):
        values = [x, y]
        for name, i, j in calls:
            a, b = values[i % len(values)], values[j % len(values)]
            if not b.ndim or (a.ndim and b.ndim and a.shape[-1] != b.shape[-1]) or a.ndim != b.ndim or (
                    a.shape[:-1] != b.shape[:-1] and name != "mm"):
                b = a
            values.append(OPERATIONS[name](a, b))
        return values[2:]

    compare(program, torch.linspace(-1, 1, 24).view(4, 6).requires_grad_(grad), torch.linspace(1, 2, 24).view(4, 6))


def test_a_model_trains_as_it_does_uncompiled() -> None:
    def train(compiled: bool, make):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Dropout(0.25), nn.Linear(8, 3))
        optimizer = make(model.parameters())
        call = torch.compile(model) if compiled else model
        x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
        losses = []
        for step in range(6):
            if step == 4:
                model.eval()
            optimizer.zero_grad()
            loss = F.cross_entropy(call(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, [*model.state_dict().values()], call

    # the gradient of the first bias, which the batch norm takes away, is rounding, of which Adam would make whole steps
    for make in (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: torch.optim.Adam(p, eps=1e-3)):
        (ours, state, call), (eager, other, _) = train(True, make), train(False, make)
        torch.testing.assert_close(torch.tensor(ours), torch.tensor(eager))
        same(state, other)
        assert len(call._compiled.entries) == 2  # in training, and in evaluation mode


@pytest.mark.parametrize("first", range(0, 120, 40))
@pytest.mark.sampled(3)
def test_random_programs_are_what_they_are_uncompiled(first) -> None:
    for seed in range(first, first + 40):
        case = differential.generate(seed)
        assert not (found := differential.differences(case)), "\n".join([str(case), *found])


#: Programs in which autograd's state of a tensor is changed or matters: lines, inputs, and the result.
OF_AUTOGRAD = {
    "a view taken without grad is made to require it": (
        ["with torch.no_grad(): v1 = a.select(-1, -1)", "v1.requires_grad_()"], [((1, 4), "float32", "grad")], "v1"),
    "a view of such a view is used": (
        ["with torch.no_grad(): v1 = a.view(-1)", "v2 = v1[1:]", "v1.requires_grad_()", "v3 = v2.norm(3)"],
        [((2, 2), "float32", "grad")], "[-a, v3, v1]"),
    "an input is made to require grad after its view was turned in place": (
        ["v1 = a[None]", "v1.t_()", "a.requires_grad_()"], [((3,), "float32", "")], "v1"),
    "an input that contiguous() returns is detached in place": (
        ["v1 = a.contiguous()", "v1.detach_()"], [((3,), "float32", "grad made")], "v1 * 2"),
    "a tensor is detached in place of which there is a view": (
        ["v1 = a.exp()", "v2 = v1[1:]", "with torch.no_grad(): v1.detach_()"], [((3,), "float32", "grad")],
        "[v1, v2]"),
    "views are taken without grad of an input whose base has none": (
        ["with torch.no_grad(): v1 = a.view(-1)"], [((2, 2), "float32", "turned grad"), ((2, 2), "float32", "part")],
        "[v1.clone(), b.mT * 2]"),
    "and of a view of that input": (
        ["v1 = a[1:]", "a.requires_grad_(False)", "with torch.no_grad(): v2 = v1.view(-1)"],
        [((3, 2), "float32", "grad")], "v2.clone()"),
    "the base of a leaf is turned in place": (
        ["v1 = a.select(-1, 0)", "with torch.no_grad(): v1.unsqueeze_(0)"], [((2, 3), "float32", "turned grad")],
        "a[..., 0]"),
    "a strided input with a history is made contiguous": (
        [], [((3,), "float32", "turned grad"), ((3,), "float32", "alias")], "[a[1:], b.contiguous()]"),
    "an input is written whose elements share memory": (
        ["v1 = a.expand(2, *a.shape)", "with torch.no_grad(): a.set_(a)", "v1[0].mul_(0.5)"], [((3,), "float32", "")],
        "[v1, a]"),
    "the data of a result that is saved is replaced": (
        ["v1 = 2 ** a", "v2 = F.silu(v1)", "v1.data = v1 * 2"], [((3,), "float32", "grad")], "[v1, v2]"),
    "memory is given to a result that is saved": (
        ["v1 = a.tanh()", "v2 = a.amax(0)", "v1.set_(v2)"], [((1, 4), "float32", "grad")], "v2"),
    "an input is set to a tensor with a history": (
        ["v2 = b.expand_as(a)", "a.set_(v2)", "v3 = a.squeeze()"],
        [((2, 0), "float32", "turned"), ((2, 0), "float32", "grad")], "v3.repeat(2, 1)"),
    "a tensor is turned in place after a part of it was detached": (
        ["v1 = torch.zeros(3, 4)", "v3 = v1.flatten().detach()", "v1.unsqueeze_(0)"], [((3,), "float32", "")],
        "[v3, v1]"),
    "an input is turned in place after a view of it was taken": (
        ["v1 = a[-1:]", "with torch.inference_mode(): a.unsqueeze_(0)"], [((1, 4), "float64", "turned grad")],
        "[a * 2, a]"),
    "a view is taken of what inference mode made": (
        ["with torch.inference_mode(): v1 = a * 2", "v2 = v1[..., 1]"], [((3, 2), "float32", "grad")], "v2"),
    "and of what else is returned": (
        ["with torch.inference_mode(): v1 = a * 2", "v2 = v1.view(-1)"], [((3, 2), "float32", "grad")], "[v2, v1]"),
    "a view is taken of what inference mode detached": (
        ["with torch.inference_mode(): v1 = a.detach()", "v2 = v1.squeeze()"], [((1, 2), "float32", "grad")], "v2"),
    "the data of an input that is saved gets another shape": (
        ["v1 = a * a", "a.data = v1.sum()"], [((4, 1), "float32", "grad made")], "v1"),
    "an input with strides that a size of 1 leaves open": (
        [], [((2, 2), "float32", "turned grad"), ((2, 2), "float32", "part")], "b.minimum(b)"),
}


MOVES = ["unsqueeze_(0)", "squeeze_()", "t_()", "transpose_(0, 1)", "as_strided_((2,), (1,))", "set_({x}[0])"]
MOVED = {"an input": [], "a tensor": ["v = torch.zeros(1, 4)"], "a result": ["v = a * 2"], "a view": ["v = a[...]"],
         "a part of a result": ["v = (a * 2)[:, 1:]"], "a detached input": ["v = a.detach()"], "data": ["v = a.data"]}


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("moved", MOVED)
@pytest.mark.sampled(3)
def test_what_is_moved_in_place_is_as_uncompiled(moved, move) -> None:
    x = "v" if MOVED[moved] else "a"
    for mode in ("", "with torch.no_grad(): "):
        for how in ("", "grad", "turned grad"):
            lines = [*MOVED[moved], f"w = {x}.flatten().detach()", f"{mode}{x}.{move.format(x=x)}"]
            case = differential.Case(lines, [((1, 4), "float32", how)], f"[w, {x}, {x} * 1]", numba=False)
            found = differential.differences(case)
            assert not found, "\n".join([str(case), *found])


@pytest.mark.parametrize("name", OF_AUTOGRAD)
def test_what_autograd_knows_of_tensors_is_as_uncompiled(name) -> None:
    found = differential.differences(differential.Case(*OF_AUTOGRAD[name], numba=False))
    assert not found, "\n".join(found)


def test_paths_that_no_gradient_reaches_are_not_run() -> None:
    def function(a, b):
        root, twice = a.sqrt(), a * 2
        chosen = torch.where(a > 0, twice, root)
        return (root, twice, chosen, b.softmax(-1)[0] * twice.sum(), torch.cat([a, b]), a.sum(0), (a * b).norm(),
                F.gelu(a @ b.mT).select(0, 1), a[1:].clone(), b.masked_fill(b > 0, 0.0), b.var(-1), b.cumsum(0),
                b.amax(0), b[torch.tensor([1, 0])], F.layer_norm(b, (3,)),
                (b / twice.sum()).repeat(2, 1), (a * b).sign())

    compiled, count = torch.compile(function, fullgraph=True), 17
    for number in range(count):
        for reached in ([number], [number, (number * 7 + 3) % count]):
            gradients = []
            for call in (compiled, function):
                a = torch.tensor([[0.0, 0.5, 1.5], [2.0, 0.25, 0.125]]).requires_grad_()  # the root of 0 has no slope
                b = torch.linspace(-1, 1, 6).view(2, 3).requires_grad_()
                results = call(a, b)
                chosen = [results[i] for i in reached]
                gradients.append(torch.autograd.grad(chosen, [a, b], [torch.ones_like(x) for x in chosen],
                                                     allow_unused=True))
            for mine, other in zip(*gradients, strict=True):
                assert (mine is None) is (other is None)
                if other is not None:
                    torch.testing.assert_close(mine, other, equal_nan=True)


def test_a_function_of_the_users_gets_zeros_for_the_gradients_that_are_absent() -> None:
    class Exponential(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            return first.exp() * second

    def function(x):
        return Exponential.apply(x)

    compiled = torch.compile(function)
    for reached in (0, 1):
        gradients = []
        for call in (compiled, function):
            x = torch.ones(2, requires_grad=True)
            gradients.append(torch.autograd.grad(call(x)[reached].sum(), x)[0].tolist())
        assert gradients[0] == gradients[1]


def test_a_saved_value_that_was_written_is_refused_only_where_it_is_needed() -> None:
    compiled = torch.compile(lambda x: (x.tanh(), x.exp()))
    x = torch.ones(2, requires_grad=True)
    first, second = compiled(x)
    with torch.no_grad():
        first.zero_()
    torch.testing.assert_close(torch.autograd.grad(second.sum(), x, retain_graph=True)[0], x.detach().exp())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(first.sum(), x)


@pytest.mark.parametrize("dynamic", [False, True])
def test_an_input_with_other_data_in_the_backward_pass(dynamic) -> None:
    compiled = torch.compile(lambda x: x.sigmoid() * x.exp() + x ** 3, dynamic=dynamic)
    for data, expected in ((torch.full((2, 3), 2.0).t(), None), (torch.ones(5), RuntimeError)):
        x = torch.ones(3, 2, requires_grad=True)
        result = compiled(x)
        x.data = data
        if expected is None:
            assert torch.autograd.grad(result.sum(), x)[0].shape == (3, 2)
        else:
            with pytest.raises(expected, match="its data was replaced"):
                torch.autograd.grad(result.sum(), x)


def test_views_of_a_sum_of_which_one_summand_is_absent_keep_its_memory() -> None:
    def function(b):
        variance = b.var(-1)
        both = torch.cat([variance.square(), variance])
        chosen = both.masked_fill(both > 0, 2.0)
        both.abs_()
        return both, chosen

    compiled, gradients = torch.compile(function, fullgraph=True), []
    for call in (compiled, function):
        b = torch.linspace(-1, 1, 8200).view(2, 4100).cos().requires_grad_()
        gradients.append(torch.autograd.grad(call(b)[0], b, torch.arange(1.0, 5.0))[0])
    torch.testing.assert_close(*gradients)
