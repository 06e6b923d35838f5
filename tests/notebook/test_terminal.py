"""IPython in a terminal: every magic and widget has a text version, and a tensor shows PyTorch's repr."""
from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.terminal.interactiveshell import TerminalInteractiveShell

START = """import mindtorch as torch; from mindtorch import nn, widgets
x = torch.arange(6.0).view(2, 3); part = x[1]
w = torch.ones(3, 2, requires_grad=True); loss = (x @ w).relu().sum()"""
#: What is typed, and what is then read.
TYPED = {
    "x": ["tensor([[0., 1., 2.],\n        [3., 4., 5.]])"],
    "nn.Sequential(nn.Linear(3, 4))": ["Sequential(\n  (0): Linear(in_features=3, out_features=4, bias=True)\n)"],
    "%tensors": ["part  float32[3]", "view of", "SumBackward0"],
    "%storage x": ["storage of 24 B on cpu", "part ["],
    "%graph loss": ["3 operators", "MmBackward0  [2, 2] · keeps x"],
    "%%dispatch\nx + 1": ["add.Tensor", "pointwise.py:", "tensor([[1., 2., 3.]"],
    "%%timeline\n(x.to('npu') * 2).cpu()": ["npu:0 stream 0 |", "▶ run aclnnMuls", "tensor([[ 0.,  2.,  4.]"],
    "n = x.to('npu')\n%memory": ["npu:0: ", "allocated", "n\n"],
    "%%profile\n(x @ w).sum().backward()": ["outside operators (Python)", "mm", "by module: (backward)"],
    "%%pipeline\n(x * 2).sum().item()": ["2 operators recorded", "item() reads a value", "30.0"],
    "%%compile\n(x * 2 + 1).tanh().sum()": ["4 operators captured", "numpy.tanh(", "mul.Tensor → add.Tensor → tanh"],
    "%device": ["device(type='cpu')"],
    "x + torch.ones(4)\n%why": ["x [2, 3] and torch.ones(4) [4] do not broadcast", "Why: "],
    "widgets.stride_explorer(x.t())": ["as_strided(size=(3, 2), stride=(1, 3), storage_offset=0)"],
    "widgets.broadcast_explorer((3, 1), (4,))": ["(3, 1) with (4,) broadcasts to (3, 4)"],
    "widgets.backward_stepper((w * w).sum())": ["step 0 of 3"],
    "m = widgets.TrainingMonitor()\nfor i in widgets.progress(range(9)): m.record(i, loss=i)\nm": [
        "9/9 (100%)",
        "loss 8",
    ],
}


@pytest.fixture
def terminal():
    InteractiveShell.clear_instance()
    shell = TerminalInteractiveShell.instance(simple_prompt=True, colors="nocolor")
    for cell in ("%load_ext mindtorch", START):
        shell.run_cell(cell).raise_error()
    yield shell
    TerminalInteractiveShell.clear_instance()


@pytest.mark.parametrize("typed", TYPED)
def test_what_is_typed_in_a_terminal_is_answered_in_text(terminal, capsys, typed):
    cells = [typed] if typed.startswith("%%") or "for" in typed else typed.split("\n")
    for cell in cells:
        terminal.run_cell(cell)
    shown = capsys.readouterr().out
    for said in TYPED[typed]:
        assert said in shown
    assert "<div" not in shown and " object at 0x" not in shown
