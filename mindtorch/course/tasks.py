"""The content of a lesson as data: predictions, puzzles and labs."""
from __future__ import annotations

import importlib
import pkgutil
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from . import lessons as _lessons
from .compare import difference, shown
from .limits import SECONDS, Outcome, attempt
from .puzzles import Puzzle
from .refusing import refusing
from .said import NotYet
from .wire import decode, encode


@dataclass(frozen=True)
class Prediction:
    """A question that is answered before the picture appears; the answer is a number, text, truth value or tuple."""

    name: str
    question: str
    answer: Any
    reason: str


def called(function: Callable[..., Any], *case: Any) -> Any:
    """Call a function with copies of a case's values. Raise NotYet if it wrote into one."""
    given = [value.clone() if hasattr(value, "clone") else value for value in case]
    value = function(*given)
    if any(difference(before, after) is not None for before, after in zip(case, given, strict=True)):
        raise NotYet("it wrote into its argument: return a new tensor, and leave the argument as it is.")
    return value


def described(program: str, factor: float = 1.0) -> str:
    """Return a case in words that is a program, and a factor for its numbers."""
    return program if factor == 1 else f"{program}, with numbers {factor:g} times as large"


@dataclass(frozen=True)
class Lab:
    """A part that the reader builds.

    ``function`` is the name under which the notebook defines it. ``run(function, *case)`` returns what is observed of a
    function in a case: by default the function's value. The right outcomes are recorded (``recorded``), not computed:
    the library has no solutions. ``hints`` lead from a nudge to nearly all. ``refuses`` names operators and functions
    of the library that the part must not call. A case may take ``seconds``, more where the first one loads a compiler.
    """

    name: str
    question: str
    function: str
    cases: Sequence[tuple[Any, ...]]
    hints: tuple[str, ...]
    points: int
    run: Callable[..., Any] = called
    describe: Callable[..., str] | None = None
    refuses: tuple[str, ...] = ()
    seconds: float = SECONDS

    def call_text(self, case: tuple[Any, ...]) -> str:
        """Return a case in words: the call, unless the lab describes it otherwise."""
        if self.describe is not None:
            return self.describe(*case)
        return f"{self.function}({', '.join(map(shown, case))})"

    def observe(self, mine: Callable[..., Any], case: tuple[Any, ...]) -> Outcome:
        """Run a part on a case, and return the outcome with its values as they are recorded."""
        outcome = attempt(self.run, refusing(mine, self.refuses), *case, seconds=self.seconds)
        return replace(outcome, value=decode(encode(outcome.value)))


@dataclass(frozen=True)
class Lesson:
    """A lesson: its number and question, the notebook's name, the minutes it takes, and its tasks."""

    number: int
    name: str
    question: str
    notebook: str
    minutes: int
    predictions: tuple[Prediction, ...]
    puzzles: tuple[Puzzle, ...]
    labs: tuple[Lab, ...]


def tuples(value: Any) -> Any:
    """Return a value of a TOML file with tuples for its arrays."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def lesson(name: str, **labs: Callable[..., Lab]) -> Lesson:
    """Return a lesson: its text, which is ``lessons/<name>.toml``, and its labs, which are given without theirs."""
    text = tomllib.loads((Path(*_lessons.__path__) / f"{name}.toml").read_text("utf-8"))
    predictions, puzzles, texts = text.pop("predictions"), text.pop("puzzles", []), text.pop("labs")
    return Lesson(
        name=name, **text,
        predictions=tuple(Prediction(**row | {"answer": tuples(row["answer"])}) for row in predictions),
        puzzles=tuple(Puzzle(**row | {"wrong": tuples(row.get("wrong", []))}) for row in puzzles),
        labs=tuple(lab(name=key, **texts[key] | {"hints": tuple(texts[key]["hints"])}) for key, lab in labs.items()))


@cache
def all_lessons() -> tuple[Lesson, ...]:
    """Return the lessons, in order."""
    modules = [importlib.import_module(f"{_lessons.__name__}.{found.name}")
               for found in pkgutil.iter_modules(_lessons.__path__)]
    return tuple(sorted((module.LESSON for module in modules), key=lambda lesson: lesson.number))


def find(task: str, kind: type[Any]) -> Any:
    """Return a task of a kind by a name such as 'strides.position'; NotYet, with a suggestion, if unknown."""
    rows: list[tuple[str, Any]] = [(lesson.name, row) for lesson in all_lessons()
                                   for row in (*lesson.predictions, *lesson.puzzles, *lesson.labs)]
    found = {f"{lesson}.{row.name}": row for lesson, row in rows if isinstance(row, kind)}
    if not isinstance(task, str):
        raise NotYet(f"the name comes first, a text such as {next(iter(found))!r}, not {shown(task)}")
    if task not in found:
        near = get_close_matches(task, found, 1, 0.4)
        raise NotYet(f"there is no {kind.__name__.lower()} {task!r}{f'; did you mean {near[0]!r}?' if near else ''}")
    return found[task]
