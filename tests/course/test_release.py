"""The master of each lesson passes; its release fails where something is to be done, with a hint alone, and is graded.

By default one lesson is run; with ``MINDTORCH_REQUIRE_ALL=1`` each is run as it is released, and with
``MINDTORCH_COURSE=all`` each is graded, too.
"""
from __future__ import annotations

import inspect
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from mindtorch.course.grading import grade_one
from mindtorch.course.masters import MASTERS, source as solution_text
from mindtorch.course.session import is_isolated
from mindtorch.course.teaching import release

from .support import ALL, LESSONS, cells, run, source
from .test_lessons import wrong

pytest.importorskip("nbgrader")
GRADED = LESSONS if os.environ.get("MINDTORCH_COURSE") == "all" else [LESSONS[5]]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The students' release of all lessons."""
    folder = tmp_path_factory.mktemp("release")
    release(MASTERS, folder)
    return folder


@pytest.mark.parametrize("lesson", LESSONS if ALL else LESSONS[:1], ids=lambda lesson: lesson.name)
def test_the_master_passes(lesson: Any) -> None:
    reports = run(MASTERS / f"{lesson.notebook}.ipynb")
    assert len(reports) == sum(cell["cell_type"] == "code" for cell in cells(lesson))
    assert [report for report in reports if not report.passed] == []


@pytest.mark.parametrize("lesson", LESSONS if ALL else LESSONS[:1], ids=lambda lesson: lesson.name)
def test_the_release_fails_where_something_is_to_be_done_with_a_hint_alone(lesson: Any, released: Path) -> None:
    notebook = released / f"{lesson.notebook}.ipynb"
    text = notebook.read_text()
    assert "BEGIN" not in text and "hidden=True" not in text
    for link in re.findall(r"\]\(([^)#]+\.ipynb)\)", text):  # what is linked to is there
        assert (released / link).exists(), link
    reports = {report.number: report for report in run(notebook)}
    expected = {number for number, cell in enumerate(json.loads(text)["cells"])
                if "course.predict(" in source(cell) or "course.check(" in source(cell)}
    assert len(expected) == len(lesson.predictions) + len(lesson.labs)
    assert not any("UsageError" in report.error + report.printed for report in reports.values())  # of a magic
    for number in expected:
        report = reports[number]
        assert not report.passed and report.error.startswith("NotYet: "), report
        assert report.printed.strip() == report.error  # the hint, and no traceback


#: Python that a student may write in place of a part, to get points without work.
HOSTILE = """
import mindtorch.course, sys
from mindtorch.course import checking, compare, limits, recorded, student, tasks
mindtorch.course.check = lambda *args, **more: None
checking.judge = lambda task, *args, **more: checking.Verdict(task, 1)
compare.difference = checking.difference = lambda *args: None
student.observe = sys.modules["__main__"].observe = lambda *args: dict(passed=True, outcome=dict(value=True))
tasks.Lab.observe = lambda *args, **more: limits.Outcome(True)
{name} = lambda *args, **more: True
"""


def submission(lesson: Any, released: Path, parts: dict[str, str], folder: Path) -> Path:
    """The release of a lesson with something written into the cells of its labs, by the function's name."""
    notebook = json.loads((released / f"{lesson.notebook}.ipynb").read_text())
    for cell in notebook["cells"]:
        for name, text in parts.items():
            if cell["metadata"].get("nbgrader", {}).get("solution") and f"def {name}(" in source(cell):
                cell["source"] = text
    path = folder / "submitted.ipynb"
    path.write_text(json.dumps(notebook))
    return path


@pytest.mark.parametrize("lesson", GRADED, ids=lambda lesson: lesson.name)
def test_a_right_a_half_right_and_a_hostile_submission_get_what_they_deserve(lesson: Any, released: Path,
                                                                              tmp_path: Path) -> None:
    master = MASTERS / f"{lesson.notebook}.ipynb"
    names = {lab.name: lab.function for lab in lesson.labs}
    right = {lab.function: solution_text(f"{lesson.name}.{lab.name}") for lab in lesson.labs}
    last = lesson.labs[-1]
    mistakes = wrong(f"{lesson.name}.{last.name}")
    name, mistake = next((name, one) for name, (_, one) in mistakes.items() if name.startswith("wrong_"))
    half = {**right, last.function: f"{inspect.getsource(mistake)}\n{last.function} = {name}"}
    hostile = {name: HOSTILE.format(name=name) for name in names.values()}
    points = [lab.points for lab in lesson.labs]
    for parts, expected in ((right, points), (half, [*points[:-1], 0]), (hostile, [0] * len(points))):
        grades = grade_one(master, submission(lesson, released, parts, tmp_path), "ada", is_isolated())
        assert [one.points for one in grades] == expected, [one.said for one in grades]
