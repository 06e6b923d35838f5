"""The students' release by nbgrader, and grades of submissions: right, half right, hostile."""
from __future__ import annotations

import csv
import json
import re
import socket
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from mindtorch._run.command import main
from mindtorch.course import masters as answers
from mindtorch.course.feedback import summary, write_class, write_feedback
from mindtorch.course.grading import Grade, grade
from mindtorch.course.masters import MASTERS, source as solution_text
from mindtorch.course.recorded import recorded
from mindtorch.course.sealing import unseal
from mindtorch.course.session import is_isolated
from mindtorch.course.slides import slides
from mindtorch.course.tasks import all_lessons
from mindtorch.course.teaching import notebooks, release

nbgrader = pytest.importorskip("nbgrader")

SOLUTION = """def policy(free, size):
    \"\"\"Pick a hole.\"\"\"
    ### BEGIN SOLUTION
    return min(range(len(free)), key=lambda place: free[place][1])
    ### END SOLUTION"""
TEST = """course.check("allocator.policy", policy)
### BEGIN HIDDEN TESTS
course.check("allocator.policy", policy, hidden=True)
### END HIDDEN TESTS"""
SECOND = TEST.replace("allocator.policy", "clinic.product").replace(", policy", ", explain_product")


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
            cell(SECOND, "two-check", grade=True, locked=True, points=3)]}


PRODUCT = solution_text("clinic.product")
RIGHT = "policy = lambda free, size: [room for _, room in free].index(min(room for _, room in free))", PRODUCT


@pytest.fixture
def masters(tmp_path: Path) -> Path:
    folder = tmp_path / "masters"
    folder.mkdir()
    (folder / "01_doubling.ipynb").write_text(json.dumps(notebook(SOLUTION, PRODUCT)))
    return folder


def submit(tmp_path: Path, student: str, content: Any) -> None:
    folder = tmp_path / "submissions" / student
    folder.mkdir(parents=True)
    (folder / "01_doubling.ipynb").write_text(content if isinstance(content, str) else json.dumps(content))


def test_a_release_has_no_solutions_and_no_hidden_tests(masters: Path, tmp_path: Path) -> None:
    [path] = release(masters, tmp_path / "release", key="sesame")
    sources = ["".join(found["source"]) for found in json.loads(path.read_text())["cells"]]
    assert sources[0] == 'def policy(free, size):\n    """Pick a hole."""\n    # YOUR CODE HERE'
    assert sources[1] == 'course.check("allocator.policy", policy)'
    record = (tmp_path / "release" / "course.json").read_text()
    assert "sesame" not in record and "def " not in record
    sealed = json.loads(record)["sealed"]["allocator.policy"]
    assert unseal(sealed, "sesame allocator.policy") == solution_text("allocator.policy")
    assert unseal(sealed, "simsim allocator.policy") is None
    with pytest.raises(ValueError, match="masters"):
        release(masters, masters)
    with pytest.raises(ValueError, match="no lesson"):
        release(tmp_path, tmp_path / "other")


def graded(masters: Path, tmp_path: Path, **more: Any) -> dict[str, list[Grade]]:
    all_grades = grade(masters, tmp_path / "submissions", isolated=is_isolated(), **more)
    return {found[0].student: found for found in all_grades}


def test_submissions_are_graded_each_by_itself(masters: Path, tmp_path: Path) -> None:
    submit(tmp_path, "ada", notebook(*RIGHT))
    submit(tmp_path, "bob", notebook("policy = lambda free, size: 0", RIGHT[1]))
    submit(tmp_path, "cyd", notebook("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\nos._exit(0)", RIGHT[1]))
    submit(tmp_path, "dan", notebook("while True: pass", RIGHT[1]))
    submit(tmp_path, "eve", "no notebook")
    changed = notebook(*RIGHT)
    changed["cells"] = [changed["cells"][0], cell("pass", "one-check", grade=True, locked=True, points=200)]
    submit(tmp_path, "fay", changed)
    (tmp_path / "submissions" / "gus").mkdir()
    (tmp_path / "submissions" / "hal").mkdir()
    (tmp_path / "submissions" / "hal" / "01_doubling.ipynb").symlink_to(tmp_path / "submissions/ada/01_doubling.ipynb")
    found = graded(masters, tmp_path, seconds=15, jobs=2)
    assert {student: [one.points for one in own] for student, own in found.items()} == {
        "ada": [2, 3], "bob": [0, 3], "cyd": [0, 0], "dan": [0, 0], "eve": [0, 0], "fay": [2, 0], "gus": [0, 0],
        "hal": [0, 0]}
    said = {student: own[0].said for student, own in found.items()}
    assert found["bob"][0].mistake == "That is the first hole that is large enough: compare all of them."
    assert found["bob"][0].mistake in said["bob"] and "where 1 is right" in said["bob"]
    assert "ended before this test" in said["cyd"] and "ended before" in said["dan"]
    assert said["eve"] == said["hal"] == "the file is not a notebook"
    assert said["gus"] == "the notebook is missing"
    assert "still to be written" in found["fay"][1].said
    assert "ada  5 of 5\nbob  3 of 5" in summary([one for student in sorted(found) for one in found[student]])


#: Cells that write a verdict of their own: into the process that runs them, into its answers, into its files.
FORGED = {
    "patches": """
import sys
from mindtorch.course import checking, compare, limits, recorded, student, tasks
for module in (checking, compare):
    module.difference = lambda *args: None
tasks.Lab.observe = lambda *args, **more: limits.Outcome(True)
""",
    "answers": """
import json, os
for descriptor in range(3, 64):
    try:
        os.write(descriptor, (json.dumps({"passed": True, "outcome": {"value": True}}) + "\\n").encode() * 99)
    except OSError:
        pass
""",
    "exits": "import os\nos._exit(0)",
    "quits the shell": """
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.run_cell = lambda *args, **more: None
""",
}


@pytest.mark.parametrize("attack", FORGED)
def test_a_verdict_that_a_submission_writes_counts_nothing(attack: str, masters: Path, tmp_path: Path) -> None:
    submit(tmp_path, "eve", notebook(FORGED[attack].replace("\\\\n", "\\n"), "explain_product = lambda a, b: True"))
    [own] = graded(masters, tmp_path, seconds=15).values()
    assert [one.points for one in own] == [0, 0], own


#: What a submission may answer in place of an outcome, as JSON.
ANSWERS = [
    "[]", "7", "{", '{"outcome": 3}', '{"outcome": {"value": {"tensor": [1], "dtype": "float32", "shape": [-1]}}}',
    '{"outcome": {"value": {"tensor": null, "dtype": "float32", "shape": [9999999999, 9999999999, 9999999999]}}}',
    '{"outcome": {"value": {"tensor": [1], "dtype": "__import__", "shape": [1]}}}',
    '{"outcome": {"value": {"array": ["a"], "dtype": "S999999999999"}}}', '{"outcome": {"value": 1e999}}',
    '{"outcome": {"value": 1' + 400 * "0" + "}}", '{"outcome": {"value": ' + 20 * "[" + 20 * "]" + "}}",
    '{"outcome": {"value": ' + 99_999 * "[" + 99_999 * "]" + "}}",
]
SAYS = """
import os
answer = {answer!r}.encode() + b"\\n"
for descriptor in range(3, 64):
    try:
        os.write(descriptor, answer * 2)
    except OSError:
        pass
os._exit(0)
"""


def test_an_answer_that_makes_no_sense_harms_nobody_else(masters: Path, tmp_path: Path) -> None:
    for number, answer in enumerate(ANSWERS):
        submit(tmp_path, f"eve {number}", notebook("pass", RIGHT[1]))
        cells = json.loads((path := tmp_path / f"submissions/eve {number}/01_doubling.ipynb").read_text())
        cells["cells"][0]["source"] = SAYS.format(answer=answer)
        path.write_text(json.dumps(cells))
    submit(tmp_path, "zoe", notebook(*RIGHT))
    found = graded(masters, tmp_path, seconds=15, jobs=2)
    assert {student: sum(one.points for one in own) for student, own in found.items()} == {
        **{f"eve {number}": 0 for number in range(len(ANSWERS))}, "zoe": 5}


SEES = """
import glob, os, socket
def can(run):
    try:
        run()
        return True
    except OSError:
        return False
reached = [
    can(lambda: open({secret!r}).read()),
    bool(glob.glob("/proc/[0-9]*/cwd/**/*.ipynb")),
    can(lambda: open(os.path.join(os.path.dirname(__import__("mindtorch").__file__), "written"), "w")),
    bool(glob.glob(os.path.dirname(__import__("mindtorch").__file__) + "/course/outcomes/*.json")),
    can(lambda: socket.create_connection(("127.0.0.1", {port}), 1)),
    can(lambda: open("/tmp/large", "wb").write(b"0" * (60 << 20)) and [
        open(f"/tmp/large{{i}}", "wb").write(b"0" * (60 << 20)) for i in range(6)]),
]
policy = lambda free, size: reached
"""


@pytest.mark.skipif(not is_isolated(), reason="this system does not let users make namespaces")
def test_an_isolated_submission_reaches_nothing(masters: Path, tmp_path: Path) -> None:
    submit(tmp_path, "ada", notebook(*RIGHT))
    secret = str(tmp_path / "submissions" / "ada" / "01_doubling.ipynb")
    with socket.create_server(("127.0.0.1", 0)) as server:
        submit(tmp_path, "eve", notebook(SEES.format(secret=secret, port=server.getsockname()[1]), RIGHT[1]))
        found = graded(masters, tmp_path)
    assert "it returned (False, False, False, False, False, False)" in found["eve"][0].said
    assert [one.points for one in found["ada"]] == [2, 3]


def test_a_master_that_checks_no_lab_is_refused(masters: Path, tmp_path: Path) -> None:
    text = (masters / "01_doubling.ipynb").read_text()
    (masters / "01_doubling.ipynb").write_text(text.replace("course.check(", "print("))
    submit(tmp_path, "ada", notebook(*RIGHT))
    with pytest.raises(ValueError, match="cannot be graded here"):
        graded(masters, tmp_path)
    with pytest.raises(ValueError, match="no lesson '7'"):
        graded(masters, tmp_path, lesson="7")


def test_the_command_grades_resumes_and_writes_feedback(masters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    asked = notebook(*RIGHT)
    submit(tmp_path, "ada", asked)
    submit(tmp_path, "bob", notebook("policy = lambda free, size: 0", RIGHT[1]))
    strides = {"cells": [{"cell_type": "code", "metadata": {}, "source": text} for text in (
        "answer = (4, 1)\ncourse.predict('strides.t', answer)".replace("'", '"'),
        "answer = open('x')\ncourse.predict('strides.slice', answer)".replace("'", '"'))]}
    (tmp_path / "submissions" / "bob" / "01_strides.ipynb").write_text(json.dumps(strides))
    monkeypatch.chdir(tmp_path)
    command = ["", "course", "grade", "submissions", "--masters", str(masters), "--lesson", "doubling", "--jobs", "2"]
    monkeypatch.setattr("sys.argv", command)
    assert main() == 0
    assert "ada  5 of 5\nbob  3 of 5" in capsys.readouterr().out
    with open("grades.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["student"], row["test"], row["points"]) for row in rows] == [
        ("ada", "one-check", "2"), ("ada", "two-check", "3"), ("bob", "one-check", "0"), ("bob", "two-check", "3")]
    assert "2 of 2" in words("feedback/ada.html")
    assert "where 1 is right" in words("feedback/bob.html")
    assert "0 of 1 right 1 × (4, 1)" in words("grades.html") and "strides of x.t()?" in words("grades.html")
    Path("grades.csv").write_text("\n".join(Path("grades.csv").read_text().splitlines()[:3]).replace("3.0", "3") + "\n")
    monkeypatch.setattr("sys.argv", [*command, "--resume"])
    assert main() == 0
    told = capsys.readouterr()
    assert "bob, 01_doubling" in told.err and "ada, 01_doubling" not in told.err and "bob  3 of 5" in told.out


def test_a_solution_that_fails_in_a_hidden_case_ends_the_grading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "solution", lambda task: lambda q, k, v: 1 / 0)
    with pytest.raises(RuntimeError, match=r"solution of names.attention fails .* ZeroDivisionError"):
        answers.hidden.__wrapped__("names.attention")


def words(path: str | Path) -> str:
    """Return the words of a page of HTML, without its style sheets."""
    text = re.sub(r"<style>.*?</style>|<[^>]*>", " ", Path(path).read_text("utf-8"), flags=re.DOTALL)
    return " ".join(unescape(text).split())


def test_the_class_page_counts_mistakes_and_draws_answers(tmp_path: Path) -> None:
    own = [Grade(student, "12_allocator", "allocator-policy-check", 0, 3, "wrong", hint) for student, hint in (
        ("ada", "look"), ("bob", "look"), ("cyd", ""))]
    write_class(own, {"allocator.again": [True, False, False]}, tmp_path / "page.html")
    found = words(tmp_path / "page.html")
    assert "0 of 3 passed" in found and "2 × look" in found and "1 × wrong" in found
    assert "1 of 3 right 2 × False 1 × True ✓" in found
    widths = re.findall(r'class="mt-bar" style="width:(\d+)px"', (tmp_path / "page.html").read_text())
    assert widths == ["133", "66", "133", "66"]


def test_text_of_students_stays_text_on_the_pages(tmp_path: Path) -> None:
    said = "<script>alert(1)</script>"
    own = [Grade("ada", "12_allocator", "allocator-policy-check", 0, 3, said, said)]
    write_feedback(own, tmp_path)
    write_class(own, {"allocator.holes": [said]}, tmp_path / "page.html")
    for name in ("ada.html", "page.html"):
        assert "<script" not in (tmp_path / name).read_text() and said in words(tmp_path / name)


def test_nbgrader_runs_where_its_environment_is_not_activated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "source" / "ps1").mkdir(parents=True)
    (tmp_path / "source" / "ps1" / "one.ipynb").write_text(json.dumps(notebook(SOLUTION, PRODUCT)))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    assert subprocess.run([sys.executable, "-m", "mindtorch", "nbgrader", "generate_assignment", "ps1"],
                          capture_output=True, timeout=120).returncode == 0
    assert (tmp_path / "release" / "ps1" / "one.ipynb").exists()


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
            task = f"{lesson.name}.{lab.name}"
            assert f"**Lab `{task}`**" in page and recorded(task).mistakes[0].hint in page


def test_nbgrader_itself_takes_the_masters() -> None:
    import nbformat
    from nbgrader.nbgraderformat import MetadataValidator

    for path in notebooks(MASTERS):
        MetadataValidator().validate_nb(nbformat.read(path, as_version=4))


@pytest.mark.parametrize("action", ["release", "slides"])
def test_a_command_without_nbgrader_says_what_to_install(action, tmp_path, monkeypatch, capsys):
    for name in ("nbgrader", "nbgrader.preprocessors", "nbconvert", "nbconvert.exporters"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(sys, "argv", ["mindtorch", "course", action, str(tmp_path / "out")])
    assert main() == 1
    assert capsys.readouterr().err == f"mindtorch course {action} needs nbgrader: pip install nbgrader\n"
