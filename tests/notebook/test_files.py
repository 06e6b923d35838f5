"""Pictures as files, and their compact form: ``%save_picture``, ``%compact``."""
from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
from IPython.core.error import UsageError
from IPython.utils.capture import capture_output

import mindtorch as torch
from mindtorch import introspect, nn, viz
from mindtorch.viz import files

w = torch.ones(3, 2, requires_grad=True)


def pictures():
    """One of each kind, by name."""
    loss = (torch.ones(2, 3) @ w).relu().sum()
    with introspect.watch_dispatch() as trace:
        torch.optim.SGD([w], lr=0.1).step()
        w.detach() * 2
    with introspect.timeline() as timeline:
        w.exp()
    return {
        "card": viz.tensor_card(torch.tensor([[float("nan"), 2.0]])), "large": viz.tensor_card(torch.randn(3, 64, 64)),
        "graph": viz.graph_page(introspect.graph_facts(loss)), "module": viz.module_page(introspect.module_facts(
            nn.Linear(2, 3))), "storage": viz.storage_page(introspect.storage_facts(w)),
        "dispatch": viz.dispatch_page(trace.events, trace.asked), "timeline": viz.timeline_page(timeline),
        "tensors": viz.tensors_page(introspect.tensors_facts({"<w>&": w})),
        "memory": viz.memory_page(introspect.memory_facts()), "glossary": viz.glossary_page(introspect.GLOSSARY),
    }


def test_what_a_notebook_shows_can_be_copied_and_what_it_saves_is_the_picture_alone(shell):
    shell.run_cell("x = torch.ones(2)")
    shell.run_cell("from mindtorch import course, widgets")
    for value in ("x", "[x]", "torch.nn.Linear(2, 2)", "x.untyped_storage()", "course.progress()",
                  "widgets.stride_explorer(x)", "widgets.progress([])", "widgets.TrainingMonitor()"):
        made, formatter = shell.ev(value), shell.display_formatter
        shown = formatter.formatters["text/html"](made) or formatter.mimebundle_formatter(made)[0]["text/html"]
        picture = viz.without_buttons(shown)
        assert shown == viz.copyable(picture) and shown.count('class="mt-copy"') == 1
        assert "mt-copy" not in picture and "<script" not in shown
    assert viz.copying_page("words").count("<script>") == 1


@pytest.fixture
def browserless(monkeypatch):
    monkeypatch.setattr(files, "BROWSERS", ())


@pytest.fixture
def painter(monkeypatch):
    """A browser that measures 300 by 200 pixels, and paints nothing."""
    monkeypatch.setattr(files, "_browse", lambda folder, *options: '<html data-size="300 200">')


def test_every_picture_is_well_formed_in_an_svg(painter, tmp_path):
    for name, picture in pictures().items():
        root = ElementTree.parse(viz.save_picture(picture, tmp_path / f"{name}.svg")).getroot()
        assert root.attrib["viewBox"] == "0 0 300 200" and root.attrib["width"] == "300"
        kind = {"large": "card", "graph": "graph-page", "storage": "storage-page"}.get(name, name)
        shown = [div for div in root.iter("{http://www.w3.org/1999/xhtml}div")
                 if {"mindtorch", f"mt-{kind}"} <= {*div.get("class", "").split()}]
        assert len(shown) == 1 and "".join(shown[0].itertext()).strip()
        inside = [part for part in root.iter() if part.tag.rpartition("}")[2] in ("svg", "rect", "path", "text")]
        assert all(part.tag.startswith("{http://www.w3.org/2000/svg}") for part in inside)
        assert len(inside) > 2 or name not in ("graph", "large")  # the outer one, and its ground


def test_a_page_of_its_own_needs_no_browser(browserless, tmp_path):
    saved = viz.save_picture(viz.tensor_card(w, {id(w): "<w>"}), tmp_path / "w.html")
    page = saved.read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>") and "&lt;w&gt;" in page and "<script" not in page and "http" not in page
    assert 'content="light dark"' in page
    dark = viz.save_picture(viz.tensor_card(w), tmp_path / "dark.html", dark=True).read_text("utf-8")
    assert 'data-jp-theme-light="false"' in dark and "#111111" in dark


@pytest.mark.parametrize("end", ["svg", "png"])
def test_without_a_browser_it_is_said_what_to_install(browserless, tmp_path, end):
    with pytest.raises(RuntimeError, match=r"install one, such as with 'apt install chromium', or save .* as \.html"):
        viz.save_picture(viz.tensor_card(w), tmp_path / f"w.{end}")
    assert list(tmp_path.iterdir()) == []


def test_a_browser_that_fails_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "BROWSERS", ("false",))
    with pytest.raises(RuntimeError, match="false did not paint the picture"):
        viz.save_picture(viz.tensor_card(w), tmp_path / "w.png")


def test_other_kinds_of_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"saved as \.svg, \.png or \.html, not as 'w\.gif'"):
        viz.save_picture(viz.tensor_card(w), tmp_path / "w.gif")


def saved(shell, file, rest=""):
    with capture_output() as captured:
        shell.run_line_magic("save_picture", f"{file} {rest}".strip())
    assert f"saved: {file}" in captured.stdout
    return file.read_text("utf-8")


@pytest.mark.parametrize(("rest", "kind"), [
    ("x", "card"), ("x.t() + 1", "card"), ("nn.Linear(2, 3)", "module"), ("[x, x]", "container"),
    ("(x * w).sum().grad_fn", "graph-page"), ("%graph (x * w).sum()", "graph-page"), ("%tensors", "tensors"),
    ("%dispatch x + 1", "dispatch"),
])
def test_values_and_magics_are_saved(shell, tmp_path, rest, kind):
    shell.run_cell("from mindtorch import nn; x = torch.ones(2, 3); w = torch.ones(3, requires_grad=True)")
    assert f'class="mindtorch mt-{kind}' in saved(shell, tmp_path / "p.html", rest)


def test_the_last_picture_of_a_magic_is_saved_where_nothing_is_named(shell, tmp_path):
    with pytest.raises(UsageError, match="no magic has drawn a picture yet"):
        shell.run_line_magic("save_picture", f"{tmp_path / 'p.html'}")
    with capture_output():
        shell.run_cell_magic("timeline", "", "torch.ones(3).exp()")
    assert 'class="mindtorch mt-timeline' in saved(shell, tmp_path / "p.html")
    with capture_output():
        shell.run_cell("%tensors")
    assert 'class="mindtorch mt-tensors ' in saved(shell, tmp_path / "q.html")


@pytest.mark.parametrize("line", ["--dark {}/p.html x", "{}/p.html --dark x", "{}/p.html  --dark   x"])
def test_options_stand_before_or_behind_the_file(shell, tmp_path, line):
    shell.run_cell("x = torch.ones(2)")
    with capture_output():
        shell.run_line_magic("save_picture", line.format(tmp_path))
    page = (tmp_path / "p.html").read_text("utf-8")
    assert 'data-jp-theme-light="false"' in page and "float32[2]" in page


def test_a_widget_is_saved_as_it_is_now(shell, tmp_path):
    with capture_output():
        shell.run_cell("from mindtorch import widgets\nexplorer = widgets.stride_explorer(torch.arange(12), (3, 4))")
    assert 'class="mindtorch mt-strides' in saved(shell, tmp_path / "p.html", "explorer")


def test_a_saved_image_is_shown(shell, painter, tmp_path):
    with capture_output():
        shown = shell.run_line_magic("save_picture", f"'{tmp_path / 'p.svg'}' torch.ones(2)")
    assert shown.data.startswith("<svg") and "foreignObject" in shown.data


@pytest.mark.parametrize(("line", "message"), [
    ("", "needs a file"), ("p.gif torch.ones(2)", "saved as .svg, .png or .html"), ("p.html 5", "no picture of 5"),
    ("p.html nothing_here", "cannot evaluate"), ("no/such/folder/p.html torch.ones(2)", "No such file"),
])
def test_wrong_use_of_save_picture_is_explained(shell, line, message):
    with pytest.raises(UsageError, match=message):
        shell.run_line_magic("save_picture", line)


def test_compact_cards_have_what_a_slide_needs(shell):
    def card(value):
        shown = viz.without_buttons(shell.display_formatter.format(shell.ev(value))[0]["text/html"])
        return shown.partition('<div class="mindtorch')[2]

    shell.run_cell("x = torch.arange(6.).view(2, 3); y = x.t(); lone = torch.tensor([1., float('nan')])")
    complete = card("lone")
    with capture_output() as captured:
        shell.run_line_magic("compact", "on")
        compact, shared = card("lone"), card("y")
        shell.run_line_magic("compact", "off")
    assert "mean" in complete and "<details>" in complete and "storage 0" not in complete
    for gone in ("mean", "<details>", "elements, "):
        assert gone not in compact and gone not in shared
    assert "float32[2]" in compact and "NaN" in compact and len(compact) < len(complete) / 2
    assert "not contiguous" in shared and "mt-places" in shared and "stride (1, 3)" in shared
    assert captured.stdout.splitlines() == ["cards of tensors are compact", "cards of tensors are complete"]
    assert card("lone") == complete


def test_a_card_says_how_to_save_it():
    assert "%save_picture x-0.png x[0]" in viz.tensor_card(w, {id(w): "x[0]"})
