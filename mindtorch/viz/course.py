"""Pictures of the course: predictions, verdicts, differences, hints, progress."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..introspect import tensor_facts
from .grid import value_grids
from .html import Markup, join, page, row, table, tag
from .palette import mono, soft


def _mark(right: bool) -> Markup:
    """Draw a sign that differs in more than its colour."""
    return tag("b", "✓" if right else "✗", class_="mt-right" if right else "mt-alert")


def _page(*children: Any) -> Markup:
    return page(tag("div", *children, class_="mt-box"), kind="course", sheet="course")


def committed_page(task: str, whose: str, answer: str) -> Markup:
    """Draw an answer that was committed, without its verdict."""
    return _page(tag("div", soft(f"{whose}: "), mono(answer), soft("; afterwards, "),
                     mono(f"course.explain({task!r})"), soft(" shows the right one")))


def prediction_page(question: str, given: str, is_right: bool, answer: str, reason: str) -> Markup:
    """Draw a question with the answer that was committed, the right answer, and the reason."""
    correct = None if is_right else tag("div", soft("right is: "), mono(answer), class_="mt-said")
    return _page(tag("div", tag("b", code(question))),
                 tag("div", _mark(is_right), " ", soft("your answer: "), mono(given), class_="mt-said"),
                 correct, tag("p", code(reason)))


def puzzle_page(question: str, program: str) -> Markup:
    """Draw a puzzle: its program, and the question about it."""
    return _page(*_asked(question, program))


def answered_page(question: str, program: str, given: str, is_right: bool, said: str,
                  closed: Markup | None = None) -> Markup:
    """Draw a puzzle with the answer that was given, if it can be shown, and the reason or a hint. A ``closed`` picture
    opens on a click, and has no place in plain text.
    """
    answer = tag("div", _mark(is_right), " ", soft("your answer: " if given else "your function"), mono(given),
                 class_="mt-said")
    folded = None if closed is None else tag(
        "details", tag("summary", "a table, which may show much of the answer"), closed, plain="")
    return _page(*_asked(question, program), answer, tag("p", code(said)), folded)


def _asked(question: str, program: str) -> Sequence[Markup]:
    source = [tag("pre", program.strip(), class_="mt-source")] if program.strip() else []
    return [*source, tag("p", tag("b", code(question)))]


def rows_page(head: Sequence[Any], rows: Sequence[Sequence[Any]]) -> Markup:
    """Draw a small table of a puzzle."""
    return _page(table(head, [row(*map(str, cells)) for cells in rows], ""))


def passed_page(said: str) -> Markup:
    """Draw the line of a part that is right."""
    return _page(tag("div", _mark(True), " ", said))


def difference_page(expected: Any, got: Any, call: str) -> Markup:
    """Draw two tensors of one shape side by side, and where they differ."""
    wrong = (expected != got) & ~((expected != expected) & (got != got))
    parts = [tag("div", tag("div", name, class_="mt-soft"), value_grids(tensor, tensor_facts(tensor))[0])
             for name, tensor in (("right", expected), ("yours", got), ("where they differ", wrong))]
    return _page(tag("div", mono(call)) if call else None, tag("div", *parts, class_="mt-sides"))


def hints_page(task: str, hints: Sequence[str], count: int) -> Markup:
    """Draw the hints to a lab so far, the last one in bold."""
    lines = [tag("li", tag("b", code(text)) if text is hints[-1] else code(text)) for text in hints]
    more = "" if len(hints) == count else f", {count - len(hints)} more"
    return _page(tag("div", f"hint {len(hints)} to {task}{more}", class_="mt-soft"), tag("ol", *lines))


def solution_page(task: str, source: str) -> Markup:
    """Draw a lab's solution."""
    return _page(tag("div", f"a solution of {task}; others are equally good", class_="mt-soft"),
                 tag("pre", source, class_="mt-source"))


def progress_page(lessons: Sequence[tuple[int, str, int, int, int, str, Sequence[tuple[str, bool, int]]]]) -> Markup:
    """Draw each lesson's number, question, right, made and possible predictions, puzzles, and its labs' tries."""
    rows = [row(number, code(question), ", ".join([f"{right} of {made} right"] * bool(made)
                                                   + [f"{total - made} to make"] * (made < total)), puzzles,
                join([_lab(*lab) for lab in labs], ", "))
            for number, question, right, made, total, puzzles, labs in lessons]
    passed = sum(lab[1] for lesson in lessons for lab in lesson[6])
    total = sum(len(lesson[6]) for lesson in lessons)
    head = "lesson", "question", "predictions", "puzzles", "labs"
    return _page(table(head, rows, f"{passed} of {total} labs passed"))


def code(text: str) -> Markup:
    """Draw a text, with parts between backticks in the letters of code."""
    return join([mono(part) if i % 2 else part for i, part in enumerate(text.split("`"))])


def _lab(name: str, passed: bool, tries: int) -> Markup:
    again = f" ({tries} {'try' if tries == 1 else 'tries'})" if tries else ""
    return join([_mark(passed) if tries else soft("–"), " ", name, soft(again)])
