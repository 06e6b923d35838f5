"""``%why``, ``%%profile`` and ``%%pipeline`` in a real JupyterLab: visible, legible in both themes, harmless."""
from __future__ import annotations

import pytest

import mindtorch as torch
from mindtorch import introspect, nn, viz

from . import lab

pytestmark = lab.MARKS

HOSTILE = "<img src=x onerror=alert(1)>"
LOAD = """%load_ext mindtorch
import mindtorch as torch
from mindtorch import nn
errors = {}
def attempt(name, function):
    try:
        function()
    except Exception as error:
        errors[name] = error
x, w = torch.arange(12.).view(3, 4), torch.ones(3, requires_grad=True)
loss = (w * w).exp().sum()
loss.backward()
"""
FAILING = {
    "shapes": "x + torch.ones(3)", "places": "x.t().view(12)", "ruler": "x[7]", "steps": "loss.backward()",
    "groups": "x + torch.ones(3, 4, device='meta')", "bars": "torch.empty(1 << 44, device='npu')",
    "hostile": f"nn.Linear(2, 2).load_state_dict({{{HOSTILE!r}: x}})",
}
CELLS = {
    "load": LOAD,
    **{name: f"attempt({name!r}, lambda: {code})\n%why errors['{name}']" for name, code in FAILING.items()},
    "profile": "%%profile\nmodel = nn.Sequential(nn.Linear(4, 8), nn.ReLU())\nmodel(x).sum().backward()",
    "pipeline": "%%pipeline\ny = x * 2\nprint(y.sum().item())\nz = y + 1",
}
SAID = {
    "shapes": "x [3, 4] and torch.ones(3) [3] do not broadcast", "places": "storage", "ruler": "asked for",
    "steps": "freed by an earlier backward", "groups": "add was given tensors on cpu and meta",
    "bars": "in use by tensors",
    "hostile": HOSTILE, "profile": "outside operators (Python)", "pipeline": "item() reads a value",
}


@pytest.fixture(scope="module")
def page(tab, written):
    lab.run_all(tab, written("explanations.ipynb", CELLS.values()))
    tab.evaluate("document.querySelectorAll('.mindtorch details').forEach(details => details.open = true)")
    return tab


def picture(page, cell):
    return page.locator(".jp-CodeCell").nth(list(CELLS).index(cell)).locator(".jp-OutputArea .mindtorch")


@pytest.mark.parametrize("cell", SAID)
def test_the_picture_is_there_and_fits_into_the_notebook(page, cell):
    shown = picture(page, cell)
    assert shown.count() == 1 and shown.is_visible() and SAID[cell] in shown.inner_text()
    assert shown.evaluate("e => e.scrollWidth <= e.clientWidth") and shown.locator("img").count() == 0


def test_graphs_and_modules_unfold_by_keyboard_and_without_script(page):
    layers = [nn.Sequential(nn.Linear(4, 4 + i % 7), nn.ReLU(), nn.Linear(4 + i % 7, 4)) for i in range(100)]
    model = nn.Sequential(*layers)
    loss = model(torch.ones(2, 4)).sum()
    facts = introspect.graph_facts(loss, dict(introspect.named_tensors({"model": model, "loss": loss})))
    assert len(facts.nodes) > 200
    with page.context.browser.new_context(java_script_enabled=False) as context:
        still = context.new_page()
        for html in (viz.graph_page(facts), viz.module_page(introspect.module_facts(model, "model"))):
            still.set_content(f"<script>document.title = 'script ran'</script>{html}")
            closed = still.locator("details:not([open])").first
            summary = closed.locator("summary").first.element_handle()
            inner = closed.locator(":scope > :not(summary)").first.element_handle()
            assert not inner.is_visible()
            summary.focus()
            still.keyboard.press("Enter")
            assert inner.is_visible()
            still.keyboard.press("Enter")
            assert not inner.is_visible() and still.title() == ""


@pytest.mark.parametrize("theme", lab.THEMES)
def test_every_text_is_legible(page, theme):
    lab.set_theme(page, theme)
    for cell in SAID:
        result = picture(page, cell).evaluate(lab.CONTRAST)
        assert result["looked"] > 10 and result["found"] == []


def test_what_does_not_fit_is_marked_by_more_than_its_colour(page):
    clash = picture(page, "shapes").locator(".mt-clash").first
    other = picture(page, "shapes").locator(".mt-size:not(.mt-clash)").first
    widths = [box.evaluate("e => parseFloat(getComputedStyle(e).borderTopWidth)") for box in (clash, other)]
    assert "✗" in clash.inner_text() and "✗" not in other.inner_text() and widths[0] > widths[1]
