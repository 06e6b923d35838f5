"""Widgets in a real JupyterLab: dragged, clicked, by keyboard; kernel and picture agree; stills where none can run."""
from __future__ import annotations

import ast
import xml.etree.ElementTree as ElementTree
from copy import deepcopy

import nbformat
import pytest

from . import lab
from .test_jupyterlab import HOSTILE

pytestmark = lab.MARKS

TIMELINE = """
from mindtorch.introspect import Span, Timeline
spans = (
    Span("host", "add", "enqueue", 0, 4000), Span("host", "copy_", "enqueue", 5000, 8000),
    Span("host", "synchronize", "sync", 9000, 60000, "npu:0"), Span("host", "free", "free", 60500, 62000),
    Span("npu:0 stream 0", "add", "run", 6000, 40000), Span("npu:0 stream 1", "wait event 1", "wait", 8000, 40000),
    Span("npu:0 stream 1", "copy_", "copy", 40000, 58000, HOSTILE),
)
scrubber = widgets.timeline_scrubber(Timeline(spans, ("host", "npu:0 stream 0", "npu:0 stream 1")))
scrubber
""".replace("HOSTILE", repr(HOSTILE))
CELLS = {
    "load": "%load_ext mindtorch\nimport mindtorch as torch\nfrom mindtorch import widgets",
    "strides": "strides = widgets.stride_explorer(12, (3, 4))\nstrides",
    "broadcast": "broadcast = widgets.broadcast_explorer((3, 1), (4,))\nbroadcast",
    "stepper": "w, x = torch.randn(3, 2, requires_grad=True), torch.randn(4, 3)\n"
               "y = (x @ w).relu()\nloss = (y * y).sum()\nstepper = widgets.backward_stepper(loss)\nstepper",
    "timeline": TIMELINE,
    "monitor": "monitor = widgets.TrainingMonitor(total=30)\nfor step in range(30):\n"
               "    norms = {'first': 1 + step % 3, 'last': 2.0}\n"
               "    monitor.record(step, loss=2 / (step + 1), lr=0.1 - step / 1000, grad_norms=norms)",
    "progress": "for _ in widgets.progress(range(50), label='batch'):\n    pass",
}
WIDGETS = list(CELLS)[1:]
KERNEL = """async expression => {
  const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  const request = { code: '', store_history: false, user_expressions: { it: expression } };
  const reply = await kernel.requestExecute(request).done;
  return reply.content.user_expressions.it;
}"""


@pytest.fixture(scope="module")
def page(tab, written):
    lab.run_all(tab, written("widgets.ipynb", CELLS.values()))
    for cell in WIDGETS:
        output(tab, cell).locator(".widget-html-content .mindtorch").wait_for()
    return tab


def output(page, cell):
    """The output of a cell."""
    return page.locator(".jp-CodeCell").nth(list(CELLS).index(cell)).locator(".jp-Cell-outputArea")


def live(page, cell):
    """The widget's picture in the output of a cell."""
    return output(page, cell).locator(".widget-html-content .mindtorch")


def kernel(page, expression):
    """The value of an expression in the kernel."""
    found = page.evaluate(KERNEL, expression)
    assert found["status"] == "ok", found
    return ast.literal_eval(found["data"]["text/plain"])


def slider(page, cell, name):
    """The handle of a slider."""
    control = output(page, cell).locator(".widget-inline-hbox", has=page.get_by_text(name, exact=True))
    return control.locator(".noUi-handle").first


def until(page, expression):
    """Wait until an expression in the kernel is true: the front end sends a slider's values in its own time."""
    said = f"async expression => (await ({KERNEL})(expression)).data['text/plain']"
    page.wait_for_function(f"async expression => await ({said})(expression) === 'True'", arg=expression)


def agree(page, cell, name):
    """Wait until the page shows the kernel's picture."""
    element = output(page, cell).locator(".widget-html-content").element_handle()
    found = page.wait_for_function(
        f"""async ([element, expression]) => {{
          const other = document.createElement('div');
          other.innerHTML = (await ({KERNEL})(expression)).data['application/json'].picture;
          return element.innerHTML === other.innerHTML;
        }}""",
        arg=[element, f"__import__('IPython').display.JSON({{'picture': {name}.picture}})"],
    )
    assert found.json_value() is True


def test_a_dragged_slider_changes_the_layout(page):
    handle = slider(page, "strides", "stride 1")
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    track = handle.locator("xpath=ancestor::*[contains(@class, 'noUi-base')]").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(track["x"] + track["width"], box["y"] + box["height"] / 2, steps=8)
    page.mouse.up()
    live(page, "strides").get_by_text("out of bounds for storage").wait_for()
    until(page, "strides.stride == (4, 12)")
    assert kernel(page, "strides.facts.outside")
    agree(page, "strides", "strides")
    marked = live(page, "strides").locator(".mt-cells .out.read")
    assert marked.count() == len(kernel(page, "strides.facts.outside"))


def test_a_slider_moves_by_keyboard(page):
    output(page, "strides").get_by_role("button", name="contiguous").click()
    live(page, "strides").get_by_text("stride=(4, 1)").wait_for()
    handle = slider(page, "strides", "offset")
    handle.focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    live(page, "strides").get_by_text("storage_offset=2").wait_for()
    assert kernel(page, "strides.offset.value") == 2 and kernel(page, "strides.facts.outside") == (12, 13)
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    live(page, "strides").get_by_text("storage_offset=0").wait_for()
    assert kernel(page, "strides.facts.error") == ""
    agree(page, "strides", "strides")


def test_the_order_of_reading_is_followed_by_keyboard(page):
    handle = slider(page, "strides", "read so far")
    handle.focus()
    page.keyboard.press("Home")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    live(page, "strides").locator(".mt-cells .now", has_text="#4").wait_for()
    assert kernel(page, "strides.read.value") == 5
    assert live(page, "strides").locator(".mt-cells .read").count() == 5
    page.keyboard.press("End")
    live(page, "strides").locator(".mt-cells .now", has_text="#11").wait_for()


def test_typed_shapes_are_aligned(page):
    field = output(page, "broadcast").locator("input[type=text]").nth(1)
    field.fill("2, 4")
    live(page, "broadcast").get_by_text("must match the size of tensor b (2)").wait_for()
    assert kernel(page, "broadcast.facts.result") is None
    assert live(page, "broadcast").locator("td.wrong").count() == 3
    field.fill(HOSTILE)
    live(page, "broadcast").get_by_text("is no size").wait_for()
    assert output(page, "broadcast").locator("img").count() == 0
    field.fill("5, 1, 4")
    live(page, "broadcast").get_by_text("broadcasts to (5, 3, 4)").wait_for()
    assert kernel(page, "broadcast.facts.result") == (5, 3, 4)
    output(page, "broadcast").get_by_role("button", name="one more shape").click()
    live(page, "broadcast").locator("tbody tr").nth(3).wait_for()
    agree(page, "broadcast", "broadcast")


def test_backward_goes_on_by_a_click_and_by_keyboard(page):
    button = output(page, "stepper").get_by_role("button", name="run one node")
    button.click()
    live(page, "stepper").get_by_text("step 1 of").first.wait_for()
    assert kernel(page, "w.grad is None and len(stepper.steps.taken) == 1")
    button.focus()
    page.keyboard.press("Enter")
    live(page, "stepper").get_by_text("step 2 of").first.wait_for()
    assert live(page, "stepper").locator("g.now").count() == 1 and live(page, "stepper").locator("g.freed").count() == 1
    agree(page, "stepper", "stepper")
    output(page, "stepper").get_by_role("button", name="run the rest").click()
    live(page, "stepper").get_by_text("backward is complete").wait_for()
    assert kernel(page, "bool((w.grad == 2 * x.t() @ y.detach()).all())")
    handle = slider(page, "stepper", "step")
    handle.focus()
    page.keyboard.press("Home")
    live(page, "stepper").get_by_text("nothing ran yet").first.wait_for()
    page.keyboard.press("End")
    live(page, "stepper").get_by_text("backward is complete").wait_for()


def test_the_timeline_is_scrubbed(page):
    output(page, "timeline").get_by_role("button", name="next event").click()
    output(page, "timeline").locator(".widget-readout", has_text="4 µs").wait_for()
    assert kernel(page, "scrubber.at.value") == 4000
    agree(page, "timeline", "scrubber")
    handle = slider(page, "timeline", "time")
    handle.focus()
    page.keyboard.press("End")
    until(page, "scrubber.at.value == 62000")
    for _ in range(3):
        page.keyboard.press("PageDown")
    until(page, "40000 < scrubber.at.value < 62000 and len(scrubber.timeline.at(scrubber.time)) > 0")
    agree(page, "timeline", "scrubber")
    assert live(page, "timeline").locator(".cursor").count() == 3


def test_what_goes_on_is_shown_to_its_end(page):
    assert "step 30/30 (100%)" in live(page, "monitor").inner_text()
    assert live(page, "monitor").locator("svg.mt-plot").count() == 3
    assert "batch 50/50 (100%)" in live(page, "progress").inner_text()


@pytest.mark.parametrize("theme", lab.THEMES)
def test_every_text_is_legible(page, theme):
    lab.set_theme(page, theme)
    for cell in WIDGETS:
        result = live(page, cell).evaluate(lab.CONTRAST)
        assert result["looked"] > 0 and result["found"] == [], cell


@pytest.mark.parametrize("cell", WIDGETS)
def test_a_picture_that_moves_is_copied_as_it_is_now(page, cell):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = output(page, cell).locator(".widget-html-content").get_by_role("button", name="copy SVG")
    button.focus()
    page.keyboard.press("Enter")
    output(page, cell).locator(".widget-html-content output", has_text="copied").wait_for()
    copied = "".join(ElementTree.fromstring(page.evaluate("navigator.clipboard.readText()")).itertext())
    shown = live(page, cell).evaluate("e => e.textContent")
    assert shown in copied and "copy SVG" not in copied


def test_pictures_fit_and_their_stills_are_hidden(page):
    for cell in WIDGETS:
        assert live(page, cell).is_visible()
        assert live(page, cell).evaluate("e => e.scrollWidth <= e.clientWidth")
        still = output(page, cell).locator(".jp-RenderedHTMLCommon .mindtorch")
        assert still.count() == 1 and not still.is_visible()


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    path = tmp_path_factory.mktemp("nbconvert") / "widgets.ipynb"
    lab.write_notebook(path, CELLS.values())
    lab.execute(path)
    return nbformat.read(path, 4)


@pytest.mark.parametrize("stored", [True, False])
def test_nbconvert_leaves_stills(page, tmp_path, executed, stored):
    copy = deepcopy(executed)
    assert len(copy.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]) > len(WIDGETS)
    if not stored:
        del copy.metadata["widgets"]
    nbformat.write(copy, tmp_path / "widgets.ipynb")
    exported = page.context.browser.new_page()
    exported.route("http*://**", lambda route: route.abort())  # nothing comes from outside
    exported.goto(lab.html(tmp_path / "widgets.ipynb").as_uri(), wait_until="domcontentloaded")
    pictures = exported.locator(".mindtorch")
    assert pictures.count() == len(WIDGETS)
    assert all(pictures.nth(i).is_visible() for i in range(len(WIDGETS)))
    said = pictures.all_inner_texts()
    wanted = ["12 of them read", "broadcasts to (3, 4)", "step 0 of", "62 µs", "30/30", "50/50"]
    for text, expected in zip(said, wanted, strict=True):
        assert expected in text
