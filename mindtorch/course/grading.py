"""The grades of a folder of submissions, notebook by notebook, each in a session of its own (``session``).

A submission's cells run in the session; of its parts this process only takes the outcomes, and compares them with right
ones that the session has never seen. The master's cells decide which labs there are and what they are worth.
"""
from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from .._base.files import appending, replacing
from . import masters as answers
from .checking import compare
from .session import Ended, Session
from .tasks import Lab, find
from .teaching import graded_cells, notebooks

SIZE = 20 << 20  #: bytes of a submitted notebook, at most
SECONDS = 120.0  #: that a notebook may take
CHECK = re.compile(r'^course\.check\("([\w.]+)", \w+\)', re.MULTILINE)


@dataclass(frozen=True)
class Grade:
    """A student's points for a test, out of ``of``; the check's result, and the hint if there are none."""

    student: str
    notebook: str
    test: str
    points: float
    of: float
    said: str
    mistake: str


@dataclass(frozen=True)
class Test:
    """A cell of a master that gives points: its ``grade_id``, the lab that it checks, its points."""

    name: str
    task: str
    points: float


def tests_of(master: Path) -> list[Test]:
    """Return the tests of a master, in order. Raises ValueError if one is anything but the check of a lab, which alone
    can be graded from outside the submission.
    """
    found = []
    for name, cell in graded_cells(json.loads(master.read_text("utf-8"))).items():
        checked = CHECK.match("".join(cell["source"]))
        if checked is None:
            raise ValueError(f"{master.name}: {name} is not a course.check of a lab, so it cannot be graded here")
        found.append(Test(name, checked[1], cell["metadata"]["nbgrader"]["points"]))
    return found


def grade(masters: Path, submissions: Path, *, isolated: bool, seconds: float = SECONDS, jobs: int = 1,
          lesson: str = "", done: Collection[tuple[str, str]] = ()) -> Iterator[list[Grade]]:
    """Grade a folder that has a folder for each student, with the notebooks under their names. Yield the grades of one
    notebook at a time, as they come.

    Args:
        isolated: whether submissions run in namespaces (see ``session``)
        seconds: for each notebook
        jobs: how many run at a time
        lesson: a lesson's number, name or notebook, to grade it alone
        done: pairs (student, notebook) to leave out
    Raises:
        ValueError: if there is no such lesson.
    """
    found = [master for master in notebooks(masters) if not lesson or _means(lesson, master)]
    if not found:
        raise ValueError(f"there is no lesson {lesson!r} in {masters}")
    for test in (test for master in found for test in tests_of(master)):
        answers.hidden(test.task)  # computed once, and not in threads
    todo = [(master, student) for student in students(submissions) for master in found
            if (student.name, master.stem) not in done]
    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(grade_one, master, student / master.name, student.name, isolated, seconds)
                   for master, student in todo]
        try:
            for one in as_completed(running):
                yield one.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def students(submissions: Path) -> list[Path]:
    """Return the students' folders, in order."""
    return sorted(path for path in submissions.iterdir() if path.is_dir() and not path.is_symlink())


def _means(lesson: str, master: Path) -> bool:
    number, _, name = master.stem.partition("_")
    return lesson in (master.stem, name) or (lesson.isdigit() and int(lesson) == int(number))


def read(submission: Path) -> dict[str, Any]:
    """Return a submitted notebook as JSON. Raises FileNotFoundError if it is missing, and ValueError if it is not a
    notebook, is too large, or is a link, which may lead to another student's.
    """
    try:
        if submission.is_symlink() or submission.stat().st_size > SIZE:
            raise ValueError
        notebook = json.loads(submission.read_text("utf-8"))
        for cell in notebook["cells"]:
            "".join(cell["source"]), cell["cell_type"], cell["metadata"].get("nbgrader", {}).get("grade_id")
        return notebook
    except FileNotFoundError:
        raise
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError("the file is not a notebook") from None


def steps(tests: Sequence[Test], submission: dict[str, Any]) -> Iterator[str | Test]:
    """Yield a submission's cells with the master's tests in place, each once, up to the last test."""
    left = {test.name: test for test in tests}
    for cell in submission["cells"]:
        if not left:
            return
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if cell["cell_type"] == "code" and name in left:
            yield left.pop(name)
        elif cell["cell_type"] == "code" and not any(name == test.name for test in tests):
            yield "".join(cell["source"])
    yield from left.values()


def grade_one(master: Path, submission: Path, student: str, isolated: bool, seconds: float = SECONDS) -> list[Grade]:
    """Return the grades of one submission, in the order of the tests."""
    tests = tests_of(master)
    said, found = "the notebook ended before this test, or its time was up", {}
    try:
        cells = list(steps(tests, read(submission)))
        with Session(seconds, isolated) as session:
            for step in cells:
                if isinstance(step, str):
                    session.run(step)
                else:
                    found[step] = compare(step.task, find(step.task, Lab), partial(session.observe, step.task),
                                          answers.hidden(step.task))
    except FileNotFoundError:
        said = "the notebook is missing"
    except ValueError as error:
        said = str(error)
    except Ended:
        pass
    except Exception as error:  # a value made to break the comparison harms no other student
        said = f"its values cannot be compared: {type(error).__name__}"
    return [Grade(student, master.stem, test.name, 0, test.points, said, "") if (verdict := found.get(test)) is None
            else Grade(student, master.stem, test.name, test.points if verdict.passed else 0, test.points,
                       "" if verdict.passed else str(verdict), verdict.mistake) for test in tests]


# -- the table of grades -----------------------------------------------------------------------------------------------


class Table:
    """A file of comma-separated values with a row for each test, written as grades come."""

    def __init__(self, path: Path, resume: bool = False):
        self.path = path
        self.grades = self._read() if resume and path.exists() else []
        self.write()

    def _read(self) -> list[Grade]:
        with open(self.path, newline="", encoding="utf-8") as file:
            return [Grade(row["student"], row["notebook"], row["test"], float(row["points"]), float(row["of"]),
                          row["said"], row["mistake"]) for row in csv.DictReader(file)]

    @property
    def done(self) -> set[tuple[str, str]]:
        """The notebooks that are in the table, as pairs (student, notebook)."""
        return {(one.student, one.notebook) for one in self.grades}

    def add(self, grades: Sequence[Grade]) -> None:
        """Append the grades of a notebook to the file."""
        self.grades += grades
        with appending(self.path, newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(vars(one).values() for one in grades)

    def write(self) -> None:
        """Write the whole file, in the order of students and lessons."""
        self.grades.sort(key=lambda one: (one.student, one.notebook))
        with replacing(self.path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([[part.name for part in fields(Grade)],
                                        *(vars(one).values() for one in self.grades)])
