"""Functions of functions in compiled programs: transforms of ``torch.func``, modules as functions, checkpoints. Each is
one node that applies the graph of its function.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

import mindtorch
from mindtorch import vmap
from mindtorch._dynamo.testing import CompileCounterWithBackend, EagerAndRecordGraphs
from mindtorch._higher_order_ops.wrap import wrap
from mindtorch.func import functional_call, grad, jvp, stack_module_state, vjp
from mindtorch.fx.experimental.proxy_tensor import make_fx
from mindtorch.nn.functional import dropout
from mindtorch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

from .test_control_flow import tensors_in

oracle = pytest.importorskip("torch", reason="PyTorch, the reference of these tests, is not installed")
LIBRARIES = (mindtorch, oracle)


def linear(torch: Any, number: int = 0) -> Any:
    """Return a layer whose parameters are known."""
    layer = torch.nn.Linear(3, 2)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.linspace(-0.5, 0.7, parameter.numel()).reshape(parameter.shape) + number)
    return layer


def weight_of(torch: Any) -> Any:
    return torch.linspace(-1.0, 1.0, 6).reshape(3, 2).requires_grad_()


def squares(torch: Any, layer: Any) -> Callable[..., Any]:
    return lambda p, r: torch.func.functional_call(layer, p, (r,)).pow(2).sum()


def ensemble(torch: Any) -> Callable[..., Any]:
    layers = [linear(torch, number) for number in range(4)]
    parameters, buffers = torch.func.stack_module_state(layers)
    one = layers[0]
    return lambda x: torch.vmap(lambda p, b, r: torch.func.functional_call(one, (p, b), (r,)), (0, 0, None))(
        parameters, buffers, x)


def per_sample(torch: Any) -> Callable[..., Any]:
    layer = linear(torch)
    return lambda x: torch.vmap(torch.func.grad(squares(torch, layer)), (None, 0))(dict(layer.named_parameters()), x)


def by_parameters(torch: Any) -> Callable[..., Any]:
    """Return a program of names with dots."""
    net = torch.nn.Sequential(linear(torch), torch.nn.Tanh())
    parameters = {name: parameter.detach() for name, parameter in net.named_parameters()}
    return lambda x: torch.func.jacrev(lambda p: torch.func.functional_call(net, p, (x,)).sum(0))(parameters)


def of_vjp(torch: Any) -> Callable[..., Any]:
    def program(x):
        out, pull = torch.func.vjp(lambda r: r.sin(), x[0])
        return out, pull(out), torch.vmap(pull)(torch.eye(3))

    return program


def of_aux(torch: Any) -> Callable[..., Any]:
    def program(x):
        out, pull, aux = torch.func.vjp(lambda r: (r.sin(), {"cos": r.cos()}), x, has_aux=True)
        return out, pull(x), aux["cos"]

    return program


def with_weight(torch: Any) -> Callable[..., Any]:
    weight = weight_of(torch)

    def program(x):
        total = x.sum()
        gradient = torch.func.grad(lambda a: (a @ weight).tanh().sum())(x)
        return torch.vmap(lambda r: r * total + weight[:, 0])(x), gradient

    return program


def made_before(torch: Any) -> Callable[..., Any]:
    scaled = torch.vmap(lambda r: r * 2)
    both = torch.func.grad(lambda r, s: (r ** 3 * s).sum(), argnums=(0, 1))
    return lambda x: (scaled(x), both(x, x + 1))


def under_no_grad(torch: Any) -> Callable[..., Any]:
    def program(x):
        with torch.no_grad():
            found = torch.func.grad(lambda r: (r ** 2).sum())(x)
        return found, torch.func.grad(lambda r: (r ** 2).sum())(x)

    return program


def in_checkpoint(torch: Any) -> Callable[..., Any]:
    weight = weight_of(torch)
    call = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint

    def region(a, scale=None):
        return {"out": (a.sin() @ weight).cos() * scale, "number": 3}

    def program(x):
        found = call(region, x, scale=2.0, use_reentrant=False)
        return found["out"] * found["number"], call(lambda a: call(lambda b: b.sin().cos(), a, use_reentrant=False) * a,
                                                    x, use_reentrant=False)

    return program


def in_checkpoint_of_module(torch: Any) -> Callable[..., Any]:
    layer, call = linear(torch), import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    return lambda x: call(layer, x, use_reentrant=False).tanh()


#: Programs of one tensor, made for a library.
PROGRAMS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "a tree of results": lambda torch: lambda x: torch.vmap(lambda r: {"a": r.sin(), "b": (r.sum(), r * 2)})(x),
    "a tree of arguments": lambda torch: lambda x: torch.vmap(
        lambda d, k: d["a"] * d["b"][0] + k, in_dims=({"a": 0, "b": (None,)}, None))({"a": x, "b": (x[0],)}, 3),
    "dimensions of results": lambda torch: lambda x: torch.vmap(lambda r: (r, r.sum()), out_dims=(1, 0))(x),
    "keywords": lambda torch: lambda x: torch.vmap(lambda r, *, k: r * k.sum())(x, k=x),
    "values from outside": with_weight,
    "vmap of vmap": lambda torch: lambda x: torch.vmap(lambda a: torch.vmap(lambda b: a * b)(x))(x),
    "chunks": lambda torch: lambda x: torch.vmap(lambda r: r.sin() * x[0], chunk_size=2)(x),
    "a partial": lambda torch: lambda x: torch.vmap(functools.partial(torch.add, alpha=2), in_dims=(0, None))(x, x[0]),
    "a function of the library": lambda torch: lambda x: torch.vmap(torch.sin)(x),
    "a module": lambda torch: torch.vmap(linear(torch)),
    "sizes": lambda torch: lambda x: torch.vmap(lambda r: r * r.shape[0] + x.shape[0])(x),
    "auxiliary results": lambda torch: lambda x: torch.func.grad(
        lambda r: ((r ** 2).sum(), {"c": r.cos()}), has_aux=True)(x),
    "several arguments": lambda torch: lambda x: torch.func.grad(
        lambda a, b, c: (a * b * c).sum(), argnums=(0, 2))(x, x + 1, x + 2),
    "gradient and value": lambda torch: lambda x: torch.func.grad_and_value(lambda r: r.sin().sum())(x),
    "a gradient of a gradient": lambda torch: lambda x: torch.func.grad(
        lambda a: torch.func.grad(lambda b: (b ** 3).sum())(a).sum())(x),
    "jacrev": lambda torch: lambda x: torch.func.jacrev(lambda a, b: (a * b, (a + b).sum()), argnums=(0, 1))(
        x[0], x[1]),
    "jacfwd": lambda torch: lambda x: torch.func.jacfwd(lambda a: (a ** 2, a.sin()), has_aux=True)(x[0]),
    "hessian": lambda torch: lambda x: torch.func.hessian(lambda a: (a ** 3).sum())(x[0]),
    "hessian of what saves its result": lambda torch: lambda x: torch.func.hessian(lambda d: (x @ d["w"]).tanh().sum())(
        {"w": x[:3]}),
    "vjp": of_vjp,
    "vjp with auxiliary results": of_aux,
    "jvp": lambda torch: lambda x: torch.func.jvp(lambda r, s: {"k": r * s}, (x, x + 1), (x, x)),
    "made before": made_before,
    "without gradients": under_no_grad,
    "other parameters": lambda torch: functools.partial(
        lambda layer, x: torch.func.functional_call(layer, {"weight": x[:2]}, (x,)), linear(torch)),
    "gradients of each sample": per_sample,
    "an ensemble": ensemble,
    "a Jacobian by parameters": by_parameters,
    "a checkpoint": in_checkpoint,
    "a checkpoint of a module": in_checkpoint_of_module,
}


def run(torch: Any, program: Callable[..., Any], rows: int, requires_grad: bool) -> list[Any]:
    """Return a program's results, and the gradient of the input through them."""
    x = (torch.arange(3.0 * rows).reshape(rows, 3) / 7 - 1).requires_grad_(requires_grad)
    results = tensors_in(program(x))
    recorded = [one for one in results if one.requires_grad]
    gradient = torch.autograd.grad(sum((one * one).sum() for one in recorded), x) if requires_grad and recorded else ()
    return [(one.requires_grad, one.tolist()) for one in (*results, *gradient)]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.sampled(8)
def test_transforms_are_captured_whole(name: str, backend: str) -> None:
    """Results, gradients through them, and whether these are recorded, also for other sizes, are those of PyTorch."""
    expected, program = PROGRAMS[name](oracle), PROGRAMS[name](mindtorch)
    for requires_grad in (False, True):
        mindtorch._dynamo.reset()
        compiled = mindtorch.compile(program, backend=backend, fullgraph=True)
        for rows in (4, 5):
            found = run(mindtorch, compiled, rows, requires_grad)
            wanted = run(oracle, expected, rows, requires_grad)
            assert [one[0] for one in found] == [one[0] for one in wanted]
            for (_, one), (_, other) in zip(found, wanted, strict=True):
                oracle.testing.assert_close(oracle.tensor(one), oracle.tensor(other), atol=1e-5, rtol=1e-5)


def captured(program: Callable[..., Any], *args: Any) -> str:
    """Return the graph of a program, without comments."""
    backend = EagerAndRecordGraphs()
    mindtorch._dynamo.reset()
    mindtorch.compile(program, backend=backend, fullgraph=True)(*args)
    lines = backend.graphs[0].print_readable(print_output=False).splitlines()
    return "\n".join(line for line in lines if line.strip() and "# File" not in line)


def test_graph_shows_the_function_as_a_graph_of_its_own() -> None:
    weight = mindtorch.ones(3)

    def program(x):
        return vmap(grad(lambda row: (row * weight).sin().sum()))(x)

    assert captured(program, mindtorch.randn(5, 3)) == """\
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[5, 3]", L_weight_: "f32[3]"):
        l_x_ = L_x_
        l_weight_ = L_weight_
        vmap_body_0 = self.vmap_body_0
        vmap: "f32[5, 3]" = torch.ops.higher_order.vmap(vmap_body_0, (l_x_,), (l_weight_,));  vmap_body_0 = l_x_ = \
l_weight_ = None
        return (vmap,)
    class vmap_body_0(torch.nn.Module):
        def forward(self, row: "f32[3]", l_weight_: "f32[3]"):
            grad_body_0 = self.grad_body_0
            grad: "f32[3]" = torch.ops.higher_order.grad(grad_body_0, (row,), (l_weight_,));  grad_body_0 = row = \
l_weight_ = None
            return grad
        class grad_body_0(torch.nn.Module):
            def forward(self, row: "f32[3]", l_weight_: "f32[3]"):
                mul: "f32[3]" = row * l_weight_;  row = l_weight_ = None
                sin: "f32[3]" = mul.sin();  mul = None
                sum_1: "f32[]" = sin.sum();  sin = None
                return sum_1"""


def test_graph_shows_a_checkpoint_as_one_node() -> None:
    graph = captured(lambda x: checkpoint(lambda a: a.sin(), x, use_reentrant=False), mindtorch.randn(3))
    assert "torch.ops.higher_order.tag_activation_checkpoint(wrap_body_0, l_x_);" in graph


def test_guards_hold_what_the_function_reads() -> None:
    """A number in the closure, or an attribute of the module, is guarded as if the function were called directly."""
    scale, counter = [2.0], CompileCounterWithBackend("eager")
    compiled = mindtorch.compile(lambda x: vmap(lambda r: r * scale[0])(x), backend=counter, fullgraph=True)
    x = mindtorch.arange(6.0).reshape(2, 3)
    assert compiled(x).equal(x * 2) and compiled(x + 1).equal(x * 2 + 2) and counter.frame_count == 1
    scale[0] = 3.0
    assert compiled(x).equal(x * 3) and counter.frame_count == 2


def test_settings_of_a_transform_made_before_are_guarded() -> None:
    counter = CompileCounterWithBackend("eager")
    compiled = mindtorch.compile(lambda f, x: f(x), backend=counter, fullgraph=True)
    x, double = mindtorch.arange(6.0).reshape(2, 3), lambda r: r * 2
    for _ in range(2):
        assert compiled(vmap(double), x).equal(x * 2) and counter.frame_count == 1
    assert compiled(vmap(double, out_dims=1), x).equal((x * 2).T) and counter.frame_count == 2


@pytest.mark.parametrize("randomness", ["same", "different"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_random_numbers_are_those_of_the_program(randomness: str, backend: str) -> None:
    def program(x):
        return vmap(lambda r: r + mindtorch.rand(3), randomness=randomness)(x)

    x = mindtorch.zeros(4, 3)
    compiled = mindtorch.compile(program, backend=backend, fullgraph=True)
    for run in (program, compiled, compiled):
        mindtorch.manual_seed(0)
        found = run(x)
        assert found[0].equal(found[1]) is (randomness == "same")
        if run is program:
            wanted = found
        assert found.equal(wanted)


def test_random_numbers_without_a_setting_are_an_error() -> None:
    compiled = mindtorch.compile(lambda x: vmap(lambda r: r + mindtorch.rand(3))(x), backend="eager")
    with pytest.raises(RuntimeError, match="randomness error mode"):
        compiled(mindtorch.zeros(4, 3))


@pytest.mark.parametrize("name", ["tanh", "exp", "sqrt", "sigmoid"])
def test_results_that_are_saved_keep_tangents_in_a_trace(name: str) -> None:
    """The derivative reads its result, whose tangent ``detach`` would drop."""
    x = mindtorch.arange(1.0, 4.0)

    def program(x):
        return jvp(grad(lambda y: getattr(y, name)().sum()), (x,), (x,))[1]

    expected = oracle.func.jvp(oracle.func.grad(lambda y: getattr(y, name)().sum()), (oracle.arange(1.0, 4.0),),
                               (oracle.arange(1.0, 4.0),))[1]
    oracle.testing.assert_close(oracle.tensor(make_fx(program)(x)(x).tolist()), expected)


def test_random_numbers_are_drawn_under_modes_below_transforms() -> None:
    """A mode sees the numbers of all elements drawn at once."""
    from mindtorch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        x = mode.from_tensor(mindtorch.zeros(4, 3))
        assert vmap(lambda r: r + mindtorch.rand(3), randomness="different")(x).shape == (4, 3)


@pytest.mark.parametrize("program", [
    pytest.param(lambda x, kept: vmap(lambda r: (print(end=""), r * 2)[1])(x), id="prints"),
    pytest.param(lambda x, kept: checkpoint(lambda r: (kept.append(1), r * 2)[1], x, use_reentrant=False),
                 id="writes a list in a checkpoint"),
])
def test_functions_that_do_more_than_compute_break_the_graph(program: Any) -> None:
    x, kept = mindtorch.arange(6.0).reshape(2, 3), []
    with pytest.raises(mindtorch._dynamo.exc.Unsupported):
        mindtorch.compile(program, backend="eager", fullgraph=True)(x, kept)
    mindtorch._dynamo.reset()
    kept.clear()
    assert mindtorch.compile(program, backend="eager")(x, kept).equal(x * 2)
    expected: list[int] = []
    program(x, expected)
    assert kept == expected


def test_function_of_a_transform_may_write_objects() -> None:
    kept: list[int] = []
    compiled = mindtorch.compile(lambda x: grad(lambda r: (kept.append(len(kept)), r.sin().sum())[1])(x),
                                 backend="aot_eager", fullgraph=True)
    x = mindtorch.arange(3.0)
    assert compiled(x).equal(x.cos()) and kept == [0]
    assert compiled(x).equal(x.cos()) and kept == [0, 1]


def test_tensors_that_a_transform_hands_out_stay_in_its_function() -> None:
    kept: list[Any] = []
    compiled = mindtorch.compile(lambda x: grad(lambda r: (kept.append(r.sin()), r.cos().sum())[1])(x), backend="eager")
    x = mindtorch.arange(3.0)
    assert compiled(x).equal(-x.sin()) and kept[0].equal(x.sin())


def test_writes_of_a_function_are_repeated_as_often_as_it_is_called() -> None:
    """A transform calls its function once, unless the batch is divided into chunks: then the graph breaks."""
    def program(x, chunk_size=None):
        count = 0

        def one(r):
            nonlocal count
            count += 1
            return r * 2

        return vmap(one, chunk_size=chunk_size)(x) + count

    x = mindtorch.arange(12.0).reshape(4, 3)
    assert mindtorch.compile(program, backend="eager", fullgraph=True)(x).equal(x * 2 + 1)
    assert mindtorch.compile(program, backend="eager")(x, 2).equal(x * 2 + 2)


def test_operands_are_what_the_function_reads() -> None:
    """A call that is kept whole takes no argument that its function leaves alone, in the order in which it reads."""
    def program(x, y, z):
        return wrap(lambda a, b, k: k.sin() + a, x, y, k=z)

    graph = captured(program, *[mindtorch.randn(3) for _ in range(3)])
    assert "torch.ops.higher_order.wrap(wrap_body_0, l_z_, l_x_);" in graph


def test_tensors_that_leave_a_function_break_the_graph() -> None:
    def program(x):
        kept = []
        out = checkpoint(lambda r: (kept.append(r.sin()), r * 2)[1], x, use_reentrant=False)
        return out + kept[0]

    x = mindtorch.arange(6.0)
    assert mindtorch.compile(program, backend="eager")(x).equal(program(x))


def halves(program: Callable[..., Any], x: Any) -> tuple[Any, Any, Any]:
    """Return the result of a compiled program, and its graphs."""
    from mindtorch._dynamo.backends.common import aot_autograd

    graphs: list[Any] = []

    def keep(graph, args):
        graphs.append(graph)
        return graph

    mindtorch._dynamo.reset()
    mindtorch.manual_seed(0)
    out = mindtorch.compile(program, backend=aot_autograd(fw_compiler=keep, bw_compiler=keep), fullgraph=True)(x)
    out.sum().backward()
    forward, backward = graphs
    return out, forward, backward


def targets(graph: Any) -> list[str]:
    return [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]


def saved(graph: Any) -> list[str]:
    [results] = graph.graph.output_node().args
    return [node.name for node in results[1:]]


def chain(a):
    return a.sin().cos().exp()


def test_backward_pass_computes_a_checkpoint_again() -> None:
    x = mindtorch.arange(3.0, requires_grad=True)
    _, forward, backward = halves(lambda x: checkpoint(chain, x, use_reentrant=False), x)
    assert saved(forward) == ["primals_1"] and targets(backward)[:3] == [
        "aten.sin.default", "aten.cos.default", "aten.exp.default"]
    found, x.grad = x.grad, None
    _, forward, _ = halves(chain, x)
    assert len(saved(forward)) == 3 and x.grad.equal(found)


def test_values_between_checkpoints_are_saved() -> None:
    def program(x):
        for function in (mindtorch.sin, mindtorch.cos, mindtorch.exp):
            x = checkpoint(function, x, use_reentrant=False)
        return x

    _, forward, _ = halves(program, mindtorch.arange(3.0, requires_grad=True))
    assert saved(forward) == ["primals_1", "sin", "cos"]


def test_policy_of_a_checkpoint_says_which_results_are_saved() -> None:
    kept = [mindtorch.ops.aten.cos.default]
    contexts = functools.partial(create_selective_checkpoint_contexts, kept)
    x = mindtorch.arange(3.0, requires_grad=True)
    _, forward, backward = halves(lambda x: checkpoint(chain, x, use_reentrant=False, context_fn=contexts), x)
    assert saved(forward) == ["primals_1", "cos"] and "aten.sin.default" in targets(backward)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_checkpoint_draws_random_numbers_once(backend: str) -> None:
    """The backward pass has the numbers of the forward pass."""
    x = mindtorch.ones(100, requires_grad=True)
    compiled = mindtorch.compile(lambda x: checkpoint(lambda a: dropout(a.exp(), 0.5).sin(), x, use_reentrant=False),
                                 backend=backend, fullgraph=True)
    mindtorch.manual_seed(0)
    out = compiled(x)
    mindtorch.rand(3)
    out.sum().backward()
    assert ((out != 0) == (x.grad != 0)).all() and 0 < (out != 0).sum() < 100


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_module_with_a_checkpoint_is_trained(backend: str) -> None:
    class Net(mindtorch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = linear(mindtorch), mindtorch.nn.Linear(2, 1)

        def forward(self, x):
            return self.last(checkpoint(lambda a: self.first(a).tanh(), x, use_reentrant=False))

    net = Net()
    x, compiled = mindtorch.arange(12.0).reshape(4, 3) / 12, mindtorch.compile(net, backend=backend, fullgraph=True)
    net(x).pow(2).sum().backward()
    wanted = [parameter.grad for parameter in net.parameters()]
    net.zero_grad()
    compiled(x).pow(2).sum().backward()
    assert all(mindtorch.allclose(parameter.grad, one) for parameter, one in zip(net.parameters(), wanted, strict=True))


def test_parameters_are_back_after_a_functional_call() -> None:
    layer = linear(mindtorch)
    before = [*layer.parameters()]

    def program(x):
        other = functional_call(layer, {"weight": x[:2]}, (x,))
        return other + sum(p.sum() for p in layer.parameters()), layer(x)

    x = mindtorch.arange(12.0).reshape(4, 3)
    for one, other in zip(mindtorch.compile(program, backend="eager", fullgraph=True)(x), program(x), strict=True):
        assert mindtorch.allclose(one, other)
    assert all(one is other for one, other in zip(layer.parameters(), before, strict=True))


def test_parameters_read_in_a_functional_call_are_those_given() -> None:
    class Penalised(mindtorch.nn.Linear):
        def forward(self, x):
            return super().forward(x).sum() + sum(p.pow(2).sum() for p in self.parameters())

    layer = Penalised(3, 2)
    x = mindtorch.arange(6.0).reshape(2, 3)

    def program(x):
        return functional_call(layer, {"weight": x}, (x,))

    assert mindtorch.allclose(mindtorch.compile(program, backend="eager", fullgraph=True)(x), program(x))


def test_functions_of_vjp_and_stacked_states_stay_inside() -> None:
    """A function that ``vjp`` returns in the graph cannot leave it: the graph breaks."""
    x = mindtorch.arange(3.0)
    out, pull = mindtorch.compile(lambda x: vjp(lambda r: r.sin(), x), backend="eager")(x)
    assert pull(x)[0].equal(x * x.cos()) and out.equal(x.sin())
    assert jvp(chain, (x,), (x,))[0].equal(chain(x)) and stack_module_state([linear(mindtorch)])[1] == {}
