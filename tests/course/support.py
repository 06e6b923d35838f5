"""What tests of the course share: the lessons, their labs, the cells of their notebooks."""
from __future__ import annotations

import json
import os
from typing import Any

from mindtorch.course.tasks import all_lessons
from mindtorch.course.teaching import MASTERS

ALL = os.environ.get("MINDTORCH_REQUIRE_ALL") == "1" or os.environ.get("MINDTORCH_COURSE") == "all"
LESSONS = all_lessons()
LABS = {f"{lesson.name}.{lab.name}": lab for lesson in LESSONS for lab in lesson.labs}


def cells(lesson: Any) -> list[dict[str, Any]]:
    """The cells of a lesson's master."""
    return json.loads((MASTERS / f"{lesson.notebook}.ipynb").read_text())["cells"]


def source(cell: dict[str, Any]) -> str:
    """What is written in a cell."""
    return "".join(cell["source"])
