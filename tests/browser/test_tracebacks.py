"""Errors in a real JupyterLab: the traceback fits on one screen in both themes, and ``%tb`` shows all of it."""
from __future__ import annotations

import pytest

from . import lab

pytestmark = lab.MARKS

CELLS = [
    "%load_ext mindtorch\nimport mindtorch as torch\nfrom mindtorch import nn\nx = torch.arange(12.).view(3, 4)",
    "class Model(nn.Module):\n    def forward(self, x):\n        return x + torch.ones(3)\n\nModel()(x)",
    "%tb",
    "%why",
]
LINES = [
    "-> 5 Model()(x)", "1 frame inside mindtorch, %tb shows it", "-> 3         return x + torch.ones(3)",
    "frames inside mindtorch, %tb shows them", "RuntimeError: The size of tensor a", "%why explains this error",
]


@pytest.fixture(scope="module")
def page(tab, written):
    lab.open_notebook(tab, written("errors.ipynb", CELLS))
    for _ in CELLS:  # one by one: an error stops the run of a whole notebook
        tab.evaluate("() => jupyterapp.commands.execute('notebook:run-cell-and-select-next')")
    tab.locator(".jp-OutputArea .mindtorch").wait_for()
    return tab


@pytest.mark.parametrize("theme", lab.THEMES)
def test_an_error_fits_on_one_screen_and_can_be_read(page, theme):
    lab.set_theme(page, theme)
    error = page.locator(".jp-CodeCell").nth(1).locator(".jp-OutputArea-output")
    text = error.inner_text()
    places = [text.find(line) for line in LINES]
    assert places == sorted(places) and -1 not in places
    assert "dispatcher.py" not in text and error.bounding_box()["height"] < 450
    colour = error.locator("pre").evaluate("e => getComputedStyle(e).color")
    assert (colour in ("rgb(255, 255, 255)", "rgba(255, 255, 255, 1)")) is (theme != "light")


def test_tb_shows_the_rest_and_why_explains(page):
    cells = page.locator(".jp-CodeCell")
    assert "dispatcher.py" in cells.nth(2).locator(".jp-OutputArea-output").inner_text()
    assert "do not broadcast" in cells.nth(3).locator(".mindtorch").inner_text()
