"""Parts of earlier lessons, as the reader has written them in the notebooks beside this one."""
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import lessons
from .checking import judge
from .tasks import Lab, all_lessons, find


def part(task: str) -> Callable[..., Any] | None:
    """Return the part that the reader has written for a lab, from the lesson's notebook in this folder; None if there
    is none that passes. It prints which. Raises NotYet if there is no such lab.
    """
    lab = find(task, Lab)
    lesson = next(lesson for lesson in all_lessons() if lab in lesson.labs)
    notebook = Path.cwd() / f"{lesson.notebook}.ipynb"
    found, reason = _written(notebook, f"{lesson.name}-{lab.name}", lab.function)
    if found is not None:
        verdict = judge(task, lab, found)
        if verdict.passed:
            print(f"{task}: yours, from {notebook.name}")
            return found
        reason = f"yours does not pass yet: {verdict}"
    print(f"{task}: missing; {reason}")
    return None


def _written(notebook: Path, cell: str, name: str) -> tuple[Any, str]:
    """Return the definition of a name in a cell of a notebook, or None and the reason."""
    try:
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        sources = ["".join(one["source"]) for one in cells
                   if one["metadata"].get("nbgrader", {}).get("grade_id") == cell]
    except FileNotFoundError:
        return None, f"{notebook.name} is not in this folder"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None, f"{notebook.name} is not a notebook"
    names = {"torch": lessons.torch, "course": lessons.course}
    try:
        for source in sources:
            exec(compile(source, notebook.name, "exec"), names)
    except Exception as error:
        return None, f"its cell in {notebook.name} raised {type(error).__name__}: {error}"
    return names.get(name), f"its cell is not in {notebook.name}"
