"""Graphs, their code and their tables are PyTorch's, character for character."""
from __future__ import annotations

import re
from typing import Any

import pytest

import mindtorch
from mindtorch import fx
from mindtorch.fx.passes.shape_prop import ShapeProp
from tests.fx.programs import functions, modules
from tests.support import torch

NAMES = [*functions(mindtorch), *modules(mindtorch)]


def traced(library: Any, name: str) -> Any:
    return library.fx.symbolic_trace({**functions(library), **modules(library)}[name])


@pytest.fixture(params=NAMES)
def both(request) -> tuple[Any, Any]:
    """Return a program traced by this library and by PyTorch."""
    return traced(mindtorch, request.param), traced(torch, request.param)


def test_a_traced_program_prints_as_with_pytorch(both, capsys) -> None:
    ours, theirs = both
    assert str(ours.graph) == str(theirs.graph)
    assert ours.code == theirs.code
    assert str(ours) == str(theirs)
    assert ours.print_readable(print_output=False) == theirs.print_readable(print_output=False)
    assert [node.name for node in ours.graph.nodes] == [node.name for node in theirs.graph.nodes]
    assert [sorted(node.meta) for node in ours.graph.nodes] == [sorted(node.meta) for node in theirs.graph.nodes]


def test_a_graph_says_where_values_come_from(both) -> None:
    ours, theirs = both
    assert [[user.name for user in node.users] for node in ours.graph.nodes] == [
        [user.name for user in node.users] for node in theirs.graph.nodes]
    assert [node.all_input_nodes for node in ours.graph.nodes].__repr__() == [
        node.all_input_nodes for node in theirs.graph.nodes].__repr__()
    ours.graph.lint()


def test_dead_code_is_the_same(both) -> None:
    ours, theirs = both
    assert ours.graph.eliminate_dead_code() == theirs.graph.eliminate_dead_code()
    assert str(ours.graph) == str(theirs.graph)


@pytest.mark.parametrize("options", [{}, {"include_stride": True}, {"include_device": True}, {"colored": True}])
def test_readable_code_has_shapes(options) -> None:
    texts = []
    for library in (mindtorch, torch):
        module = traced(library, "Tower")
        for node, value in zip(module.graph.nodes, (library.ones(2, 4), None), strict=False):
            if value is not None:
                node.meta["val"] = value
        last = module.graph.output_node().prev
        last.meta["tensor_meta"] = library.fx.passes.shape_prop._extract_tensor_metadata(library.ones(3))
        texts.append(module.print_readable(print_output=False, **options))
    assert texts[0] == texts[1] and "f32" in texts[0]


def test_shapes_are_recorded_as_by_pytorch() -> None:
    metas = []
    for library in (mindtorch, torch):
        module = traced(library, "Convolutions").eval()
        library.fx.passes.shape_prop.ShapeProp(module).propagate(library.ones(2, 1, 8, 8))
        metas.append([[tuple(meta.shape), str(meta.dtype), meta.requires_grad, tuple(meta.stride),
                       str(meta.memory_format), meta.is_quantized, meta.qparams]
                      for node in module.graph.nodes for meta in [node.meta["tensor_meta"]]])
    assert metas[0] == metas[1] and metas[0][0][0] == (2, 1, 8, 8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [
    lambda t: t.quantize_per_tensor(t.ones(2, 3), 0.1, 3, t.quint8),
    lambda t: t.quantize_per_channel(t.ones(2, 3), t.tensor([.1, .2]), t.tensor([0, 1]), 0, t.qint8),
    lambda t: t.eye(3).to_sparse(), lambda t: t.eye(3).to_sparse_csr(), lambda t: t.ones(2, 3).t(),
    lambda t: t.ones(2, 3, 4, 5).to(memory_format=t.channels_last), lambda t: t.ones(2, requires_grad=True)],
    ids=["by tensor", "by channel", "coo", "csr", "transposed", "channels last", "leaf"])
def test_what_is_recorded_depends_on_how_a_tensor_is_held(make: Any) -> None:
    metas = []
    for library in (mindtorch, torch):
        shape, dtype, grad, stride, *others = library.fx.passes.shape_prop._extract_tensor_metadata(make(library))
        metas.append(([*shape], str(dtype), grad, tuple(stride), str(others)))
    assert metas[0] == metas[1]


def test_concrete_arguments_are_checked_by_the_code() -> None:
    codes = []
    for library in (mindtorch, torch):
        PH = library.fx.PH
        first = library.fx.symbolic_trace(lambda x, y, z: x + y if z is None else x, concrete_args={"y": 3, "z": None})
        second = library.fx.symbolic_trace(lambda x: x["a"] + x["b"][0] * x["b"][1],
                                           concrete_args={"x": {"a": PH, "b": [PH, 2]}})
        codes.append((first.code, second.code))
        assert second({"a": library.ones(2), "b": [library.ones(2), 2]}).tolist() == [3, 3]
    assert codes[0] == codes[1]


def test_a_graph_is_a_table(capsys) -> None:
    fx.symbolic_trace(lambda x: x.relu() + 1).graph.print_tabular()
    assert re.sub(r" +\n", "\n", capsys.readouterr().out) == """\
opcode         name    target                   args       kwargs
-------------  ------  -----------------------  ---------  --------
placeholder    x       x                        ()         {}
call_method    relu    relu                     (x,)       {}
call_function  add     <built-in function add>  (relu, 1)  {}
output         output  output                   (add,)     {}
"""


@pytest.mark.parametrize("program", [
    lambda x: 1 if x else 2, lambda x: [item + 1 for item in x], lambda x: len(x), lambda x: {**x},
    lambda x: (lambda a, b: a)(*x), lambda x: x.__setitem__(0, 1), lambda x: operator_of(x),
    lambda x: range(x), lambda x: int(x), lambda x: f"{x:.2f}",
], ids=["if", "for", "len", "keys", "star", "setitem", "callable", "range", "int", "format"])
def test_a_program_that_depends_on_values_fails_as_with_pytorch(program) -> None:
    errors = []
    for library in (mindtorch, torch):
        try:
            errors.append(library.fx.symbolic_trace(program).code)
        except Exception as error:
            errors.append((type(error).__name__, str(error)))
    assert errors[0] == errors[1]


def operator_of(x: Any) -> Any:
    return x, operator_of


def test_verbose_code_shows_shapes_after_shape_propagation() -> None:
    module = fx.symbolic_trace(lambda x: x.reshape(3, 2) * 2)
    ShapeProp(module).propagate(mindtorch.ones(2, 3))
    assert 'mul: "f32[3, 2]" = reshape * 2' in module.print_readable(print_output=False)


@pytest.mark.parametrize("make", [
    lambda nn: nn.Sequential(nn.Linear(2, 2), nn.ReLU()), lambda nn: nn.MaxPool2d(2), lambda nn: nn.MSELoss(),
    lambda nn: nn.Conv2d(1, 1, 1), lambda nn: nn.Embedding(2, 2), lambda nn: nn.CrossEntropyLoss(),
    lambda nn: nn.AdaptiveMaxPool2d(1), lambda nn: nn.Softmax(1)])
def test_the_head_of_a_modules_graph_has_pytorchs_annotations(make: Any) -> None:
    heads = []
    for library in (mindtorch, torch):
        module = make(library.nn)
        tracer = type("Whole", (library.fx.Tracer,), {"is_leaf_module": lambda *_: True})()
        heads.append(library.fx.GraphModule(module, tracer.trace(module)).code.strip().splitlines()[0])
    assert heads[0] == heads[1]


def test_lines_of_nodes_have_the_layouts_that_are_noted_in_their_metadata() -> None:
    lines = []
    for library in (mindtorch, torch):
        _, first, second, _ = library.fx.symbolic_trace(lambda x: x.relu() + 1).graph.nodes
        first.type, first.meta["tensor_meta"] = library.Tensor, library.ones(2, 3)
        second.meta |= {"val": library.ones(3, 2).t(), "tensor_meta": (1,)}
        told = [node.format_node(include_tensor_metadata=asked) for node in (first, second) for asked in (False, True)]
        del second.meta["val"]
        lines.append([*told, second.format_node(include_tensor_metadata=True)])
    assert lines[0] == lines[1] and '"f32[2, 3][1, 2]cpu"' in lines[0][3]


def test_sources_of_nodes_are_equal_if_their_facts_are() -> None:
    for library in (mindtorch, torch):
        source, created = library.fx.traceback.NodeSource, library.fx.traceback.NodeSourceAction.CREATE
        _, first, second, _ = library.fx.symbolic_trace(lambda x: x.relu() + 1).graph.nodes
        sources = source(first, "pass", created), source(first, "pass", created), source(second, "pass", created)
        assert sources[0] == sources[1] != sources[2] and len(set(sources)) == 2 and sources[0] != "pass"
