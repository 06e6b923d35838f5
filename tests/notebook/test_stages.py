"""The stages of the compiler: what became of each captured operator, in both libraries, and the picture of it."""
from __future__ import annotations

import re

import pytest

import mindtorch as torch
from mindtorch import introspect, nn, viz

F = nn.functional


class Net(nn.Module):
    """Two layers."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x):
        hidden = self.first(x).relu()
        return self.second(hidden)


@pytest.fixture(scope="module")
def step():
    """The facts of a training step."""
    torch.manual_seed(0)
    net = Net()

    def loss(x, y):
        scores = net(x)
        return F.cross_entropy(scores, y)

    facts = introspect.compile_facts(loss, [((torch.randn(5, 8), torch.arange(5) % 4), {})], timed=False)
    assert facts.value.requires_grad
    return facts


def texts(stages, name, origin):
    """The code of a stage's lines that come from an origin."""
    return [line.text.strip() for line in stages.of(name).lines if origin in line.origins]


def test_an_operator_is_found_again_in_every_stage(step):
    stages = step.stages
    assert [one.name for one in stages.origins] == ["linear", "relu", "linear_1", "cross_entropy"]
    relu = 2
    assert texts(stages, "source", relu) == ["scores = net(x)", "hidden = self.first(x).relu()"]
    assert "LOAD_METHOD relu" in " ".join(texts(stages, "bytecode", relu)) or "LOAD_ATTR" in " ".join(
        texts(stages, "bytecode", relu))
    assert texts(stages, "FX graph", relu) == ["relu = linear.relu()"]
    assert texts(stages, "ATen forward", relu) == ["relu = aten.relu.default(addmm)"]
    assert any(text.startswith("where = aten.where.self(le") for text in texts(stages, "ATen backward", relu))
    assert texts(stages, "saved for backward", relu) == ["relu"]
    assert any("relu" in text for text in texts(stages, "fused groups", relu))
    assert any(re.match(r"fused_mm_add_relu\w*\(", text) for text in texts(stages, "program", relu))


def test_every_call_of_the_aten_graphs_and_of_the_program_has_an_origin(step):
    for name in ("ATen forward", "ATen backward"):
        assert all(line.origins for line in step.stages.of(name).lines if " = " in line.text)
    calls = [line for line in step.stages.of("program").lines if re.match(r"    \w+ = .*\(|    \w+\(", line.text)]
    assert len(calls) > 10 and all(line.origins for line in calls)


def test_what_is_saved_has_its_bytes_and_both_partitioners_are_compared(step):
    lines = step.stages.of("saved for backward").lines
    assert next(line for line in lines if line.text == "relu").remark == f"{5 * 16 * 4} bytes"
    assert next(line for line in lines if line.text == "t_2").remark.endswith("bytes, a view of an input")
    assert {line.text.partition(":")[0] for line in lines if line.kind == "note"} == {
        "min-cut partitioner", "default partitioner"}


def test_a_cheap_value_is_computed_again_rather_than_saved():
    x = torch.randn(64, requires_grad=True)
    stages = introspect.compile_facts(lambda: x.sin().sin().sin().sum(), timed=False).stages
    again = [line for line in stages.of("ATen backward").lines if line.remark == "computed again"]
    left = [line.text for line in stages.of("saved for backward").lines if line.remark.startswith("not saved")]
    assert again and all("aten.sin" in line.text for line in again)
    assert [line.text.partition(" = ")[0] for line in again] == left


def test_graph_of_a_function_stands_before_the_call_that_applies_it():
    """Its lines light up with the operator that the user's line became."""
    def program(x):
        return torch.vmap(lambda row: row.sin().sum())(x)

    stages = introspect.compile_facts(program, [((torch.randn(4, 3),), {})], timed=False).stages
    lines = [(line.text, line.type) for line in stages.of("FX graph").lines if 1 in line.origins]
    assert lines == [
        ("vmap_body_0:", ""), ("    row", "float32[3]"), ("    sin = row.sin()", "float32[3]"),
        ("    sum_1 = sin.sum()", "float32[]"),
        ("vmap = torch.ops.higher_order.vmap(vmap_body_0, (l_x_,))", "float32[4]")]


def test_breaks_and_recompiles_stand_at_their_lines():
    def f(x):
        y = x * 2
        print("between")
        return y + 1

    first = f.__code__.co_firstlineno
    stages = introspect.compile_facts(f, [((torch.ones(3),), {}), ((torch.ones(4),), {})]).stages
    assert [(one.what, one.place[1] - first) for one in stages.remarks][:3] == [
        ("graph break", 2), ("recompile", 0), ("graph break", 2)]
    source = stages.of("source").lines
    at = next(number for number, line in enumerate(source) if line.text.strip() == 'print("between")')
    assert source[at + 1].kind == "alert" and "builtins.print" in source[at + 1].text
    assert source[2].remark == "recompile" and "shape" in source[2].text


@pytest.mark.parametrize("library", ["mindtorch", "torch"])
@pytest.mark.parametrize("is_module", [False, True])
def test_sizes_that_are_symbols_are_symbols_in_every_stage(library, is_module):
    lib = pytest.importorskip(library, reason="needs PyTorch")
    x, w = lib.randn(5, 4, requires_grad=True), lib.randn(4, 3, requires_grad=True)

    def function(x):
        return (x @ w).relu().sum(1) / x.shape[0]

    class Divided(lib.nn.Module):
        def forward(self, x):
            return function(x)

    given = lib.compile(Divided() if is_module else function, dynamic=True)
    stages = introspect.compile_facts(given, [((x,), {})], timed=False).stages
    for name, operator in (("FX graph", "truediv"), ("ATen forward", "div"), ("ATen backward", "div_1")):
        [line] = [line for line in stages.of(name).lines if line.text.startswith(f"{operator} =")]
        assert re.fullmatch(r"float32\[s\d+\]", line.type) and not re.search(r"\b5\b", line.text)
    assert any(re.search(r"s\d+\)? bytes", line.text) for line in stages.of("saved for backward").lines)
    if library == "mindtorch":
        program = [line.text for line in stages.of("program").lines]
        assert any(".shape[0]" in line for line in program) and not any("combination" in line for line in program)


def test_a_program_for_one_combination_of_sizes_says_so():
    facts = introspect.compile_facts(torch.compile(lambda x: x.relu()[1:], dynamic=True), [((torch.randn(5),), {})])
    assert any("one program for each combination" in line.text for line in facts.stages.of("program").lines)


def test_the_picture_lights_each_origin_and_its_text_numbers_it(step):
    page, text = viz.compile_page(step), viz.compile_text(step)
    assert page.count(':has([data-o~="') == 4
    assert text.index("== source") < text.index("== FX graph") < text.index("== program")
    assert re.search(r"\n +2  relu = linear.relu\(\)  float32\[5, 16\]\n", text)
    assert re.search(r"\n +1 2 +\d+ +hidden = self.first\(x\).relu\(\)\n", text)


def test_long_names_are_shortened_apart():
    names = ["l_self_modules_first_parameters_weight_", "l_self_modules_first_parameters_bias_of_it_",
             "l_self_modules_second_parameters_weight_"]
    short = viz.compile.shortened(names)
    assert short[names[0]] == "l_self…first…weight_" and len({*short.values()}) == 3


def test_pytorchs_stages_are_shown_where_it_is_imported(monkeypatch):
    pytorch = pytest.importorskip("torch")
    from torch._inductor import compile_fx
    from torch._inductor.exc import InvalidCxxCompiler

    def refuse(module, examples):
        raise InvalidCxxCompiler

    monkeypatch.setattr(compile_fx, "compile_fx", refuse)
    weight = pytorch.randn(4, 3, requires_grad=True)

    def f(x):
        y = (x @ weight).relu()
        print("between")
        return y.sum()

    facts = introspect.compile_facts(f, [((pytorch.ones(2, 4),), {})])
    stages = facts.stages
    assert stages.library == "PyTorch" and len(stages.captures) == 2 and len(stages.breaks) == 1
    assert stages.breaks[0].place == (__file__, f.__code__.co_firstlineno + 2)
    assert texts(stages, "source", 2) == ["y = (x @ weight).relu()"]
    assert texts(stages, "ATen forward", 2)[0].startswith("relu = aten.relu.default(")
    assert any("aten.where" in text for text in texts(stages, "ATen backward", 2))
    assert "the Inductor cannot compile here" in viz.compile_text(facts)
