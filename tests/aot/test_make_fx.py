"""``make_fx``: the graphs are PyTorch's, node by node, as they print."""
from __future__ import annotations

import importlib
import re
from typing import Any

import pytest

import mindtorch
from tests.support import torch

LIBS = (mindtorch, torch)


def module(lib, name):
    return importlib.import_module(f"{lib.__name__}.{name}")


def constants(lib, x):
    first, second = lib.tensor([1.0, 2.0]), lib.tensor(3)
    x[0, 0] = second.item()
    return x + first.sum(), [x.t(), {"a": x}]


def in_place(lib, x):
    x.add_(1)
    x.view(-1).mul_(2)
    first, second = x.split(2, 1)
    return first * second


def gradient(lib, x):
    x = x.detach().requires_grad_()
    return lib.autograd.grad((x.sigmoid() * x.exp()).sum(), x)


def accumulated(lib, x):
    x = x.detach().requires_grad_()
    x.sigmoid().tanh().sum().backward()
    return x.grad


PROGRAMS = {
    "operators": lambda lib, x: x.sin() + 1,
    "composites": lambda lib, x: lib.nn.functional.linear(x, x[:2], x[0, :2]).relu().sum(),
    "constants": constants,
    "a number is read": lambda lib, x: 1 if x.sum() > 0 else 0,
    "in-place operators": in_place,
    "a tensor from outside": lambda lib, x: x + OUTSIDE[lib],
    "parameters": lambda lib, x: LINEAR[lib](x) * LINEAR[lib].bias,
    "a gradient": gradient,
    "an accumulated gradient": accumulated,
    "a transform": lambda lib, x: module(lib, "func").grad(lambda x: x.sin().sum())(x),
    "a batch": lambda lib, x: module(lib, "func").vmap(lambda x: x.sin().sum())(x),
    "random numbers": lambda lib, x: lib.nn.functional.dropout(x) + lib.rand(4),
    "batch normalisation": lambda lib, x: lib.nn.functional.batch_norm(x.t(), None, None, training=True),
    "factories": lambda lib, x: lib.zeros(3, dtype=lib.float64) + lib.arange(3) + lib.full((3,), 2.0),
    "several outputs": lambda lib, x: x.max(1),
    "indices": lambda lib, x: (x[1:, ::2], x[lib.tensor([0, 1])], x.unsqueeze(0).squeeze(), x[..., None]),
    "a number where a tensor is needed": lambda lib, x: lib.where(x > 0, x, 2.0),
    "lists": lambda lib, x: lib.stack([x, x]).sum(0).unbind() + lib.cat([x, x]).chunk(2),
    "a loss": lambda lib, x: lib.nn.functional.cross_entropy(x, lib.tensor([0, 1, 2])),
    "an output that is given": lambda lib, x: lib.add(x, 1, out=lib.empty(3, 4)),
}
OUTSIDE: dict[Any, Any] = {lib: lib.ones(3, 4) for lib in LIBS}
LINEAR: dict[Any, Any] = {lib: lib.nn.Linear(4, 2) for lib in LIBS}


def graph(lib, program, *args, **options):
    """Return the printed graph, or the error."""
    make_fx = module(lib, "fx.experimental.proxy_tensor").make_fx
    try:
        return make_fx(lambda x: program(lib, x), **options)(*args).code
    except RuntimeError as error:
        return str(error).partition("\n")[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_graph_is_pytorchs(name) -> None:
    ours, theirs = (graph(lib, PROGRAMS[name], lib.arange(12.0).reshape(3, 4)) for lib in LIBS)
    assert ours == theirs


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - {"a number is read", "random numbers", "in-place operators",
                                                            "constants"}))
def test_the_graph_computes_what_the_program_does(name) -> None:
    x = mindtorch.linspace(-1, 1, 12).reshape(3, 4)
    traced = mindtorch.fx.experimental.proxy_tensor.make_fx(lambda x: PROGRAMS[name](mindtorch, x))(x)
    leaves = mindtorch.utils._pytree.tree_leaves
    for found, wanted in zip(leaves(traced(x)), leaves(PROGRAMS[name](mindtorch, x)), strict=True):
        mindtorch.testing.assert_close(found, wanted)


def test_fake_tensors_do_not_touch_the_arguments() -> None:
    x = mindtorch.ones(3, 4)
    traced = module(mindtorch, "fx.experimental.proxy_tensor").make_fx(lambda x: x.add_(1), tracing_mode="fake")(x)
    assert x.sum() == 12 and traced(x).sum() == x.sum() == 24


def test_a_decomposition_replaces_an_operator() -> None:
    def printed(lib):
        table = module(lib, "_decomp").get_decompositions([lib.ops.aten.mse_loss])
        return graph(lib, lambda lib, x: lib.nn.functional.mse_loss(x, x + 1), lib.ones(2), decomposition_table=table)

    assert printed(mindtorch) == printed(torch)


def test_a_graph_is_written_anew_with_an_operator_decomposed() -> None:
    def rewritten(lib):
        silu, proxies = lib.ops.aten.silu.default, module(lib, "fx.experimental.proxy_tensor")
        table = module(lib, "_decomp").decomposition_table
        traced = proxies.make_fx(lambda x: lib.nn.functional.silu(x) + 1)(lib.ones(2, 2))
        new, x = lib.fx.Graph(), lib.full((2, 2), 0.5)
        ran = proxies.DecompositionInterpreter(traced, new, {silu: table[silu]}).run(x)
        again = lib.fx.GraphModule(traced, new)
        assert lib.allclose(again(x), ran) and lib.allclose(again(x), traced(x))
        targets = module(lib, "fx.experimental.symbolic_shapes").fx_placeholder_targets(again)
        return re.sub(r".*empty_strided.*\n", "", again.code), targets

    assert rewritten(mindtorch) == rewritten(torch)


def test_switches_of_grad_mode_are_nodes_before_dispatch() -> None:
    def traced(lib):
        def function(a):
            b = a.sin()
            with lib.no_grad():
                c = b.cos()
            return b + c.sin()

        a = lib.linspace(0, 1, 4).requires_grad_()
        graph = module(lib, "fx.experimental.proxy_tensor").make_fx(function, pre_dispatch=True)(a)
        return graph.code, lib.autograd.grad(graph(a).sum(), a)[0].tolist()

    (code, gradient), (expected, expected_gradient) = traced(mindtorch), traced(torch)
    assert code == expected and gradient == pytest.approx(expected_gradient)


#: Programs whose graphs above autograd are PyTorch's; in others, PyTorch records how ``torch.tensor`` detaches.
BEFORE_DISPATCH = {
    **{name: PROGRAMS[name] for name in ("operators", "composites", "a tensor from outside", "parameters", "factories",
                                         "several outputs", "lists", "an output that is given")},
    "products": lambda lib, x: (x @ x.T, lib.matmul(x, x[0]), lib.nn.functional.scaled_dot_product_attention(x, x, x)),
    "views of views": lambda lib, x: x.reshape(-1).flatten().chunk(2)[0].contiguous(),
}


@pytest.mark.parametrize("name", BEFORE_DISPATCH)
def test_the_graph_before_dispatch_has_pytorchs_composites(name) -> None:
    ours, theirs = (graph(lib, BEFORE_DISPATCH[name], lib.arange(12.0).reshape(3, 4), pre_dispatch=True)
                    for lib in LIBS)
    assert ours == theirs


def functional(lib, program, x):
    tensors = module(lib, "_subclasses.functional_tensor")
    with tensors.FunctionalTensorMode(pre_dispatch=True, export=True):
        return lib._from_functional_tensor(program(lib, tensors.FunctionalTensor.to_functional(x)).elem)


def write_to_a_view(lib, x):
    y = lib.matmul(x, x) + x
    y.flatten().mul_(3)
    return y


@pytest.mark.parametrize("program", (write_to_a_view, lambda lib, x: lib.matmul(x, x).mul_(5),
                                     lambda lib, x: (x @ x + x.transpose(1, 0)).view(2, 8)))
def test_functionalization_before_dispatch_keeps_composites_that_share_nothing(program) -> None:
    ours, theirs = (graph(lib, lambda lib, x: functional(lib, program, x), lib.arange(16.0).reshape(4, 4),
                          pre_dispatch=True) for lib in LIBS)
    assert ours == theirs


def test_a_number_that_data_decides_is_a_symbol_among_fake_tensors() -> None:
    def traced(lib):
        code = graph(lib, lambda lib, x: lib.full((2,), x.item()), lib.tensor(3), tracing_mode="fake")
        return re.findall(r"ops\.aten\.[\w.]+", code)

    assert traced(mindtorch) == traced(torch)


@pytest.mark.parametrize("question", (
    lambda lib, x: bool(x.sum() > 0), lambda lib, x: not x.sum(), lambda lib, x: x.item() == 2.5,
    lambda lib, x: lib.is_nonzero(x.sum()), lambda lib, x: 3 in x, lambda lib, x: lib._assert(x.sum() > 0, "")))
def test_a_question_about_data_has_no_answer_among_fake_tensors(question) -> None:
    for mode in ("fake", "symbolic"):
        for lib in LIBS:
            refused = graph(lib, lambda lib, x: 1 if question(lib, x) else 0, lib.tensor([3.0]), tracing_mode=mode)
            assert refused.startswith("Could not guard on data-dependent expression")


def test_nodes_describe_their_values() -> None:
    traced = module(mindtorch, "fx.experimental.proxy_tensor").make_fx(lambda x: x.t().max(1))(mindtorch.ones(3, 4))
    node = next(node for node in traced.graph.nodes if node.name == "t")
    value = node.meta["val"]
    assert (tuple(value.shape), value.stride(), value.dtype) == ((4, 3), (1, 4), mindtorch.float32)
    assert re.search("FakeTensor", repr(value)) and node.meta["tensor_meta"].shape == (4, 3)


def nested(lib, x):
    module(lib, "fx.experimental.proxy_tensor").make_fx(lambda x: x.sin())(x)
    return x.cos()


#: Functions of a tensor that are traced with symbolic sizes.
SYMBOLIC = {
    "a size that data decides": (lambda lib, x: lib.zeros([x.item(), 3]), (5,)),
    "a range that data ends": (lambda lib, x: lib.arange(0, x.item()), (5,)),
    "a shape is returned": (lambda lib, x: lib.broadcast_shapes(x.size(), x.size(0)), ([1.0, 2.0],)),
    "a trace within a trace": (nested, ([1.0, 2.0],)),
    "a root of a size": (lambda lib, x: x / x.size(-1) ** 0.5, ([1.0, 2.0],)),
    "a negated size": (lambda lib, x: lib.empty(-x.size(0) + 10), ([1.0, 2.0],)),
}


@pytest.mark.parametrize("name", SYMBOLIC)
def test_the_graph_of_symbolic_sizes_has_pytorchs_operators(name) -> None:
    program, (value,) = SYMBOLIC[name]
    ours, theirs = (re.findall(r"ops\.aten\.(?!sym_constrain|_assert)[\w.]+", graph(
        lib, program, lib.tensor(value), tracing_mode="symbolic")) for lib in LIBS)
    assert ours == theirs != []


def test_storages_can_be_referred_to_weakly() -> None:
    for lib in (mindtorch, torch):
        ref = module(lib, "multiprocessing.reductions").StorageWeakRef
        x, y = lib.ones(3), lib.ones(3)
        assert ref(x.untyped_storage()) == ref(x[1:].untyped_storage()) != ref(y.untyped_storage())
        gone = ref(lib.ones(4).untyped_storage())
        assert gone.expired() and not ref(x.untyped_storage()).expired()
