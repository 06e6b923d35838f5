"""What tests of the course share: the lessons, their labs, the cells of their notebooks."""
from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mindtorch.course.masters import MASTERS
from mindtorch.course.session import Ended, Session
from mindtorch.course.tasks import all_lessons

ALL = os.environ.get("MINDTORCH_REQUIRE_ALL") == "1" or os.environ.get("MINDTORCH_COURSE") == "all"
LESSONS = all_lessons()
LABS = {f"{lesson.name}.{lab.name}": lab for lesson in LESSONS for lab in lesson.labs}


def cells(lesson: Any) -> list[dict[str, Any]]:
    """Return the cells of a lesson's master."""
    return json.loads((MASTERS / f"{lesson.notebook}.ipynb").read_text())["cells"]


@dataclass(frozen=True)
class CellReport:
    """The end of a code cell: its number in the notebook, whether it passed, what it printed, its error."""

    number: int
    passed: bool
    printed: str
    error: str


def run(notebook: Path, before: str = "", until: tuple[str, ...] = ()) -> list[CellReport]:
    """Run the cells of a notebook in a process of their own, after some Python; up to the end of that process, or to an
    error that begins as one of ``until``.
    """
    reports: list[CellReport] = []
    with Session(120.0, isolated=False) as session:
        if before:
            assert session.run(before)["passed"]
        for number, cell in enumerate(json.loads(notebook.read_text("utf-8"))["cells"]):
            if cell["cell_type"] == "code":
                try:
                    reports.append(CellReport(number, **session.run(source(cell))))
                except Ended:
                    break
                if until and reports[-1].error.startswith(until):
                    break
    return reports


def source(cell: dict[str, Any]) -> str:
    """Return the text of a cell."""
    return "".join(cell["source"])
