"""What ``%why`` says helps: it names what there is, and where it is applied the program runs."""
from __future__ import annotations

import functools
import linecache
import re

import numpy as np
import pytest

import mindtorch as torch
from mindtorch import nn

from .errors import ERRORS, caught, explain

#: What is given, the line that fails, a fix, and the line with the fix ("" if the fix is all of it).
FIXED = [
    ("a, b = torch.ones(3, 4), torch.ones(4, 3)", "a + b", "b.T", "a + b.T"),
    ("a, b = torch.ones(2, 3), torch.ones(2)", "a * b", "b.unsqueeze(1)", "a * b.unsqueeze(1)"),
    ("a, b = torch.ones(2, 3), torch.ones(4, 3)", "a @ b", "a @ b.T", ""),
    ("f, x = nn.Linear(12, 2), torch.ones(5, 3, 4)", "f(x)", "x.flatten(1)", "f(x.flatten(1))"),
    ("f, x = nn.Linear(3, 2), torch.ones(5, 3).double()", "f(x)", "x.to(f.weight.dtype)", "f(x.to(f.weight.dtype))"),
    ("f, x = nn.Linear(3, 2).to('npu'), torch.ones(5, 3)", "f(x)", "x.to(f.weight.device)", "f(x.to(f.weight.device))"),
    ("s, t = torch.zeros(2, 3, device='npu'), torch.tensor([0, 1])", "F.cross_entropy(s, t)", "t.to(s.device)",
     "F.cross_entropy(s, t.to(s.device))"),
    ("s, t = torch.zeros(2, 3), torch.tensor([3, 1])", "F.cross_entropy(s, t)", "t - 1", "F.cross_entropy(s, t - 1)"),
    ("s, t = torch.zeros(2, 3), torch.tensor([9, 1])", "F.cross_entropy(s, t)", "ignore_index=9",
     "F.cross_entropy(s, t, ignore_index=9)"),
    ("s, t = torch.zeros(2, 3), torch.tensor([[1], [0]])", "F.cross_entropy(s, t)", "t.squeeze(-1)",
     "F.cross_entropy(s, t.squeeze(-1))"),
    ("s, t = torch.zeros(2, 3), torch.tensor([[0, 1, 0], [1, 0, 0]])", "F.cross_entropy(s, t)", "t.argmax(1)",
     "F.cross_entropy(s, t.argmax(1))"),
    ("p, t = torch.ones(2), torch.tensor([0, 1])", "F.binary_cross_entropy(p, t)", "t.to(p.dtype)",
     "F.binary_cross_entropy(p, t.to(p.dtype))"),
    ("x = torch.ones(2, 3, 4).transpose(1, 2)", "x.view(2, -1)", "x.reshape(2, 12)", ""),
    ("x = torch.ones(2, 3, 4).transpose(1, 2)", "x.view(2, -1)", "x.contiguous().view(2, 12)", ""),
    ("f = nn.Sequential(nn.Sequential(nn.Linear(3, 2)))", "f[0][0].weight.mul_(2)",
     "with torch.no_grad(): f[0][0].weight.mul_(2)", ""),
    ("f, x = nn.Sequential(nn.Linear(3, 2)).to('npu'), torch.ones(5, 3)", "f(x)", "x.to(f[0].weight.device)",
     "f(x.to(f[0].weight.device))"),
    ("w = torch.ones(3, requires_grad=True)", "w.relu_()", "with torch.no_grad(): w.relu_()", ""),
    ("w = torch.ones(3, requires_grad=True)", "w.mul_(2)", "y = w * …", "y = w * 2"),
    ("w = torch.ones(3, requires_grad=True)", "w[0] = 5", "with torch.no_grad(): w[0] = 5", ""),
    ("w = torch.ones(3, requires_grad=True)", "w[0] = 5", "y = w.clone()", "y = w.clone(); y[0] = 5"),
    ("x = torch.ones(3, requires_grad=True); y = x.sigmoid()", "y += 1; y.sum().backward()", "y = y + …",
     "y = y + 1; y.sum().backward()"),
    ("x = torch.ones(3, requires_grad=True); y = x.sigmoid()", "y += 1; y.sum().backward()", "y = y.clone()",
     "y = y.clone(); y += 1; y.sum().backward()"),
    ("a, b = (torch.ones(2, 2, requires_grad=True) * 1).unbind()", "a.mul_(b)", "a = a * …", "a = a * b"),
    ("c = torch.ones(3)", "c += torch.ones(2, 3)", "c = c + …", "c = c + torch.ones(2, 3)"),
    ("c = torch.ones(3)", "c += torch.ones(2, 3)", "c.expand(2, 3).clone()",
     "c = c.expand(2, 3).clone(); c += torch.ones(2, 3)"),
    ("y = torch.ones(2, requires_grad=True) * 2", "y.backward()", "y.backward(torch.ones_like(y))", ""),
    ("y = torch.ones(2, requires_grad=True) * 2", "y.numpy()", "y.detach().numpy()", ""),
    ("x = torch.ones(2, device='npu')", "x.numpy()", "x.cpu().numpy()", ""),
    ("x = torch.ones(3)", "x = 1 if x > 0 else 2", "(x > 0).any()", "x = 1 if (x > 0).any() else 2"),
    ("f, g = nn.Linear(2, 2), nn.Linear(2, 2)", "f.load_state_dict(g)", "model.load_state_dict(other.state_dict())",
     "f.load_state_dict(g.state_dict())"),
    ("w, g = torch.ones(2, requires_grad=True), torch.ones(2, 1)", "w.grad = g", "w.grad = g.view_as(w)", ""),
    ("", "torch.arange(5, 0)", "torch.arange(5, 0, -1)", ""),
    ("x = torch.ones(2, 3)", "x.repeat(2)", "x.repeat(1, 2)", ""),
    ("x, m = torch.ones(2), torch.ones(2)", "x.masked_fill(m, 0)", "m.bool()", "x.masked_fill(m.bool(), 0)"),
    ("x, v = torch.zeros(2).long(), torch.ones(2)", "x.index_put_((x.clone(),), v)", "v.to(x.dtype)",
     "x.index_put_((x.clone(),), v.to(x.dtype))"),
]


@pytest.mark.parametrize(("given_", "fails", "fix", "fixed"), FIXED, ids=lambda part: part[:24])
def test_a_fix_is_one(given_, fails, fix, fixed):
    def run(line, name):
        space = {"torch": torch, "nn": nn, "F": nn.functional}
        exec(given_, space)
        linecache.cache[name] = len(line), None, [line], name
        exec(compile(line, name, "exec"), space)

    facts = explain(caught(lambda: run(fails, "<fails>")))
    assert fix in [known.code for known in facts.fixes]
    run(fixed or fix, "<fixed>")


def test_fixes_name_what_there_is():
    spaces = {"torch": torch, "nn": nn, "F": nn.functional, "optim": torch.optim, "np": np}
    owners = (torch.Tensor, nn.Module, torch.optim.Optimizer, dict, str)
    function = re.compile(r"\b(?:torch|nn|F|optim|np)(?:\.[A-Za-z]\w*)+")
    for kind, fails, _ in ERRORS:
        for fix in explain(caught(fails)).fixes:
            for path in function.findall(fix.code):
                first, *names = path.split(".")
                found = functools.reduce(lambda found, name: getattr(found, name, None), names, spaces[first])
                assert found, (kind, path)
            for name in re.findall(r"[\w)\]]\.([a-z]\w*)\(", function.sub("", fix.code)):
                assert any(hasattr(owner, name) for owner in owners), (kind, name)


def test_alternatives_begin_with_the_first():
    for _, function, _ in ERRORS:
        first = explain(caught(function)).fixes[0].text
        assert not first.startswith(("or ", "else ", "and "))
