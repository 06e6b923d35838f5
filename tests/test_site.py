"""The site: a small part of it is built without a warning, a dead link, or anything that is loaded from a network."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("myst_nb", reason="the site needs the extra `docs`")
pytest.importorskip("furo", reason="the site needs the extra `docs`")

from docs import inside, links, notebooks, reference
from docs.__main__ import COPIED, HERE, NOTEBOOKS, build, sources
from tests import FULL, house

LESSON = "notebooks/course/01_strides"


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a site of four pages, or with MINDTORCH_FULL=1 the whole one."""
    folder = tmp_path_factory.mktemp("site")
    if FULL:
        found = sources(True, 2, folder / "executed")
    else:
        made = {**reference.pages(), **inside.pages()}
        found = {path: made[path].make().encode() for path in ("api/torch/scan.md", "api/signal.windows.md")}
        found["inside/storage.md"] = f"# Storage\n\n{inside.walk_text(1)}\n".encode()
        lesson = (NOTEBOOKS.parent / f"{LESSON}.ipynb").read_text(encoding="utf-8")
        lesson = re.sub(r"\[([^\]\n]*)\]\([^)\n]*\.ipynb\)", r"\1", lesson)  # the others are not there
        found[f"{LESSON}.ipynb"] = notebooks.shown(lesson).encode()
        names = "\n".join(path.rpartition(".")[0] for path in found)
        found["index.md"] = f"# Sample\n\n```{{toctree}}\n{names}\n```\n".encode()
    assert build(folder, found) == []
    return folder / "html"


def test_every_room_has_a_walk() -> None:
    assert {inside.slug(number) for number in range(len(house.HOUSE))} == {*inside.WALKS}


def test_links_between_pages_that_are_written_lead_to_sources_of_the_site() -> None:
    pages = {file.relative_to(HERE / "text").as_posix() for file in (HERE / "text").rglob("*.md")}
    every = {*pages, *COPIED.values(), *reference.pages(), *inside.pages(), f"notebooks/{notebooks.COURSE}",
             *(f"notebooks/{path}" for path in notebooks.paths(NOTEBOOKS))}
    linked = [(page, link) for page in pages
              for link in re.findall(r"\]\(([^)#:]+)\)", (HERE / "text" / page).read_text())]
    assert len(linked) > 8 and [pair for pair in linked if pair[1] not in every] == []


def test_an_operator_has_its_signature_an_example_that_was_run_and_its_rows(html: Path) -> None:
    text = (html / "api/torch/scan.html").read_text()
    for said in ('id="torch.cumsum"', "4.0000,", "4.5000,", "Gradient", "Raises", "mindtorch/_operators/scan.py"):
        assert said in text


def test_a_walk_names_the_functions_that_a_call_enters_with_file_and_line(html: Path) -> None:
    text = (html / "inside/storage.html").read_text()
    assert "resize_" in text and "(_storage/untyped.py:" in text


def test_a_lesson_folds_solutions_and_leaves_hidden_tests_out(html: Path) -> None:
    text = (html / f"{LESSON}.html").read_text()
    assert "Show a solution" in text and "SOLUTION" not in text and "HIDDEN" not in text


@pytest.mark.parametrize(("body", "fault"), [
    ('<a href="gone.html">', "there is no such file"), ('<a href="#gone">', "the page has no such place"),
    ('<a href="other.html#gone">', "the page has no such place"),
    ('<img src="https://example.org/x.png">', "loaded from elsewhere"),
    ('<a href="other.html#here"><a href="https://example.org">', None),
])
def test_a_dead_link_is_found(tmp_path: Path, body: str, fault: str | None) -> None:
    (tmp_path / "page.html").write_text(body)
    (tmp_path / "other.html").write_text('<p id="here">')
    found = links.dead(tmp_path)
    assert [line.rpartition(": ")[2] for line in found] == ([] if fault is None else [fault])


def test_docstrings_become_markdown_with_their_sections_as_fields() -> None:
    doc = "Return a*b.\n\nRaises:\n    ValueError: if a is\n        negative.\n    TypeError: else."
    text = reference.documented(doc)
    assert text == "Return a\\*b.\n\n:Raises: \n  - ValueError: if a is negative.\n  - TypeError: else."
