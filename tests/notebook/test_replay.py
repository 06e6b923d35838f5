"""How PyTorch's errors are explained: what failed is done again in mindtorch, and nothing of the program's is run."""
from __future__ import annotations

from functools import partial

import pytest

import mindtorch
from mindtorch import introspect

from .errors import caught, explain
from .test_mistakes import run

torch = pytest.importorskip("torch", reason="needs PyTorch")


def explained(program: str) -> introspect.Explanation:
    return explain(caught(partial(run, torch, program)))


def test_a_layer_deep_in_a_module_of_the_programs_is_named():
    facts = explained(
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.layers = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(5, 2))\n"
        "    def forward(self, x): return self.layers(x).sum()\nNet()(torch.rand(2, 3))")
    assert facts.kind == "linear shapes" and "takes 5 features" in facts.title
    assert "self.layers.2.weight" in [tensor.label for tensor in facts.tensors] and "self.layers(x)" in facts.call.text


def test_the_programs_own_functions_are_not_called_again():
    called: list[int] = []
    space = {"torch": torch, "note": lambda x: called.append(1) or x, "x": torch.rand(2, 3), "w": torch.rand(2)}
    error = caught(lambda: eval("note(x) @ w", space))
    explain(error)
    assert called == [1]


@pytest.mark.parametrize("line", ["x.add_(torch.ones(5))", "x += torch.ones(5)", "x[0] = torch.ones(5)",
                                  "x[7] = 1", "x.view(5)", "x.normal_(0, -1)"])
def test_nothing_of_the_programs_is_changed(line):
    space = {"torch": torch, "x": torch.arange(6.0).view(2, 3)}
    before, ours, theirs = space["x"].clone(), mindtorch.get_rng_state(), torch.get_rng_state()
    explain(caught(lambda: exec(line, space)))
    assert torch.equal(space["x"], before) and space["x"]._version == 0 and space["x"].shape == (2, 3)
    assert mindtorch.equal(mindtorch.get_rng_state(), ours) and torch.equal(torch.get_rng_state(), theirs)


def test_neither_files_nor_settings_are_touched(tmp_path):
    path = tmp_path / "absent.pt"
    before = mindtorch.get_default_dtype()
    run_and_explain = ("torch.save(torch.ones(2), 'nowhere/at/all.pt')", f"torch.load({str(path)!r})",
                       "torch.set_default_dtype(torch.int64)", "torch.manual_seed('a')")
    for line in run_and_explain:
        explain(caught(partial(run, torch, line)))
    assert mindtorch.get_default_dtype() is before and not path.exists()


@pytest.mark.parametrize("program", [
    "def f(x): raise RuntimeError('of my own')\nf(torch.rand(3))", "{}['a']", "1 / 0", "np.ones(3).reshape(2, 2)",
    "class Net(nn.Module):\n    def forward(self, x): raise ValueError('of my own')\nNet()(torch.rand(3))",
    "class Net(nn.Module):\n    def forward(self, x): assert x.shape[0] == 5, 'five'\nNet()(torch.rand(3))",
    "torch.bincount(-torch.arange(3))",
])
def test_of_an_error_of_another_kind_nothing_is_said(program):
    facts = explained(program)
    assert facts.kind == "" and not facts.fixes


def test_a_tensor_on_another_device_is_not_said_to_be_on_meta(monkeypatch):
    from mindtorch.introspect import pytorch
    from mindtorch.introspect.library import Layout

    layout = pytorch.PyTorch.layout
    monkeypatch.setattr(pytorch.PyTorch, "layout", lambda self, tensor: Layout(
        *[getattr(layout(self, tensor), name) for name in ("shape", "stride", "offset", "dtype")], "cuda:0"))
    assert explain(caught(lambda: run(torch, "x = torch.empty(2, device='meta')\nx.tolist()"))).kind == ""


def test_values_of_large_tensors_are_not_copied(monkeypatch):
    from mindtorch.introspect.why import twins

    seen = []
    monkeypatch.setattr(twins.np, "copyto", lambda to, values: seen.append(values.size))
    facts = explained("x, y = torch.zeros(3000, 1000), torch.zeros(3)\nx + y")
    assert facts.kind == "broadcast" and max(seen) <= twins.VALUES
