"""What teachers and students read after grading: a page for each student, and a summary of the class."""
from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .compare import difference, shown
from .grading import Grade, read, students
from .tasks import Lesson, Prediction, all_lessons

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


def student_page(student: str, grades: Sequence[Grade]) -> str:
    """Return a student's feedback as Markdown: points, and for each lab that failed what the check said."""
    lines = [f"# {student}: {points(grades)} points", ""]
    for one in grades:
        lines.append(f"- `{one.notebook}`, `{one.test}`: {one.points:g} of {one.of:g}")
        lines += ["", *(f"      {line}" for line in one.said.splitlines()), ""] if one.said else []
    return "\n".join([*lines, ""])


def write_feedback(grades: Sequence[Grade], folder: Path) -> None:
    """Write a page for each student, ``<student>.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    for student, own in by_student(grades).items():
        (folder / f"{student}.md").write_text(student_page(student, own), "utf-8")


def class_page(grades: Sequence[Grade], predicted: dict[str, list[Any]]) -> str:
    """Return a class's summary in Markdown: points, labs passed, frequent mistakes and wrong answers."""
    lines = ["# The class", "", "| student | points |", "|---|---|"]
    lines += [f"| {student} | {points(own)} |" for student, own in by_student(grades).items()]
    for lesson in all_lessons():
        own = [one for one in grades if one.notebook == lesson.notebook]
        asked = [(row, predicted.get(f"{lesson.name}.{row.name}", [])) for row in lesson.predictions]
        if own or any(given for _, given in asked):
            lines += ["", f"## {lesson.number}. {lesson.question}", "", *_labs(lesson, own), *_questions(asked)]
    return "\n".join([*lines, ""])


def _labs(lesson: Lesson, grades: Sequence[Grade]) -> list[str]:
    lines = []
    for name in dict.fromkeys(one.test for one in grades):
        own = [one for one in grades if one.test == name]
        lines.append(f"- `{name}`: {sum(one.points > 0 for one in own)} of {len(own)} passed")
        missed = Counter(one.mistake or one.said for one in own if not one.points)
        lines += [f"  - {count} × {reason}" for reason, count in missed.most_common()]
    return lines


def _questions(asked: Iterable[tuple[Prediction, list[Any]]]) -> list[str]:
    lines = []
    for row, given in asked:
        wrong = Counter(shown(one) for one in given if difference(row.answer, one) is not None)
        frequent = ", ".join(f"{text} ({count})" for text, count in wrong.most_common(3))
        lines.append(f"- {row.question} {len(given) - wrong.total()} of {len(given)} right"
                     f"{f'; wrong: {frequent}' if frequent else ''}")
    return lines


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
