"""Places in the user's code: pictures, errors and reports say which cell and which line of it."""
from __future__ import annotations

import re

import pytest
from IPython.utils.capture import capture_output

import mindtorch as torch
from mindtorch._base.call_site import place_of
from mindtorch.viz.palette import place_text

simulator = torch.npu.simulator


@pytest.fixture
def run(shell):
    """Runs cells one after the other, as a notebook does, and returns what was displayed and printed."""
    def cell(source):
        with capture_output() as captured:
            shell.run_cell(source, store_history=True)
        return "".join(output.data["text/html"] for output in captured.outputs if "text/html" in output.data
                       ) + captured.stdout

    return cell


def test_a_picture_says_which_cell(run):
    run("x = torch.ones(3)")
    page = run("%%pipeline\ny = x + 1\n\nz = y * 2\nz.sum().item()")
    assert re.findall(r"cell \d, line \d", re.sub("<[^>]*>", "", page))[:2] == ["cell 2, line 2", "cell 2, line 4"]
    assert "cell 3, line 2" in run("%%profile\nx.exp()")
    assert not re.search(r"ipykernel_|ipython-input", page)


def test_lines_of_a_cell_with_a_magic_count_from_its_first(run):
    said = run("%%dispatch\n\nx = torch.ones(3)\nx + torch.ones(2)")
    assert re.search(r"Cell In\[1\], line 4\b", re.sub(r"\x1b\[[\d;]*m", "", said))


def test_an_error_says_which_cell(run):
    run("class Shift(torch.nn.Module):\n    def forward(self, a):\n        return a + torch.ones(2)")
    said = run("torch.nn.Sequential(Shift())(torch.ones(3))")
    assert "called at cell 1, line 3 in forward" in said


def test_a_pending_tensor_says_which_cell_recorded_it(run):
    page = run("with torch.pipeline():\n    z = torch.ones(3) + 1\n    display(z)")
    assert "recorded at cell 1, line 2" in page


def test_a_race_says_which_cells(run, shell):
    run("a, side = torch.ones(4, device='npu'), torch.npu.Stream()\ntorch.npu.synchronize()")
    run("with simulator.paused():\n    b = a + 1\n    with torch.npu.stream(side):\n        c = b * 2"
        .replace("simulator", "torch.npu.simulator"))
    found, = simulator.reports()
    simulator.clear_reports()
    torch.npu.synchronize()
    assert (found.kind, found.site) == ("race", "cell 2, line 4") and "called at cell 2, line 2" in found.message


def test_a_semicolon_hides_the_value_and_not_the_picture(run, shell):
    for source in ("%%dispatch\ntorch.ones(2) + 1;", "%dispatch torch.ones(2) + 1;"):
        with capture_output() as captured:
            result = shell.run_cell(source)
        assert result.result is None and "add.Tensor" in captured.outputs[0].data["text/html"]


@pytest.mark.parametrize(("file", "line", "where", "short"), [
    ("/home/me/train.py", 7, "/home/me/train.py:7", "train.py:7"),
    ("/tmp/ipykernel_123/456.py", 7, "/tmp/ipykernel_123/456.py:7", "line 7 of a cell"),
    ("<string>", 1, "<string>:1", "<string>:1"), ("", 0, ":0", ""),
])
def test_places_outside_of_this_notebook(file, line, where, short):
    assert (place_of(file, line), place_text(file, line)) == (where, short)
