"""For teachers: the students' release of the lessons.

The masters are notebooks with nbgrader's metadata, so nbgrader itself takes them too. A release is made by nbgrader's
own preprocessors.
"""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from . import masters as answers
from .record import Record
from .sealing import seal
from .tasks import all_lessons

#: Pages that lessons link to, in the folder above the masters'; in a release they are beside the lessons.
REFERENCE = ("05_gallery.ipynb", "06_compile.ipynb")
#: A release has this in place of a solution. It is a comment, so that a function of a docstring stays one.
STUB = "# YOUR CODE HERE"
#: A prediction's cell keeps this line in a release: it is the one place to write.
ANSWER = "answer = ..."


def release(masters: Path, target: Path, key: str = "") -> list[Path]:
    """Write the students' notebooks, without solutions, hidden tests and outputs, and the pages that they link to. With
    a teacher's ``key`` the record beside them has the solutions, sealed: ``course.solution(task, key)`` opens one.
    Raises ImportError if nbgrader is not installed (``pip install nbgrader``), and ValueError if the target is the
    masters' folder, or there is no master.
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
        for cell in notebook.cells:  # all of them are in one folder now
            cell.source = cell.source.replace("](../", "](").replace("](course/", "](")
            if ANSWER in cell.source:
                cell.source = cell.source.replace(f"\n{STUB}", "")
        nbformat.write(notebook, target / master.name)
        written.append(target / master.name)
    record = Record(target)
    tasks = [f"{lesson.name}.{lab.name}" for lesson in all_lessons() for lab in lesson.labs] if key else []
    record.sealed = {task: seal(answers.source(task), f"{key} {task}") for task in tasks}
    record.write()
    return written


def notebooks(folder: Path) -> list[Path]:
    """Return the lessons' notebooks in a folder, in order. Raise ValueError if there is none."""
    found = [path for path in sorted(folder.glob("[0-9]*.ipynb")) if graded_cells(json.loads(path.read_text("utf-8")))]
    if not found:
        raise ValueError(f"there is no lesson with points in {folder}")
    return found


def graded_cells(notebook: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the cells of a notebook that give points, by ``grade_id``."""
    return {facts["grade_id"]: cell for cell in notebook["cells"]
            if (facts := cell["metadata"].get("nbgrader", {})).get("grade")}
