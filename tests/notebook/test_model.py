"""``%model``: a forward pass by module, of both libraries: what came from where, what it took, where it failed."""
from __future__ import annotations

import importlib.util
import re
import sys
from typing import Any

import pytest
from IPython.core.error import UsageError
from IPython.utils.capture import capture_output

from mindtorch import introspect, viz
from mindtorch.introspect.forward_pass import walk

requires_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
LIBRARIES = ["mindtorch", pytest.param("torch", marks=requires_torch)]


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param)


def network(torch: Any, layers: int = 4, features: int = 8) -> Any:
    """An embedding, equal residual layers, and a head, which takes this many features."""
    nn = torch.nn

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)

        def forward(self, x: Any) -> Any:
            return x + self.down(torch.relu(self.up(self.norm(x))))

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.place = nn.Embedding(10, 8), nn.Parameter(torch.zeros(1, 8))
            self.layers = nn.ModuleList(Layer() for _ in range(layers))
            self.head, self.last = nn.Linear(features, 3), nn.Identity()

        def forward(self, ids: Any, scale: Any = None) -> Any:
            x = self.embed(ids) + self.place
            for layer in self.layers:
                x = layer(x)
            x = x if scale is None else x * scale
            return self.last(self.head(x))

    return Network()


def steps(facts: Any) -> dict[str, Any]:
    """Modules by path, and functions by path and name."""
    return {step.path if step.kind else f"{step.path}:{step.name}": step for step in walk(facts.steps)}


def test_each_module_and_function_is_a_step(library: Any) -> None:
    facts = introspect.forward(network(library, 1), library.tensor([[1, 2, 3]]))
    assert list(steps(facts)) == ["", "embed", "embed:embedding", ":add", "layers.0", "layers.0.norm",
                                  "layers.0.norm:layer_norm", "layers.0.up", "layers.0.up:linear", "layers.0:relu",
                                  "layers.0.down", "layers.0.down:linear", "layers.0:add", "head", "head:linear",
                                  "last"]
    assert facts.steps[0].kind == "Network" and facts.why is None and facts.failed is None
    assert [(name, value.dtype, value.shape) for name, value in facts.arguments] == [("input", "int64", (1, 3))]


def test_tensors_are_followed_from_the_step_that_made_them(library: Any) -> None:
    found = steps(introspect.forward(network(library, 1), library.tensor([[1, 2, 3]]), scale=library.ones(8)))
    before, after = found[":add"].number, found["layers.0.down:linear"].number
    assert [number for number, _ in found["layers.0:add"].sources] == [before, after]
    assert [number for number, _ in found["embed:embedding"].sources] == [0]
    assert found[":add"].reads == ("place",) and found["head:linear"].reads == ("head.weight", "head.bias")
    assert [number for number, _ in found["last"].sources] == [found["head:linear"].number]
    assert 0 in [number for number, _ in found[":mul"].sources], "the argument comes from outside"


def test_in_place_writes_and_views_pass_on_what_they_made(library: Any) -> None:
    class Writes(library.nn.Module):
        def forward(self, x: Any) -> Any:
            y = x.view(-1) * 1
            y[0] = 5
            y.add_(1)
            return y.t() if y.dim() == 2 else y

    facts = introspect.forward(Writes(), library.zeros(2, 3))
    parts = facts.steps[0].parts
    assert [part.name for part in parts] == ["view", "mul", "setitem", "add_"]
    assert [[number for number, _ in part.sources] for part in parts] == [[0], *([part.number] for part in parts[:-1])]
    assert [part.memory for part in parts] == [0, 24, 0, 0], "only the product is new memory"
    assert facts.results[0][0] == parts[-1].number and facts.results[0][1].scan.maximum == 6


def test_figures_are_those_of_the_library(library: Any) -> None:
    model, ids = network(library, 2), library.tensor([[1, 2, 3]])
    facts = introspect.forward(model, ids)
    top, found = facts.steps[0], steps(facts)
    assert top.parameters == sum(parameter.numel() for parameter in model.parameters())
    assert top.parameter_bytes == 4 * top.parameters
    assert found["layers.0.up"].memory == 3 * 16 * 4 and found["layers.0.up"].outputs[0].bytes == 3 * 16 * 4
    assert found["layers.1.down:linear"].kept == found["layers.1:relu"].kept + 0 == 0 or (
        found["layers.1:relu"].kept == 3 * 16 * 4), "relu keeps its result, which the layer after it shares"
    assert top.kept == sum(step.kept for step in walk(facts.steps) if not step.parts) > 0
    assert 0 < sum(part.time for part in top.parts) <= top.time
    with library.no_grad():
        silent = introspect.forward(model, ids)
    assert not silent.grad and silent.steps[0].kept == 0 and silent.steps[0].memory == top.memory


@requires_torch
def test_backward_keeps_the_same_bytes_in_both_libraries() -> None:
    kept = [introspect.forward(network(library), library.tensor([[1, 2, 3]])).steps[0].kept
            for library in map(importlib.import_module, ("mindtorch", "torch"))]
    assert kept[0] == kept[1]


def test_the_first_nan_is_found_where_it_arises(library: Any) -> None:
    model = network(library)
    with library.no_grad():
        model.layers[2].up.weight[3, 1] = float("nan")
    facts = introspect.forward(model, library.tensor([[1, 2, 3]]))
    step, value = facts.first_nan
    assert (step.path, step.name) == ("layers.2.up", "linear")
    assert value.scan.nans == 3 and value.scan.first_nan == (0, 0, 3)
    assert "layers.2.up: linear makes 3 NaN" in viz.model_text(facts)


def test_a_call_that_fails_is_described_up_to_the_error(library: Any) -> None:
    facts = introspect.forward(network(library, 3, features=9), library.tensor([[1, 2, 3]]))
    failed = facts.failed
    assert (failed.path, failed.name) == ("head", "linear") and "RuntimeError" in failed.error
    assert facts.why.title == "the layer takes 9 features, and x [1, 3, 8] has 8"
    top = facts.steps[0]
    assert top.failed and top.unreached == ("last",) and not facts.results
    page, text = viz.model_page(facts), viz.model_text(facts)
    assert page.count("mt-node mt-own mt-failed") == 1 and "not reached: last" in text and facts.why.title in text
    assert page.index("layers.0 … layers.2") < page.rindex("mt-failed"), "the error stands at its place"


def test_an_error_of_the_programs_own_belongs_to_the_module_that_raised_it(library: Any) -> None:
    class Refuses(library.nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("no such mode")

    facts = introspect.forward(library.nn.Sequential(library.nn.Linear(2, 2), Refuses(), library.nn.ReLU()),
                               library.ones(1, 2))
    assert (facts.failed.path, facts.failed.error) == ("1", "ValueError: no such mode")
    assert facts.steps[0].unreached == ("2",)


def test_an_error_that_the_program_catches_ends_nothing(library: Any) -> None:
    class Tries(library.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = library.nn.Linear(3, 2), library.nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            try:
                return self.first(x)
            except RuntimeError:
                return self.second(x)

    facts = introspect.forward(Tries(), library.ones(1, 2))
    assert facts.why is None and facts.failed is None
    assert [step.path for step in facts.steps[0].parts] == ["first", "second"] and facts.results[0][1].shape == (1, 2)


def test_nothing_is_left_behind(library: Any) -> None:
    model, ids = network(library, 1, features=9), library.tensor([[1]])
    introspect.forward(model, ids)
    hooks = sys.modules[library.nn.Module.__module__] if library.__name__ == "torch" else None
    assert not (hooks and (hooks._global_forward_hooks or hooks._global_forward_pre_hooks))
    seen = introspect.forward(network(library, 1), ids)
    assert len(seen.steps) == 1


# -- folding ---------------------------------------------------------------------------------------------------------


def test_equal_blocks_are_one_and_functions_in_a_row_are_one(library: Any) -> None:
    facts = introspect.forward(network(library, 12), library.tensor([[1, 2, 3]]))
    level = introspect.blocks(facts.steps)[0].parts
    assert [(block.label, block.times) for block in level] == [
        ("embed", 1), ("add", 1), ("layers.0 … layers.11", 12), ("head", 1), ("last", 1)]
    layers = level[2]
    assert layers.is_chained and layers.total("parameters") == 12 * layers.steps[0].parameters
    assert [flow.source for flow in layers.flows] == [1]
    inside = layers.parts
    assert [block.label for block in inside] == ["norm", "up", "relu", "down", "add"]
    assert [[flow.source for flow in block.flows] for block in inside] == [[-1], [0], [1], [2], [-1, 3]]


def test_blocks_that_differ_stay_apart(library: Any) -> None:
    nn = library.nn
    model = nn.Sequential(*(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)) for _ in range(4)))
    model[2][1] = nn.Tanh()
    level = introspect.blocks(introspect.forward(model, library.ones(1, 8)).steps)[0].parts
    assert [(block.label, block.times) for block in level] == [("0 … 1", 2), ("2", 1), ("3", 1)]


def test_a_module_that_calls_one_function_is_not_unfolded(library: Any) -> None:
    model = library.nn.Sequential(library.nn.Linear(3, 3), library.nn.BatchNorm1d(3))
    level = introspect.blocks(introspect.forward(model, library.ones(4, 3)).steps)[0].parts
    assert [block.parts for block in level] == [(), ()], "nor does counting batches make a second one"


# -- pictures --------------------------------------------------------------------------------------------------------


def test_the_depth_decides_what_is_open(library: Any) -> None:
    facts = introspect.forward(network(library), library.tensor([[1, 2, 3]]))
    assert "<details open" not in viz.model_page(facts, depth=1) and "<details open" in viz.model_page(facts, depth=2)
    assert "norm LayerNorm" not in viz.model_text(facts, depth=1) and "norm LayerNorm" in viz.model_text(facts, depth=2)


def test_a_residual_connection_is_a_line_from_its_source(library: Any) -> None:
    page = viz.model_page(introspect.forward(network(library), library.tensor([[1, 2, 3]])))
    assert page.count("mt-skip mt-") == 1 and "mt-from-top" in page


def test_the_text_lists_blocks_with_their_sources(library: Any) -> None:
    text = viz.model_text(introspect.forward(network(library), library.tensor([[1, 2, 3]])), "net")
    lines = text.splitlines()
    assert lines[0].startswith("net: Network, 1,299 parameters, 5.074 KiB · activations ")
    assert any(re.match(r"layers.0 … layers.3 Layer × 4 +float32\[1, 3, 8\]", line) for line in lines)
    assert any(re.match(r"  add +← input +float32\[1, 3, 8\]", line) for line in lines)
    assert lines[-1].split() == ["output", "float32[1,", "3,", "3]"]


def test_the_drawing_needs_no_style_sheet(library: Any) -> None:
    svg = viz.model_svg(introspect.forward(network(library), library.tensor([[1, 2, 3]])))
    assert svg.startswith("<svg") and 'fill="#f6f8fa"' in svg and "float32[1, 3, 8]" in svg
    assert "layers.0 … layers.3 × 4" in svg and svg.count("marker-end") == 11


def test_a_model_of_a_thousand_modules_is_drawn_as_one_block(library: Any) -> None:
    nn = library.nn
    model = nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)) for _ in range(334)))
    page = viz.model_page(introspect.forward(model, library.ones(1, 4)))
    assert "0 … 333" in page and "× 334" in page and len(page) < 40_000


# -- %model ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def notebook(shell: Any, library: Any) -> Any:
    shell.user_ns.update(torch=library, net=network(library), ids=library.tensor([[1, 2, 3]]), broken=network(
        library, features=9))
    return shell


def test_the_magic_calls_a_model(notebook: Any) -> None:
    shown = repr(notebook.run_line_magic("model", "net, ids[:, -1:], scale=torch.ones(8) --depth 2"))
    assert shown.startswith("net: Network, 1,299 parameters") and "norm LayerNorm" in shown
    assert "input int64[1, 1], scale float32[8]" in shown and "output" in shown


def test_the_magic_shows_where_a_call_fails_and_why_explains_it(notebook: Any) -> None:
    shown = notebook.run_line_magic("model", "broken, ids")
    assert "✗ RuntimeError in head: linear: the layer takes 9 features" in repr(shown)
    assert "make the layer for these inputs" in shown._repr_html_()
    assert "the layer takes 9 features" in repr(notebook.run_line_magic("why", ""))


def test_the_magic_over_a_cell_shows_all_calls(notebook: Any) -> None:
    with capture_output() as seen:
        notebook.run_cell("%%model\nfirst = net(ids)\nsecond = broken.embed(ids)")
    assert "second" in notebook.user_ns
    text = seen.outputs[0].data["text/plain"]
    assert "net Network" in text and "broken.embed Embedding" in text


@pytest.mark.parametrize(("line", "says"), [
    ("", "needs a model and what it is called with: %model net, x"), ("net, (", "is no model with arguments"),
    ("ids, ids", "is of type Tensor, not a module"), ("net, idz", "did you mean ids?")])
def test_the_magic_says_what_is_wrong_with_its_line(notebook: Any, line: str, says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        notebook.run_line_magic("model", line)
