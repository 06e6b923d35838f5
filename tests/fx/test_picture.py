"""A graph as facts, as text and as a picture, of this library and of PyTorch."""
from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

import mindtorch as torch
from mindtorch import fx, introspect, nn, viz
from mindtorch.fx.passes.graph_drawer import FxGraphDrawer
from mindtorch.fx.passes.shape_prop import ShapeProp


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.linear(x)) * x


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Block(), Block()

    def forward(self, x):
        x = self.second(self.first(x))
        x.sin()
        return x


@pytest.fixture
def module() -> fx.GraphModule:
    traced = fx.symbolic_trace(Net())
    ShapeProp(traced).propagate(torch.ones(2, 4))
    return traced


def test_facts_name_inputs_values_modules_and_lines(module) -> None:
    facts = introspect.traced_facts(module)
    steps = {step.name: step for step in facts.steps}
    assert facts.name == "Net" and facts.code == module.code.strip()
    assert steps["mul"] == introspect.CallFacts("mul", "call_function", "operator.mul", ("relu", "x"), "relu, x", 2,
                                                "float32 [2, 4]", "first", "mul = relu * x;  relu = x = None")
    assert steps["second_linear"].module == "second" and steps["sin"].users == 0
    assert introspect.traced_facts(module.graph).steps == facts.steps
    with pytest.raises(ValueError, match="Graph or GraphModule is expected, not Net"):
        introspect.traced_facts(Net())


def test_the_text_has_a_line_for_each_node(module) -> None:
    assert viz.traced_text(introspect.traced_facts(module)).splitlines() == [
        "Net · 1 input, 4 function calls, 1 method call, 2 module calls, not used: sin",
        "    x: float32 [2, 4] = input x",
        "  in first:",
        "    first_linear: float32 [2, 4] = first.linear(x)",
        "    relu: float32 [2, 4] = torch.relu(first_linear)",
        "    mul: float32 [2, 4] = operator.mul(relu, x)",
        "  in second:",
        "    second_linear: float32 [2, 4] = second.linear(mul)",
        "    relu_1: float32 [2, 4] = torch.relu(second_linear)",
        "    mul_1: float32 [2, 4] = operator.mul(relu_1, mul)",
        "  outside of modules:",
        "    sin: float32 [2, 4] = sin(mul_1)",
        "    return mul_1",
    ]


def test_a_graph_module_shows_its_tree_and_its_graph(module) -> None:
    shown = module._repr_mimebundle_()["text/html"]
    assert "second" in shown and 'class="mt-graph"' in shown and "the code that runs" in shown
    assert module.graph._repr_mimebundle_()["text/plain"] == str(module.graph)
    assert 'class="mt-graph"' in module.graph._repr_html_() and "no grad yet" not in module.graph._repr_html_()


def test_a_value_that_is_used_twice_has_two_arrows() -> None:
    drawn = viz.traced_svg(introspect.traced_facts(fx.symbolic_trace(lambda x: x * x)))
    assert drawn.count('marker-end="url(#mt-arrow)"') == 3


def test_names_are_escaped() -> None:
    graph = fx.Graph()
    graph.output(graph.call_method("<script>", (graph.placeholder("x"),)))
    drawn = viz.traced_page(introspect.traced_facts(graph))
    assert "<script>" not in drawn and "&lt;script&gt;" in drawn


def test_a_large_graph_is_cut() -> None:
    def program(x):
        for _ in range(400):
            x = x + 1
        return x

    drawn = viz.traced_page(introspect.traced_facts(fx.symbolic_trace(program)))
    assert "242 nodes after these are not drawn" in drawn


def test_drawings_are_files_without_graphviz(module, tmp_path) -> None:
    drawer = FxGraphDrawer(module, "net")
    path = drawer.get_dot_graph().write_svg(tmp_path / "net.svg")
    texts = [element.text for element in ElementTree.parse(path).iter() if element.tag.endswith("text")]
    assert "first.linear" in texts and "operator.mul" in texts
    dot = drawer.get_main_dot_graph().to_string()
    assert 'relu [label="{name=%relu|op_code=call_function|target=torch.relu' in dot and "relu -> mul;" in dot


def test_drawings_have_a_colour_for_each_kind_of_node() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.weight = nn.Linear(2, 2), nn.Parameter(torch.ones(2))

        def forward(self, x):
            return torch.relu(self.layer(x) * self.weight).sum()

    dot = FxGraphDrawer(fx.symbolic_trace(Net()), "net").get_main_dot_graph().to_string()
    assert re.findall(r"^(\w+) .*fillcolor=(.*)\];$", dot, re.MULTILINE) == [
        ("x", "AliceBlue"), ("layer", "LemonChiffon1"), ("weight", "LightGrey"), ("mul", "CadetBlue"),
        ("relu", "CadetBlue"), ("sum_1", "Peru"), ("output", "PowderBlue")]


def test_pytorch_graphs_are_drawn_too() -> None:
    theirs = pytest.importorskip("torch")
    facts = introspect.traced_facts(theirs.fx.symbolic_trace(lambda x: theirs.relu(x) + x))
    assert [step.target for step in facts.steps] == ["x", "torch.relu", "operator.add", "output"]
    assert facts.steps[2].inputs == ("relu", "x") and "operator.add" in viz.traced_page(facts)
