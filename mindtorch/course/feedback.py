"""Feedback after grading: a page for each student, and one for the class."""
from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..viz import grades as pictures, save_picture
from .compare import difference, shown
from .grading import Grade, read, students
from .tasks import Prediction, all_lessons

PREDICT = re.compile(r'course\.predict\("([\w.]+)", answer\)')


def points(grades: Iterable[Grade]) -> str:
    """Return the points of some grades, out of the possible ones."""
    found = list(grades)
    return f"{sum(one.points for one in found):g} of {sum(one.of for one in found):g}"


def by_student(grades: Sequence[Grade]) -> dict[str, list[Grade]]:
    """Return the grades of each student."""
    return {student: [one for one in grades if one.student == student]
            for student in dict.fromkeys(one.student for one in grades)}


def summary(grades: Sequence[Grade]) -> str:
    """Return a line with the points of each student."""
    found = by_student(grades)
    width = max(map(len, found), default=0)
    return "\n".join(f"{student:<{width}}  {points(own)}" for student, own in found.items())


def write_feedback(grades: Sequence[Grade], folder: Path) -> None:
    """Write a page for each student, ``<student>.html``."""
    folder.mkdir(parents=True, exist_ok=True)
    for student, own in by_student(grades).items():
        lessons = [(title, [(one.test, one.points, one.of, one.said) for one in own if one.notebook == notebook])
                   for notebook, title in _titles(own).items()]
        save_picture(pictures.student_page(student, points(own), lessons), folder / f"{student}.html")


def write_class(grades: Sequence[Grade], predicted: dict[str, list[Any]], path: Path) -> None:
    """Write the page of a class: points, and for each lesson passed labs, frequent mistakes, and predictions."""
    parts = []
    for lesson in all_lessons():
        own = [one for one in grades if one.notebook == lesson.notebook]
        asked = [(row, given) for row in lesson.predictions
                 if (given := predicted.get(f"{lesson.name}.{row.name}"))]
        if own or asked:
            parts.append(pictures.lesson_part(f"{lesson.number}. {lesson.question}", _labs(own),
                                              [_histogram(*one) for one in asked]))
    found = [(student, points(own)) for student, own in by_student(grades).items()]
    notebooks = len({(one.student, one.notebook) for one in grades})
    save_picture(pictures.class_page(found, parts, f"{notebooks} notebooks are graded"), path)


def _titles(grades: Iterable[Grade]) -> dict[str, str]:
    """Return the titles of the grades' notebooks."""
    known = {lesson.notebook: f"{lesson.number}. {lesson.question}" for lesson in all_lessons()}
    return {one.notebook: known.get(one.notebook, one.notebook) for one in grades}


def _labs(grades: Sequence[Grade]) -> list[tuple[str, int, int, list[tuple[str, int]]]]:
    """Return for each lab how many passed of how many, and the mistakes with their counts."""
    found = []
    for name in dict.fromkeys(one.test for one in grades):
        own = [one for one in grades if one.test == name]
        missed = Counter(one.mistake or one.said for one in own if not one.points)
        found.append((name, sum(one.points > 0 for one in own), len(own), missed.most_common()))
    return found


def _histogram(row: Prediction, given: Sequence[Any]) -> tuple[str, int, list[tuple[str, int, bool]]]:
    """Return a question, the number of its answers, and each answer with its count, the most frequent first."""
    is_right = {shown(one): difference(row.answer, one) is None for one in given}
    answers = [(text, count, is_right[text]) for text, count in Counter(map(shown, given)).most_common()]
    return row.question, len(given), answers


def predictions(submissions: Path) -> dict[str, list[Any]]:
    """Return students' literal answers by question; they are parsed, not run."""
    found: dict[str, list[Any]] = {}
    for folder in students(submissions):
        for lesson in all_lessons():
            try:
                cells = read(folder / f"{lesson.notebook}.ipynb")["cells"]
            except (FileNotFoundError, ValueError):
                continue
            for cell in cells:
                text = "".join(cell["source"])
                asked = PREDICT.search(text)
                if asked is not None and (given := _answer(text)) is not ...:
                    found.setdefault(asked[1], []).append(given)
    return found


def _answer(text: str) -> Any:
    """Return the value last assigned to ``answer`` in a cell; Ellipsis if there is none."""
    given: Any = ...
    try:
        for statement in ast.parse(text).body:
            match statement:
                case ast.Assign([ast.Name("answer")], value):
                    given = ast.literal_eval(value)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ...
    return given
