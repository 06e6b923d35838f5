"""The gallery, which holds one of each picture, in JupyterLab, in Notebook 7 and as nbconvert's HTML."""
from __future__ import annotations

import importlib.util
import shutil
from urllib.parse import urlsplit

import pytest

from . import lab
from .test_jupyterlab import CONTRAST

pytestmark = [
    pytest.mark.skipif(lab.CHROMIUM is None, reason="Chromium is not installed"),
    pytest.mark.skipif(importlib.util.find_spec("playwright") is None, reason="Playwright is not installed"),
    *(
        pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{name} is not installed")
        for name, (module, *_) in lab.FRONT_ENDS.items()
    ),
]  # fmt: skip

GALLERY = lab.REPOSITORY / "notebooks" / "05_gallery.ipynb"
#: What the pictures of the gallery must say, in their order.
SAID = [
    "float32[4, 6]", "view of x", "[3, 6, 4]", "nan", "complex64", "bool", "[3, 0, 2]", "bfloat16", "meta",
    "[3000, 2000]", "grad", "storage of x", "storage", "SumBackward0", "Sequential", "Sequential", "add.Tensor",
    "outside operators", "item() reads a value", "npu:0 stream", "allocated", "pending", "do not broadcast",
    "as_strided", "broadcasts to", "step 0 of", "30/30", "step 30",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gallery")
    shutil.copy(GALLERY, folder)
    return folder


@pytest.fixture(scope="module")
def browser():
    with lab.chromium() as browser:
        yield browser


def look(page, hosts):
    """All pictures are there, fit, and are legible, and nothing was fetched from outside."""
    pictures = [p for p in page.locator(".mindtorch").all() if p.is_visible()]
    found = [picture.inner_text() for picture in pictures]
    print(len(found), [f[:60] for f in found])
    page.evaluate("document.querySelectorAll('.mindtorch details').forEach(details => details.open = true)")
    for picture in pictures:
        assert picture.evaluate("e => e.scrollWidth <= e.clientWidth")
        result = picture.evaluate(CONTRAST)
        assert result["looked"] > 0 and result["found"] == []
    assert hosts <= {"127.0.0.1", None, ""}


@pytest.fixture(scope="module", params=lab.FRONT_ENDS)
def page(request, folder, browser):
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.hosts = set()
    page.on("request", lambda request: page.hosts.add(urlsplit(request.url).hostname))
    with lab.jupyter(folder, request.param) as address:
        lab.run_all(page, address.format(notebook=GALLERY.name), failing=1)
        page.locator(".widget-html-content .mindtorch").nth(3).wait_for()
        yield page
    page.close()


@pytest.mark.parametrize("theme", lab.THEMES)
def test_a_front_end_shows_every_picture(page, theme):
    lab.set_theme(page, theme)
    look(page, page.hosts)


@pytest.mark.parametrize("theme", lab.THEMES)
def test_nbconvert_shows_every_picture(folder, browser, theme):
    file = lab.to_html(folder / GALLERY.name, f"--HTMLExporter.theme={theme}")
    page = browser.new_page()
    hosts = set()
    page.route("http*://**", lambda route: route.abort())
    page.goto(file.as_uri(), wait_until="domcontentloaded")
    look(page, hosts)
    page.close()
