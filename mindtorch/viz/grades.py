"""Pages of the course's grades: a student's feedback, and the class with its mistakes and predictions."""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from .course import code
from .html import Markup, join, page, row, table, tag
from .palette import mono, soft

LONGEST = 200  #: pixels of the bar of all answers
Test = tuple[str, float, float, str]  #: a test's name, points, possible points, and the check's result if it failed
Answer = tuple[str, int, bool]  #: an answer, how many gave it, and whether it is right


def bars(rows: Iterable[tuple[Markup | str, int]], whole: int) -> Markup:
    """Draw counts out of ``whole``, each with a bar and its text."""
    return tag("div", *(tag("div", tag("span", class_="mt-bar", style=f"width:{LONGEST * count // max(whole, 1)}px"),
                            f" {count} × ", text) for text, count in rows))


def student_page(student: str, points: str, lessons: Sequence[tuple[str, Sequence[Test]]]) -> Markup:
    """Draw a student's points, lesson by lesson, and for each lab that failed what the check said."""
    parts: list[Markup] = []
    for title, tests in lessons:
        parts.append(tag("h3", title))
        for name, got, possible, said in tests:
            parts.append(tag("div", tag("b", "✓" if got else "✗"), " ", mono(name), f": {got:g} of {possible:g}"))
            parts += [tag("p", code(line)) for line in said.splitlines()]
    return _page(f"{student}: {points} points", *parts)


def class_page(students: Sequence[tuple[str, str]], lessons: Sequence[Markup], graded: str) -> Markup:
    """Draw the students' points, and the lessons' parts (``lesson_part``)."""
    rows = [row(student, points) for student, points in students]
    return _page("The class", tag("p", soft(graded)), table(("student", "points"), rows, ""), *lessons)


def lesson_part(title: str, labs: Sequence[tuple[str, int, int, Sequence[tuple[str, int]]]],
                predictions: Sequence[tuple[str, int, Sequence[Answer]]]) -> Markup:
    """Draw a lesson: of each lab how many passed, and its mistakes; of each prediction a histogram of the answers."""
    parts = [tag("h3", title)]
    for name, passed, count, mistakes in labs:
        parts.append(tag("div", mono(name), f": {passed} of {count} passed"))
        parts.append(bars(((code(reason), made) for reason, made in mistakes), count))
    for question, count, answers in predictions:
        right = sum(made for _, made, is_right in answers if is_right)
        parts.append(tag("p", tag("b", code(question)), f" {right} of {count} right"))
        parts.append(bars(((join([mono(text), " ✓" if is_right else ""]), made) for text, made, is_right in answers),
                          count))
    return tag("section", *parts)


def _page(title: str, *parts: Markup) -> Markup:
    return page(tag("div", tag("h2", title), *parts, class_="mt-box"), kind="course", sheet="course")
