"""The gallery, which holds one of each picture, in JupyterLab, in Notebook 7, as nbconvert's HTML, and as VS Code shows
outputs: in a page with its variables (VS Code itself is not run).
"""
from __future__ import annotations

import importlib.util
import re
import shutil
from functools import cache
from itertools import pairwise
from urllib.parse import urlsplit

import nbformat
import pytest

from . import lab

pytestmark = lab.MARKS

GALLERY = lab.REPOSITORY / "notebooks" / "05_gallery.ipynb"
HAS_PYTORCH = importlib.util.find_spec("torch") is not None  # whose tensors the gallery shows, too
#: What the gallery's pictures say, each in its turn.
SAID = [
    "float32[4, 6]", "view of x", "expanded: dimension 0", "1 NaN", "complex64[2, 3]", "13 True", "no elements",
    "6 of 12 slices", "no values", "6,000,000 elements", "as a picture", "leaf, requires grad", "3 tensors see it",
    "storages", "ReluBackward0", "model.2 … model.78 × 39", "2,889 parameters", "83,300 parameters",
    "83,100 parameters", "3 tensors over 2 storages", "SGD", "keys looked at", "29.15",
    "outside operators", "the queue runs", "1 kernel made of", "17.99", "npu:0 stream 1",
    "race on", "allocated of", "waits for 2 operators", "do not broadcast", "2 findings",
    "24 elements over a storage of 24", "broadcasts to (4, 3, 6)", "step 0 of 4", "30/30 (100%)", "step 30",
    "theirs", "view of theirs", "expanded: dimension 0", *["3 of 9 stored"] * HAS_PYTORCH, "3 tensors see it",
    "25 parameters", "backward keeps 144 B", "2 tensors over 1 storage", "Adam", "AddmmBackward0",
    "keys looked at", "left out", "run",
    "the layer takes 6 features", "sigmoid comes before this loss", "storages", "live storages",
    "24 elements over a storage of 24", "step 0 of 4", "one thing, three names", *["stride (6, 2) offset 6"] * 2,
]
WIDGETS = 7


@pytest.fixture(scope="module")
def front_ends(folder, address, context):
    """Return a function that runs the gallery in a front end, once, whichever tests and themes look at it; of the page
    and the hosts that it asked.
    """
    @cache
    def opened(name):
        page, hosts = context.new_page(), set()
        page.on("request", lambda request: hosts.add(urlsplit(request.url).hostname))
        shutil.copy(GALLERY, folder / f"{name}.ipynb")
        lab.run_all(page, address(name, f"{name}.ipynb"), failing=2)
        page.locator(".widget-html-content .mindtorch").nth(WIDGETS - 1).wait_for()
        page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")
        shutil.copy(folder / f"{name}.ipynb", folder / f"{name}-saved.ipynb")
        return page, hosts

    yield opened
    for page in context.pages:
        page.close()


@pytest.fixture
def front_end(request, front_ends):
    return front_ends(request.param)


LOOK = f"""() => [...document.querySelectorAll('.mindtorch')].filter(e => e.checkVisibility()).map(e => ({{
  said: e.innerText, fits: e.scrollWidth <= e.clientWidth, contrast: ({lab.CONTRAST})(e)}}))"""


def look(page):
    """Every picture is there once, legible, and no wider than the notebook."""
    page.evaluate("document.querySelectorAll('.mindtorch details').forEach(details => details.open = true)")
    for picture, said in zip(page.evaluate(LOOK), SAID, strict=True):
        assert said in picture["said"]
        assert picture["fits"]
        assert picture["contrast"]["looked"] > 0 and picture["contrast"]["found"] == []


@pytest.mark.parametrize(("front_end", "theme"), [
    ("JupyterLab", "light"), ("JupyterLab", "dark"), ("Notebook", "dark")], indirect=["front_end"])
def test_every_picture_is_shown_in_a_front_end(front_end, theme):
    page, hosts = front_end
    lab.set_theme(page, theme)
    look(page)
    assert "127.0.0.1" in hosts and hosts <= {"127.0.0.1", None}


@pytest.mark.parametrize("front_end", lab.FRONT_ENDS, indirect=True)
def test_widgets_move_in_a_front_end(front_end):
    page, _ = front_end
    page.get_by_role("button", name="run one node").first.click()
    page.locator(".widget-html-content .mindtorch").get_by_text("step 1 of 4").first.wait_for()


@pytest.fixture(scope="module")
def executed(folder, front_ends):
    """Return the gallery as JupyterLab saves it after a run."""
    front_ends("JupyterLab")
    return folder / "JupyterLab-saved.ipynb"


@pytest.fixture
def page(context):
    page = context.new_page()
    page.route("http*://**", lambda route: route.abort())  # so that nothing can come from outside
    yield page
    page.close()


def shown(notebook):
    """The HTML of the outputs of a notebook's cells."""
    outputs = [output for cell in nbformat.read(notebook, 4).cells for output in cell.get("outputs", ())]
    return [output.data["text/html"] for output in outputs if "text/html" in output.get("data", ())]


def ground(page):
    return page.locator(".mindtorch").first.evaluate("e => getComputedStyle(e).backgroundColor")


@pytest.mark.parametrize(("theme", "colour"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(17, 17, 17)")])
def test_every_picture_is_shown_in_the_html_of_nbconvert(executed, page, theme, colour):
    page.goto(lab.html(executed, theme=theme).as_uri(), wait_until="domcontentloaded")
    look(page)
    assert ground(page) == colour


def test_every_picture_fits_into_a_narrow_page(executed, page):
    page.set_viewport_size({"width": 360, "height": 900})
    page.set_content("".join(f"<div style='display: flex; flex-direction: column'>{html}</div>"
                             for html in shown(executed)))  # as widgets have it
    assert page.evaluate("document.scrollingElement.scrollWidth") == 360  # no picture is wider
    axes = page.locator(".mt-axis").all()
    for axis in axes:
        edges = axis.evaluate("""axis => [...axis.children].map(label => label.getBoundingClientRect())
          .filter(box => box.width).map(box => [box.left, box.right])""")
        assert edges and all(before[1] < after[0] for before, after in pairwise(edges))
    assert len(axes) > 2


def test_a_picture_looks_as_if_it_were_alone_beside_all_others(executed, page):
    pictures = {found[1]: html for html in shown(executed)
                if (found := re.search(r'class="(mindtorch [^"]+)"', html)) is not None}
    sheets = "".join(style[0] for html in pictures.values() for style in re.finditer("<style>.*?</style>", html))
    looks = """() => {
      const last = {};  // of each kind of element the last one is looked at
      for (const element of document.querySelectorAll('.mindtorch *'))
        last[element.className + element.tagName + element.parentElement.className] = element;
      return Object.entries(last).map(([kind, element]) => {
        const style = getComputedStyle(element);
        return kind + [...style].filter(name => name[1] != '-').map(name => name + style[name]).join();
      });
    }"""
    assert len(pictures) > 15
    for html in pictures.values():
        page.set_content(html)
        alone = page.evaluate(looks)
        page.set_content(html + sheets)
        assert page.evaluate(looks) == alone


@pytest.mark.parametrize(("theme", "front", "back", "colour"), [
    ("vscode-dark", "#cccccc", "#1f1f1f", "rgb(31, 31, 31)"),
    ("vscode-high-contrast-light", "#292929", "#ffffff", "rgb(255, 255, 255)"),
])
def test_every_picture_is_shown_among_the_variables_of_vs_code(executed, page, theme, front, back, colour):
    pictures = "".join(shown(executed))
    variables = f"--vscode-editor-foreground: {front}; --vscode-editor-background: {back}; background: {back}"
    page.set_content(f"<body data-vscode-theme-kind='{theme}' style='{variables}'>{pictures}</body>")
    look(page)
    assert ground(page) == colour
