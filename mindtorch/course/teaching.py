"""For teachers: the students' release of the lessons, and the grades of a folder of submissions.

The masters are notebooks with nbgrader's metadata, so nbgrader itself takes them too. A release is made by nbgrader's
own preprocessors. Each submission is graded in a process of its own: with the student's cells, the master's tests, and
limits of time and memory, so that what one does cannot change the grade of another.
"""
from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .desk import hashed
from .record import Record
from .running import run

MASTERS = Path(__file__).resolve().parents[2] / "notebooks" / "course"
#: What lessons link to in the folder above the masters'; in a release it lies beside the lessons.
REFERENCE = ("05_gallery.ipynb", "06_compile.ipynb")
#: A release has this in place of a solution. It is a comment, so that a function of a docstring stays one.
STUB = "# YOUR CODE HERE"
#: A prediction's cell keeps this line in a release: it is the one place to write.
ANSWER = "answer = ..."


def release(masters: Path, target: Path, key: str = "") -> list[Path]:
    """Write the students' notebooks: without solutions, hidden tests and outputs, and the pages that they link to,
    where there are any. ``key`` is the teacher's, which shows solutions in them.

    Raises:
        ImportError: if nbgrader is not installed (``pip install nbgrader``).
        ValueError: if the target is the masters' folder, or there is no master.
    """
    import nbformat
    from nbgrader.preprocessors import CheckCellMetadata, ClearHiddenTests, ClearOutput, ClearSolutions, LockCells

    if target.resolve() == masters.resolve():
        raise ValueError(f"{target} is the masters' folder: a release goes to another one")
    steps = [LockCells(), ClearSolutions(code_stub={"python": STUB}), ClearOutput(), CheckCellMetadata(),
             ClearHiddenTests()]
    target.mkdir(parents=True, exist_ok=True)
    written = []
    reference = [path for name in REFERENCE if (path := masters.parent / name).exists()]
    for master in (*notebooks(masters), *reference):
        notebook = nbformat.read(master, as_version=4)
        for step in steps:
            notebook, _ = step.preprocess(notebook, {})
        for cell in notebook.cells:  # all of them lie in one folder now
            cell.source = cell.source.replace("](../", "](").replace("](course/", "](")
            if ANSWER in cell.source:
                cell.source = cell.source.replace(f"\n{STUB}", "")
        nbformat.write(notebook, target / master.name)
        written.append(target / master.name)
    record = Record(target)
    record.key = hashed(key) if key else ""
    record.write()
    return written


def notebooks(folder: Path) -> list[Path]:
    """The lessons' notebooks in a folder, in order. Raises ValueError if there is none."""
    found = [path for path in sorted(folder.glob("[0-9]*.ipynb")) if _tests(json.loads(path.read_text("utf-8")))]
    if not found:
        raise ValueError(f"there is no lesson with points in {folder}")
    return found


def _tests(notebook: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The cells of a notebook that give points, by ``grade_id``."""
    return {facts["grade_id"]: cell for cell in notebook["cells"]
            if (facts := cell["metadata"].get("nbgrader", {})).get("grade")}


@dataclass(frozen=True)
class Grade:
    """The points of a student for one test of a lesson, of how many, and what the test said where there are none."""

    student: str
    notebook: str
    test: str
    points: float
    of: float
    said: str


def grade(masters: Path, submissions: Path, seconds: float = 120.0) -> list[Grade]:
    """Grade a folder that has a folder for each student, with the notebooks under their names. What is missing or is no
    notebook gets no points, and the grade says so.
    """
    grades = []
    for student in sorted(path for path in submissions.iterdir() if path.is_dir()):
        for master in notebooks(masters):
            grades += grade_one(master, student / master.name, student.name, seconds)
    return grades


def grade_one(master: Path, submission: Path, student: str, seconds: float = 120.0) -> list[Grade]:
    """The grades of one submission, in the order of the tests."""
    tests = _tests(json.loads(master.read_text("utf-8")))
    try:
        merged = merge(json.loads(master.read_text("utf-8")), json.loads(submission.read_text("utf-8")))
    except FileNotFoundError:
        return [_missed(student, master, cell, "the notebook is missing") for cell in tests.values()]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return [_missed(student, master, cell, "the file is not a notebook") for cell in tests.values()]
    with tempfile.TemporaryDirectory() as folder:
        notebook = Path(folder) / master.name
        notebook.write_text(json.dumps(merged), "utf-8")
        reports = {report.grade_id: report for report in run(notebook, seconds) if report.grade_id in tests}
    grades = []
    for name, cell in tests.items():
        report = reports.get(name)
        if report is None:
            grades.append(_missed(student, master, cell, "the notebook ended before this test, or its time was up"))
        else:
            of = cell["metadata"]["nbgrader"]["points"]
            grades.append(Grade(student, master.stem, name, of if report.passed else 0, of, report.error))
    return grades


def _missed(student: str, master: Path, cell: dict[str, Any], said: str) -> Grade:
    facts = cell["metadata"]["nbgrader"]
    return Grade(student, master.stem, facts["grade_id"], 0, facts["points"], said)


def merge(master: dict[str, Any], submission: dict[str, Any]) -> dict[str, Any]:
    """A submission with the master's tests in the places of its own: each once, and those that are gone at the end."""
    tests = _tests(master)
    left = dict(tests)
    cells = []
    for cell in submission["cells"]:
        if cell["cell_type"] != "code":
            continue
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if name in tests:
            if name in left:
                cells.append(left.pop(name))
            continue
        source = cell["source"]
        cells.append({"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None,
                      "source": source if isinstance(source, str) else "".join(source)})
    return {**master, "cells": [*cells, *left.values()]}


def write_grades(grades: Sequence[Grade], target: Path) -> None:
    """Write grades as a table of comma-separated values, a row a test."""
    with open(target, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(Grade.__dataclass_fields__))
        writer.writeheader()
        writer.writerows(vars(one) for one in grades)


def summary(grades: Sequence[Grade]) -> str:
    """A line for each student: the points, of how many."""
    students = dict.fromkeys(one.student for one in grades)
    width = max(map(len, students), default=0)
    return "\n".join(f"{student:<{width}}  {sum(g.points for g in grades if g.student == student):g} of "
                     f"{sum(g.of for g in grades if g.student == student):g}" for student in students)
