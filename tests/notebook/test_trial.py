"""How ``%why`` carries cures out before it offers them: on a copy, which leaves no trace."""
from __future__ import annotations

import linecache
import os
import time
import types
from functools import partial

import numpy as np
import pytest

import mindtorch
from mindtorch import introspect
from mindtorch.introspect.why import trial
from mindtorch.introspect.why.edits import Edit, parse

from .errors import caught
from .test_mistakes import run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork: cures are not tried")


def tried(program: str, lib: types.ModuleType = mindtorch) -> dict[str, str]:
    """The codes of the cures that are offered, with what ran ('' for those that were not tried)."""
    return {fix.code: fix.tried for fix in introspect.explain(caught(partial(run, lib, program))).fixes}


@pytest.mark.parametrize(("program", "code", "ran"), [
    ("m, x = nn.Linear(784, 10), torch.rand(2, 1, 28, 28)\ny = m(x)", "x.flatten(1)", "y = m(x.flatten(1))"),
    ("a, b = torch.rand(2, 3), torch.rand(2, 3)\na @ b", "a @ b.T", "a @ b.T"),
    ("m, x = nn.BatchNorm1d(4), torch.rand(1, 4)\nm(x)", "m.eval()", "m.eval()(x)"),
    ("nn.MultiheadAttention(10, 4)", "num_heads=5", "nn.MultiheadAttention(10, 5)"),
    ("w = torch.ones(2, requires_grad=True)\nw += 1", "with torch.no_grad(): w += 1",
     "with torch.no_grad():\n    w += 1"),
    ("x = torch.rand(3)\nx.length()", "len(x)", "len(x)"),
    ("w = torch.ones(2, requires_grad=True)\nloss = w.exp().sum()\nloss.backward()\nloss.backward()",
     "loss.backward(retain_graph=True)", "loss.backward(retain_graph=True)"),
    ("class Net(nn.Module):\n    def __init__(self): self.f = nn.Linear(2, 2)\nNet()", "super().__init__()",
     "class Net(nn.Module):\n\n    def __init__(self):\n        super().__init__()\n        self.f = nn.Linear(2, 2)"),
    ("m, x, h = nn.RNN(2, 3), torch.ones(4, 1, 2), torch.zeros(1, 1, 3)\nfor _ in range(2):\n    out, h = m(x, h)\n"
     "    out.sum().backward()", "h = h.detach()",
     "for _ in range(2):\n    h = h.detach()\n    out, h = m(x, h)\n    out.sum().backward()"),
])
def test_a_cure_is_put_where_it_belongs(program, code, ran):
    assert tried(program)[code] == ran


@pytest.mark.parametrize(("program", "code"), [
    ("m, state = nn.Linear(2, 2), {'model': 1, 'epoch': 2}\nm.load_state_dict(state)", "strict=False"),
    ("a, b = torch.rand(3), torch.rand(3)\na > 0 & b > 0", "b.long()"),
])
def test_a_cure_that_does_not_help_is_not_offered(program, code):
    assert not any(code in offered for offered in tried(program))


def test_a_cure_with_a_hole_or_of_names_that_are_not_there_is_offered_as_untried():
    assert tried("w = torch.ones(2, requires_grad=True)\nw.mul_(2)")["y = w * …"] == ""


def test_gradients_that_a_cure_cuts_are_named():
    space = {"w": mindtorch.ones(2, requires_grad=True)}
    (_, note), = trial._changed(mindtorch.ones(2), Edit(tuple(parse("w.detach() * 2").body)), space)
    assert "no gradient flows" in note
    assert not trial._changed(space["w"] * 2, Edit(tuple(parse("w * 2").body)), space)


@pytest.mark.parametrize("line", ["x.add_(torch.ones(5))", "x[0] = torch.ones(5)", "x.view(5)"])
def test_no_trace_is_left(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {"torch": mindtorch, "x": mindtorch.arange(6.0).view(2, 3), "log": []}
    before, state = space["x"].clone(), mindtorch.get_rng_state()
    names, number = set(space), np.random.get_state()[2]
    linecache.cache["<line>"] = len(line), None, [line], "<line>"
    introspect.explain(caught(lambda: exec(compile(line, "<line>", "exec"), space)))
    assert mindtorch.equal(space["x"], before) and space["x"]._version == 0
    assert mindtorch.equal(mindtorch.get_rng_state(), state) and np.random.get_state()[2] == number
    assert set(space) - names <= {"__builtins__"} and not list(tmp_path.iterdir())


def test_what_the_program_does_besides_is_not_done_again(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    program = ("def look(x):\n    print('looked')\n    open('seen', 'a').write('x')\n    return x\n"
               "m, x = nn.Linear(3, 2), torch.rand(2, 3, 1)\nm(look(x))")
    facts = introspect.explain(caught(partial(run, mindtorch, program)))
    assert (tmp_path / "seen").read_text() == "x" and capfd.readouterr().out == "looked\n"
    assert [fix.tried for fix in facts.fixes] == [""] * len(facts.fixes)


def test_a_trial_that_takes_long_is_given_up(monkeypatch):
    monkeypatch.setattr(trial, "SECONDS", 0.2)
    program = ("import time\ntimes = []\ndef wait(x):\n    times.append(1)\n    if len(times) > 1: time.sleep(60)\n"
               "    return x\nm, x = nn.Linear(3, 2), torch.rand(2, 3, 1)\nm(wait(x))")
    begun = time.monotonic()
    assert not any("wait" in ran for ran in tried(program).values()) and time.monotonic() - begun < 30


def test_a_tensor_of_a_device_is_stood_for_by_one_without_data():
    program = "f, x = nn.Linear(3, 2).to('npu'), torch.ones(5, 3)\nf(x)"
    assert tried(program)["x.to(f.weight.device)"] == "f(x.to(f.weight.device))"
