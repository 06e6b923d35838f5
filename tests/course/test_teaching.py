"""The students' release by nbgrader, and grades of submissions: right, half right, hostile."""
from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from mindtorch._run.command import main
from mindtorch.course.slides import slides
from mindtorch.course.tasks import all_lessons
from mindtorch.course.teaching import grade, release, summary, write_grades

nbgrader = pytest.importorskip("nbgrader")

SOLUTION = "def double(x):\n    \"\"\"Twice x.\"\"\"\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION"
TEST = "assert double(2) == 4\n### BEGIN HIDDEN TESTS\nassert double(-3) == -6\n### END HIDDEN TESTS"


def cell(source: str, name: str, **facts: Any) -> dict[str, Any]:
    nbgrader = {"grade": False, "solution": False, "locked": False, "task": False, "schema_version": 3,
                "grade_id": name, **facts}
    return {"cell_type": "code", "id": name, "metadata": {"nbgrader": nbgrader}, "source": source, "outputs": [],
            "execution_count": None}


def notebook(*sources: str) -> dict[str, Any]:
    """Two labs, with their tests."""
    first, second = sources
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {
        "name": "python3", "display_name": "Python 3", "language": "python"}}, "cells": [
            cell(first, "one", solution=True), cell(TEST, "one-check", grade=True, locked=True, points=2),
            cell(second, "two", solution=True),
            cell(TEST.replace("double", "twice"), "two-check", grade=True, locked=True, points=3)]}


TWICE = SOLUTION.replace("double", "twice")
RIGHT = "def double(x): return x + x", "twice = lambda x: x * 2"


@pytest.fixture
def masters(tmp_path: Path) -> Path:
    folder = tmp_path / "masters"
    folder.mkdir()
    (folder / "01_doubling.ipynb").write_text(json.dumps(notebook(SOLUTION, TWICE)))
    return folder


def submit(tmp_path: Path, student: str, content: Any) -> None:
    folder = tmp_path / "submissions" / student
    folder.mkdir(parents=True)
    (folder / "01_doubling.ipynb").write_text(content if isinstance(content, str) else json.dumps(content))


def test_a_release_has_no_solutions_and_no_hidden_tests(masters: Path, tmp_path: Path) -> None:
    [path] = release(masters, tmp_path / "release", key="sesame")
    sources = ["".join(found["source"]) for found in json.loads(path.read_text())["cells"]]
    assert sources[0] == 'def double(x):\n    """Twice x."""\n    # YOUR CODE HERE'
    assert sources[1] == "assert double(2) == 4"
    assert "sesame" not in (tmp_path / "release" / "course.json").read_text()
    with pytest.raises(ValueError, match="masters"):
        release(masters, masters)
    with pytest.raises(ValueError, match="no lesson"):
        release(tmp_path, tmp_path / "other")


def test_submissions_are_graded_each_by_itself(masters: Path, tmp_path: Path) -> None:
    submit(tmp_path, "ada", notebook(*RIGHT))
    submit(tmp_path, "bob", notebook("def double(x): return 2 * abs(x)", RIGHT[1]))  # caught by the hidden test
    submit(tmp_path, "cyd", notebook("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", RIGHT[1]))
    submit(tmp_path, "dan", notebook("while True: pass", RIGHT[1]))
    submit(tmp_path, "eve", "no notebook")
    changed = notebook(*RIGHT)
    changed["cells"] = [changed["cells"][0], cell("pass", "one-check", grade=True, locked=True, points=200)]
    submit(tmp_path, "fay", changed)
    (tmp_path / "submissions" / "gus").mkdir()
    grades = grade(masters, tmp_path / "submissions", seconds=8)
    points = {one.student: [g.points for g in grades if g.student == one.student] for one in grades}
    assert points == {"ada": [2, 3], "bob": [0, 3], "cyd": [0, 0], "dan": [0, 0], "eve": [0, 0], "fay": [2, 0],
                      "gus": [0, 0]}
    said = {(one.student, one.test): one.said for one in grades}
    assert said["bob", "one-check"].startswith("AssertionError")
    assert "ended before this test" in said["cyd", "one-check"] and "ended before" in said["dan", "one-check"]
    assert said["eve", "one-check"] == "the file is not a notebook"
    assert said["gus", "one-check"] == "the notebook is missing"
    assert "ada  5 of 5\nbob  3 of 5" in summary(grades)
    write_grades(grades, tmp_path / "grades.csv")
    with open(tmp_path / "grades.csv", newline="") as file:
        assert [row["points"] for row in csv.DictReader(file)][:2] == ["2", "3"]


def test_the_command_releases(masters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["", "course", "release", str(tmp_path / "out"), "--masters", str(masters)])
    assert main() == 0
    assert (tmp_path / "out" / "01_doubling.ipynb").exists()


def test_slides_have_no_solutions_and_begin_with_headings(masters: Path, tmp_path: Path) -> None:
    path = masters / "01_doubling.ipynb"
    found = json.loads(path.read_text())
    found["cells"][:0] = [{"cell_type": "markdown", "id": f"t{i}", "metadata": {}, "source": text}
                          for i, text in enumerate(("# Doubling", "## How?", "Like this."))]
    asked = cell("course.explain('a')", "asked")
    asked["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": {
        "application/vnd.jupyter.widget-view+json": {"model_id": "0"}, "text/html": "<i>still</i>"}}]
    found["cells"] += [asked, {"cell_type": "markdown", "id": "t9", "metadata": {}, "source": "Next: nothing"}]
    path.write_text(json.dumps(found))
    [page] = slides(masters, tmp_path / "slides", run=False, reveal="https://example.org/reveal")
    html = page.read_text()
    assert page.name == "01_doubling.slides.html" and "<i>still</i>" in html
    assert "YOUR CODE HERE" in html and "BEGIN SOLUTION" not in html and "BEGIN HIDDEN" not in html
    assert html.count("<section") == 5 and 'class="fragment"' in html and "Next: nothing" not in html
    assert set(re.findall(r"(?:src|href)=\"(?!#)([^\"]+)/(?:dist|plugin)/", html)) == {"https://example.org/reveal"}
    assert not re.findall(r"<(?:script|link)[^>]*(?:src|href)=\"(?!https://example.org/reveal)", html)


def test_slides_need_no_network_where_reveal_is_in_a_folder(masters: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="npm pack"):
        slides(masters, tmp_path / "slides", run=False, reveal=str(tmp_path))
    for name in ("dist/reveal.js", "plugin/notes/notes.js"):
        (tmp_path / "package" / name).parent.mkdir(parents=True)
        (tmp_path / "package" / name).write_text("")
    [page] = slides(masters, tmp_path / "slides", run=False, reveal=str(tmp_path / "package"))
    loaded = re.findall(r"<(?:script|link)[^>]*(?:src|href)=\"([^\"]+)\"", page.read_text())
    assert loaded and all(name.startswith("reveal.js/") for name in loaded)
    assert (page.parent / "reveal.js" / "dist" / "reveal.js").exists()


def test_the_guide_has_a_page_for_each_lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["", "course", "guide", str(tmp_path)])
    assert main() == 0 and str(tmp_path / "guide.md") in capsys.readouterr().out
    text = (tmp_path / "guide.md").read_text()
    for lesson in all_lessons():
        page = text.partition(f"## {lesson.number}. {lesson.question}")[2].partition("\n## ")[0]
        assert f"**{lesson.question}" in page and f"{lesson.minutes} minutes" in page and "**In PyTorch**" in page
        assert sum(int(n) for n in re.findall(r"^\| .+ \| (\d+) \|$", page, re.MULTILINE)) == lesson.minutes
        for lab in lesson.labs:
            assert f"**Lab `{lesson.name}.{lab.name}`**" in page and lab.mistakes[0].hint in page


def test_nbgrader_itself_takes_the_masters() -> None:
    import nbformat
    from nbgrader.nbgraderformat import MetadataValidator

    from mindtorch.course.teaching import MASTERS, notebooks

    for path in notebooks(MASTERS):
        MetadataValidator().validate_nb(nbformat.read(path, as_version=4))
