"""Cards and magics in a real JupyterLab in headless Chromium: visible, legible in both themes, harmless."""
from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from matplotlib.image import imread

import mindtorch as torch
from mindtorch import viz

from . import lab

pytestmark = lab.MARKS

HOSTILE = "<img src=x onerror=alert(1)>"
CELLS = {
    "load": "%load_ext mindtorch\nimport mindtorch as torch",
    "card": f"x = torch.arange(12.).view(3, 4)\nd = {{{HOSTILE!r}: x.t()}}\nx",
    "hostile": f"d[{HOSTILE!r}]",
    "wide": "a_long_name = torch.randn(3, 40, 1000)[:, ::2]\na_long_name",
    "tensors": "%tensors",
    "storage-page": "%storage x",
    "graph-page": "w = torch.randn(4, 2, requires_grad=True)\nloss = (x @ w).relu().sum()\n%graph loss",
    "dispatch": "%%dispatch\nloss.backward()",
    "pending": "with torch.pipeline():\n    z = x + 1\n    display(z)",
    "timeline": "%%timeline\nside = torch.npu.Stream()\nn = x.to('npu')\n"
                "with torch.npu.stream(side):\n    n = n.exp().cpu()",
    "memory": "n = x.to('npu')\n%memory",
    "sanitizer": "torch.npu.simulator.sanitizer(True)\n"
                 "shared = torch.ones(4, 4, device='npu')\ntorch.npu.synchronize()",
    "race": "%%timeline\nshared.mul_(2)\nwith torch.npu.stream(side):\n    seen = shared + 1",
    "compile": "%%compile\nkept = []\ndef f(x):\n    y = x.exp()\n    print('break')\n"
               "    kept.append((y * w).relu())\nf(w)",
    "course": "from mindtorch import course\ncourse.progress()",
    "compact": "%compact on\nx",
    "saved": "%compact off\n%save_picture x.svg x",
    "unloaded": "%unload_ext mindtorch\nx",
}
PICTURES = ["card", "hostile", "wide", "tensors", "storage-page", "graph-page", "dispatch", "pending", "timeline",
            "memory", "race", "compile", "course", "compact"]


class Seen:
    """What happened in the page: the hosts that it asked, the dialogs that opened."""

    def __init__(self) -> None:
        self.hosts: set[str | None] = set()
        self.dialogs: list[str] = []


@pytest.fixture(scope="module")
def seen() -> Seen:
    return Seen()


@pytest.fixture(scope="module")
def page(tab, written, seen):
    tab.on("request", lambda request: seen.hosts.add(urlsplit(request.url).hostname))
    tab.on("dialog", lambda dialog: (seen.dialogs.append(dialog.message), dialog.dismiss()))
    lab.run_all(tab, written("pictures.ipynb", CELLS.values()))
    return tab


def output(page, cell):
    """The output of a cell."""
    return page.locator(".jp-CodeCell").nth(list(CELLS).index(cell)).locator(".jp-OutputArea")


@pytest.mark.parametrize("cell", PICTURES)
def test_the_picture_is_there_and_fits_into_the_notebook(page, cell):
    picture = output(page, cell).locator(".mindtorch")
    assert picture.count() == 1 and picture.is_visible()
    box, frame = picture.bounding_box(), output(page, cell).bounding_box()
    assert box["height"] > 40 and box["width"] > 200
    assert frame["x"] <= box["x"] and box["x"] + box["width"] <= frame["x"] + frame["width"]
    assert picture.evaluate("e => e.scrollWidth <= e.clientWidth")


def test_the_pictures_say_what_they_are_about(page):
    said = {cell: output(page, cell).inner_text() for cell in CELLS}
    assert "float32[3, 4]" in said["card"] and "stride (4, 1)" in said["card"] and "storage A" in said["card"]
    assert "storage A" in said["tensors"] and "storage A" in said["storage-page"]
    assert "ReluBackward0" in said["graph-page"] and "keeps x" in said["graph-page"]
    assert "threshold_backward" in said["dispatch"] and "activation.py:" in said["dispatch"]
    assert "race on" in said["race"] and "side.wait_stream(torch.npu.default_stream())" in said["race"]
    assert "float32[3, 4]" in said["compact"] and "mean" in said["card"] and "mean" not in said["compact"]
    assert "pending" in said["pending"] and "add.Tensor" in said["pending"]


def test_a_race_is_told_without_a_mouse_and_without_sight(page):
    race = output(page, "race")
    assert "race on shared" in race.get_by_role("img").get_attribute("aria-label")
    assert race.locator(".racing").count() == 2


def test_a_saved_picture_is_shown_as_an_image(page):
    image = output(page, "saved").locator("img")
    width, height = image.evaluate("e => [e.naturalWidth, e.naturalHeight]")
    assert 300 < width < 1020 and 200 < height < 800
    assert image.evaluate("e => e.complete && e.src.startsWith('data:image/svg+xml')")


@pytest.fixture
def clipboard(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])


def press(page, cell, button):
    """Press a button below a picture by keyboard; what is said then."""
    output(page, cell).locator(".mt-copy output").evaluate("e => { e.textContent = ''; }")
    output(page, cell).get_by_role("button", name=button).focus()
    page.keyboard.press("Enter")
    said = output(page, cell).locator("output:not(:empty)")
    said.wait_for()
    return said.inner_text()


def test_a_picture_is_copied_as_an_svg_by_keyboard(page, clipboard):
    assert press(page, "graph-page", "copy SVG") == "copied"
    root = ElementTree.fromstring(page.evaluate("navigator.clipboard.readText()"))
    assert "MmBackward0" in "".join(root.itertext()) and "copy" not in "".join(root.itertext())
    assert int(root.attrib["width"]) > 200 and not [e for e in root.iter() if e.tag.endswith(("script", "button"))]


@pytest.mark.parametrize("cell", ["card", "dispatch", "compact", "course"])
def test_a_picture_is_copied_as_a_png_by_keyboard(page, clipboard, cell, tmp_path):
    assert press(page, cell, "copy PNG") == "copied"
    pixels = page.evaluate("""async () => {
      const [item] = await navigator.clipboard.read();
      return [...new Uint8Array(await (await item.getType('image/png')).arrayBuffer())];
    }""")
    (tmp_path / "copied.png").write_bytes(bytes(pixels))
    height, width, _ = (painted := imread(tmp_path / "copied.png")).shape
    box = output(page, cell).locator(".mindtorch").bounding_box()
    assert abs(height / 2 - box["height"]) < 60 and 200 < width / 2 < box["width"] + 40
    assert len({tuple(pixel) for pixel in painted[::4, ::4].reshape(-1, painted.shape[2]).tolist()}) > 12


def test_a_picture_is_saved_where_there_is_no_clipboard(page):
    page.evaluate("() => { navigator.clipboard.write = () => Promise.reject(new Error('no')); }")
    with page.expect_download() as download:
        assert press(page, "card", "copy SVG") == "saved as picture.svg"
    assert "float32[3, 4]" in Path(download.value.path()).read_text("utf-8")


def test_a_value_tells_its_place_on_hover(page):
    cell = output(page, "card").locator("td").nth(6)
    assert cell.inner_text() == "6."
    assert cell.get_attribute("title").startswith("[1, 2]  storage position 6  address 0x")


@pytest.mark.parametrize("theme", lab.THEMES)
def test_every_text_is_legible(page, theme):
    lab.set_theme(page, theme)
    page.evaluate("document.querySelectorAll('.mindtorch details').forEach(details => details.open = true)")
    for cell in PICTURES:
        result = output(page, cell).locator(".mindtorch").evaluate(lab.CONTRAST)
        assert result["looked"] > 10 and result["found"] == []
    ground = output(page, "card").locator(".mindtorch").evaluate("e => getComputedStyle(e).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if theme == "light" else "rgb(17, 17, 17)")


def test_what_a_span_is_can_be_read_by_keyboard(page):
    span = output(page, "timeline").locator(".mt-npu .span.run").first
    span.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    said = span.evaluate("e => [e === document.activeElement, getComputedStyle(e, '::after').content]")
    assert said[0] and said[1].startswith('"run: aclnnExp')


def test_a_line_of_a_stage_lights_what_became_of_it(page):
    stages = output(page, "compile").locator(".mt-stages")
    shade = "e => getComputedStyle(e).backgroundColor"
    line, other = (stages.locator(f".mt-aten-backward [data-o~='{number}']").first for number in (1, 2))
    unlit = other.evaluate(shade)
    stages.locator(".mt-source [data-o~='1']").hover()
    assert line.evaluate(shade) != unlit == other.evaluate(shade)
    page.mouse.move(0, 0)
    assert line.evaluate(shade) == unlit
    stages.locator(".mt-fx-graph [data-o='1']").click()  # which keeps the light
    page.mouse.move(0, 0)
    assert line.evaluate(shade) != unlit == other.evaluate(shade)
    page.keyboard.press("Tab")  # the next line with an origin
    assert line.evaluate(shade) == unlit != other.evaluate(shade)
    assert "graph break: call of builtins.print" in stages.locator(".mt-source").inner_text()


def test_folding_works_by_keyboard(page):
    details = output(page, "card").locator("details")
    summary = details.locator("summary")
    details.evaluate("e => e.open = false")
    summary.focus()
    assert summary.evaluate("e => e === document.activeElement && e.tabIndex === 0")
    page.keyboard.press("Space")
    assert details.evaluate("e => e.open") and details.locator("dd").first.is_visible()
    page.keyboard.press("Space")
    assert not details.evaluate("e => e.open")


def test_a_hostile_name_is_text(page, seen):
    name = f"d[{HOSTILE!r}]"
    for cell in ("hostile", "tensors", "storage-page"):
        assert name in output(page, cell).inner_text()
    assert page.locator(".mindtorch img:not(.mt-pixels)").count() == 0
    assert seen.dialogs == []


def test_nothing_comes_from_outside(page, seen):
    assert "127.0.0.1" in seen.hosts and seen.hosts <= {"127.0.0.1", None}


def test_a_png_is_as_large_as_the_svg_and_as_dark_as_asked_for(tmp_path):
    picture = viz.tensor_card(torch.arange(12.).view(3, 4))
    svg, png = (viz.save_picture(picture, tmp_path / f"card.{end}", dark=True) for end in ("svg", "png"))
    height, width, _ = (pixels := imread(png)).shape
    assert f'width="{width // 2}" height="{height // 2}"' in svg.read_text("utf-8")
    assert (pixels[0, 0, :3] * 255).round().tolist() == [17, 17, 17]
    assert len({tuple(pixel) for pixel in pixels[::4, ::4].reshape(-1, pixels.shape[2]).tolist()}) > 12


def test_after_unloading_tensors_draw_themselves(page):
    output(page, "unloaded").locator(".mindtorch").wait_for()
    assert output(page, "unloaded").locator(".mindtorch").count() == 1
