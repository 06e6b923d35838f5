"""The teacher's side of the lessons: masters, their solutions, hidden cases, usual mistakes as functions.

They lie beside the package, in ``notebooks/course`` of the repository; neither the package nor a release has them.
"""
from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

from .._base.notebooks import NOTEBOOKS
from . import lessons
from .checking import Case
from .tasks import Lab, all_lessons, find

MASTERS = NOTEBOOKS / "course"
PATIENCE = 120.0  #: seconds that the solution may take in a hidden case, however busy the machine is
MARK = re.compile(r"^ *### (BEGIN|END) SOLUTION\n", re.MULTILINE)


@dataclass(frozen=True)
class Mistake:
    """A usual mistake of readers: the hint that names it, and a function that makes it."""

    hint: str
    function: Callable[..., Any]


def source(task: str, masters: Path = MASTERS) -> str:
    """Return a lab's solution from the lesson's master; FileNotFoundError without masters beside the package."""
    lab = find(task, Lab)
    [lesson] = [lesson for lesson in all_lessons() if lab in lesson.labs]
    cells = json.loads((masters / f"{lesson.notebook}.ipynb").read_text("utf-8"))["cells"]
    [cell] = [cell for cell in cells
              if cell["metadata"].get("nbgrader", {}).get("grade_id") == f"{lesson.name}-{lab.name}"]
    return dedent(MARK.sub("", "".join(cell["source"]))) + "\n"


@cache
def solution(task: str) -> Callable[..., Any]:
    """Return the function that solves a lab. Raise FileNotFoundError if the masters are not beside the package."""
    return _function(task, source(task))


def edited(task: str, hint: str, *changes: tuple[str, str]) -> Mistake:
    """Return the mistake that is a lab's solution with some of its text replaced. Raise ValueError if it has no such
    text.
    """
    text = source(task)
    for before, after in changes:
        if before not in text:
            raise ValueError(f"the solution of {task} has no {before!r}")
        text = text.replace(before, after)
    return Mistake(hint, _function(task, text))


def _function(task: str, text: str) -> Callable[..., Any]:
    """Run the text of a solution, and return the function that the lab asks for."""
    names: dict[str, Any] = {"torch": lessons.torch, "course": lessons.course}
    if "np." in text:
        import numpy as np

        names["np"] = np
    exec(compile(text, f"solution of {task}", "exec"), names)
    return names[find(task, Lab).function]


@cache
def hidden(task: str) -> list[tuple[Case, Any]]:
    """Return the cases of a lab that only graders run, each with the right value. Raises RuntimeError if the solution
    fails in one, since every submission would be compared with nothing.
    """
    lesson, _, name = task.partition(".")
    lab = replace(find(task, Lab), seconds=PATIENCE)
    found = [(case, lab.observe(solution(task), case)) for case in _answers(lesson).HIDDEN.get(name, ())]
    for case, outcome in found:
        if outcome.failure:
            raise RuntimeError(f"the solution of {task} fails for {lab.call_text(case)}: {outcome.failure}")
    return [(case, outcome.value) for case, outcome in found]


def mistakes(task: str) -> Sequence[Mistake]:
    """Return the usual mistakes of a lab, in the order in which they are tried."""
    lesson, _, name = task.partition(".")
    return _answers(lesson).MISTAKES_OF[name]


@cache
def _answers(lesson: str) -> ModuleType:
    path = MASTERS / "answers" / f"{lesson}.py"
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: the answers are in the repository only")
    spec = importlib.util.spec_from_file_location(f"answers_{lesson}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module
