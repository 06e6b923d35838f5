"""What a lesson holds: predictions and labs, as data."""
from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from textwrap import dedent
from typing import Any

from . import lessons as _lessons
from .compare import difference, shown
from .said import NotYet


@dataclass(frozen=True)
class Prediction:
    """A question that is answered before the picture appears; the answer is a number, text, truth value or tuple."""

    name: str
    question: str
    answer: Any
    reason: str


@dataclass(frozen=True)
class Mistake:
    """What some readers write: a function that gets the same wrong values, and the hint that names what is wrong."""

    hint: str
    function: Callable[..., Any]


def called(function: Callable[..., Any], *case: Any) -> Any:
    """A function's value for a case, of which it is given copies. Raises NotYet if it wrote into one."""
    given = [value.clone() if hasattr(value, "clone") else value for value in case]
    value = function(*given)
    if any(difference(before, after) is not None for before, after in zip(case, given, strict=True)):
        raise NotYet("it wrote into its argument: return a new tensor, and leave to others what is theirs.")
    return value


@dataclass(frozen=True)
class Lab:
    """A part that the reader builds.

    ``right`` is a solution, and what ``solution`` shows. ``run(function, *case)`` gives what is observed of a function
    for a case: the function's value, where nothing else is said. ``hidden`` cases are run when a teacher grades.
    ``hints`` come one after the other, from the nudge to nearly all. ``mistakes`` are looked through in this order.
    """

    name: str
    question: str
    right: Callable[..., Any]
    cases: Sequence[tuple[Any, ...]]
    hints: tuple[str, ...]
    mistakes: tuple[Mistake, ...]
    points: int
    hidden: Sequence[tuple[Any, ...]] = ()
    run: Callable[..., Any] = called
    describe: Callable[..., str] | None = None

    @property
    def solution(self) -> str:
        """The source of the right solution."""
        return dedent(inspect.getsource(self.right))

    def call_text(self, case: tuple[Any, ...]) -> str:
        """A case in words: the call, unless the lab describes it otherwise."""
        if self.describe is not None:
            return self.describe(*case)
        return f"{self.right.__name__}({', '.join(map(shown, case))})"


@dataclass(frozen=True)
class Lesson:
    """A lesson: its number and question, the notebook's name, the minutes it takes, and what is asked in it."""

    number: int
    name: str
    question: str
    notebook: str
    minutes: int
    predictions: tuple[Prediction, ...]
    labs: tuple[Lab, ...]


@cache
def all_lessons() -> tuple[Lesson, ...]:
    """The lessons, in order."""
    modules = [importlib.import_module(f"{_lessons.__name__}.{found.name}")
               for found in pkgutil.iter_modules(_lessons.__path__)]
    return tuple(sorted((module.LESSON for module in modules), key=lambda lesson: lesson.number))


def find(task: str, kind: type) -> Any:
    """The prediction or the lab of a name such as 'strides.position'. Raises NotYet, with what may be meant."""
    found = {f"{lesson.name}.{row.name}": row for lesson in all_lessons()
             for row in (lesson.predictions if kind is Prediction else lesson.labs)}
    if not isinstance(task, str):
        raise NotYet(f"the name comes first, a text such as {next(iter(found))!r}, and not {shown(task)}")
    if task not in found:
        near = get_close_matches(task, found, 1, 0.4)
        raise NotYet(f"there is no {kind.__name__.lower()} {task!r}{f'; is {near[0]!r} meant?' if near else ''}")
    return found[task]
