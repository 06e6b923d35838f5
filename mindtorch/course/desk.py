"""The functions that a reader calls in a notebook: predict, explain, puzzle, check, hint, solution, progress."""
from __future__ import annotations

import sys
from typing import Any

from ..viz import copyable, course as pictures
from ..viz.html import Markup, join
from . import masters
from .checking import judge
from .compare import difference, shown
from .puzzles import Puzzle
from .record import Record
from .said import NotYet
from .sealing import unseal
from .tasks import Lab, Prediction, all_lessons, find


class Page:
    """A page to display: HTML where it can be shown, text elsewhere."""

    def __init__(self, html: Markup):
        self.html = html

    def _repr_html_(self) -> str:
        return str(copyable(self.html))

    def __repr__(self) -> str:
        return self.html.plain.strip("\n")


def _display(html: Markup) -> None:
    """Display a picture in the notebook, if there is one."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        from IPython.display import display

        display(Page(html))


def predict(task: str, answer: Any = ...) -> Page:
    """Commit the answer to a question. The first answer stays; ``explain`` shows the right one. Raises NotYet if there
    is no answer yet, or not of the kind that is asked for.
    """
    asked = find(task, Prediction)
    record = Record()
    first = record.predictions.get(task, ...)
    given = _plain(answer)
    if given is ... and first is ...:
        raise NotYet(f"{asked.question} Write your answer in place of the dots; it need not be right.")
    if given is not ... and (kind := _kind(asked.answer)) != _kind(given):
        raise NotYet(f"{asked.question} The answer is {kind}, not {shown(given)}.")
    if first is ...:
        record.predictions[task] = given
        record.write()
        return Page(pictures.committed_page(task, "your answer", shown(given)))
    return Page(pictures.committed_page(task, "your first answer", shown(first)))


def explain(task: str) -> Page:
    """Show the committed answer to a question, the right one, and the reason; NotYet if no answer is committed."""
    asked = find(task, Prediction)
    given = Record().predictions.get(task, ...)
    if given is ...:
        raise NotYet(f"{asked.question} Answer first, by course.predict({task!r}, ...).")
    is_right = difference(asked.answer, given) is None
    return Page(pictures.prediction_page(asked.question, shown(given), is_right, shown(asked.answer), asked.reason))


def puzzle(task: str, answer: Any = ...) -> Page:
    """Show a puzzle. With an answer, show its picture, and a hint if the answer is wrong or the reason if it is right;
    any number of answers may be tried. Raises NotYet if the answer is not of the kind that is asked for.
    """
    asked = find(task, Puzzle)
    if answer is ...:
        return Page(pictures.puzzle_page(asked.question, asked.program))
    names = asked.names()
    right = asked.answer(names)
    if not asked.cases and (kind := _kind(right)) != _kind(given := _plain(answer)):
        raise NotYet(f"{asked.question} The answer is {kind}, not {shown(given)}.")
    hint = asked.judge(answer if asked.cases else given, names)
    if not hint:
        record = Record()
        record.solved = [*dict.fromkeys([*record.solved, task])]
        record.write()
    drawn, closed = asked.picture(names), bool(hint) and asked.is_table
    said = pictures.answered_page(asked.question, asked.program, "" if asked.cases else shown(given), not hint,
                                  hint or asked.reason, drawn if closed else None)
    return Page(said if closed else join([said, drawn], "\n"))


def _plain(answer: Any) -> Any:
    """Return an answer as JSON keeps it. Raise NotYet if it is of another kind."""
    if answer is ... or isinstance(answer, bool | int | float | str):
        return answer
    if isinstance(answer, tuple | list):
        return [_plain(item) for item in answer]
    if hasattr(answer, "item") and getattr(answer, "ndim", 1) == 0:
        return answer.item()
    raise NotYet(f"an answer is a number, a text, True or False, or a tuple of these, not {type(answer).__name__}")


def _kind(answer: Any) -> str:
    """Return the kind of an answer in words."""
    if isinstance(answer, tuple | list):
        return f"{len(answer)} values in parentheses"
    return "True or False" if isinstance(answer, bool) else "a text" if isinstance(answer, str) else "a number"


def check(task: str, mine: Any, hidden: bool = False) -> Page:
    """Run a part on the lab's cases, and return one line if it is right. ``hidden`` adds the cases that graders run,
    which only a teacher's repository has. Raises NotYet if it is not right; the message names the first difference, and
    the mistake if it is a usual one.
    """
    lab = find(task, Lab)
    verdict = judge(task, lab, mine, masters.hidden(task) if hidden else ())
    record = Record()
    record.tries[task] = record.tries.get(task, 0) + (not hidden)
    if verdict.passed and task not in record.passed:
        record.passed.append(task)
    record.write()
    if verdict.passed:
        return Page(pictures.passed_page(str(verdict)))
    wrong = verdict.difference
    if wrong is not None and wrong.got is not None:
        _display(pictures.difference_page(wrong.expected, wrong.got, verdict.call))
    said = str(verdict)
    raise NotYet(said if verdict.mistake else f"{said} course.hint({task!r}) helps.")


def hint(task: str) -> Page:
    """Show the next hint to a lab and the earlier ones; they lead from a nudge to nearly all."""
    lab = find(task, Lab)
    record = Record()
    count = min(record.hints.get(task, 0) + 1, len(lab.hints))
    record.hints[task] = count
    record.write()
    return Page(pictures.hints_page(task, lab.hints[:count], len(lab.hints)))


def solution(task: str, key: str = "") -> Page:
    """Show a lab's solution, in a release with the teacher's key, and beside the masters once your own has passed.

    Raises:
        NotYet: otherwise.
    """
    find(task, Lab)
    record = Record()
    if key and task in record.sealed:
        text = unseal(record.sealed[task], f"{key} {task}")
        if text is None:
            raise NotYet("this is not the teacher's key")
        return Page(pictures.solution_page(task, text))
    if task not in record.passed:
        raise NotYet(f"the solution of {task!r} is shown when your own has passed: course.check({task!r}, mine). "
                     f"course.hint({task!r}) helps.")
    try:
        return Page(pictures.solution_page(task, masters.source(task)))
    except FileNotFoundError:
        raise NotYet("your own has passed; the lesson's needs the teacher's key: "
                     f"course.solution({task!r}, key)") from None


def progress() -> Page:
    """Show for each lesson which predictions were made, which puzzles solved and which labs passed."""
    record = Record()
    rows = []
    for lesson in all_lessons():
        predicted = [(record.predictions[task], row.answer) for row in lesson.predictions
                     if (task := f"{lesson.name}.{row.name}") in record.predictions]
        right = sum(difference(answer, given) is None for given, answer in predicted)
        labs = [(row.name, f"{lesson.name}.{row.name}") for row in lesson.labs]
        solved = sum(f"{lesson.name}.{row.name}" in record.solved for row in lesson.puzzles)
        rows.append((lesson.number, lesson.question, right, len(predicted), len(lesson.predictions),
                     f"{solved} of {len(lesson.puzzles)}" if lesson.puzzles else "",
                     [(name, task in record.passed, record.tries.get(task, 0)) for name, task in labs]))
    return Page(pictures.progress_page(rows))
