"""The instructor's guide: a page for each lesson, from what the lessons and their notebooks say themselves."""
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from .compare import shown
from .tasks import Lab, Lesson, all_lessons

HOW = """# The instructor's guide

{count} lessons of {shortest} to {longest} minutes. Readers need Python and what a matrix is; the lessons build on
each other, and each says which it needs. No PyTorch, no GPU and no network is needed.

**A session.** Have everybody commit a prediction before anybody runs the next cell: the answer that one has given is
what makes the picture interesting. Let two who disagree explain themselves to each other; the reason that the course
gives comes after that. Then the lab: ten minutes alone, hints as needed (`course.hint`, three to each lab), then the
check. What the check says names the mistake in most cases; the list of usual mistakes below says what to expect. Keep
the last minutes for "The answer": close the notebook, and have somebody answer the lesson's question without it.

**Before.** `python -m mindtorch course release FOLDER --key WORD` makes the students' notebooks; with the word,
`course.solution(task, WORD)` shows a solution. `python -m mindtorch course slides FOLDER` makes slides.

**After.** `python -m mindtorch course grade FOLDER` grades a folder with one of notebooks for each student, each in a
process of its own with a limit of time, so that no submission can harm another's grade. {points} points can be had.

**Mistakes of every lesson.** A part is written and the cell above it not run: the names are then those of before. A
part returns nothing. A part prints where it should return. A part is right for the example and not for the empty, the
negative, the repeated: the check shows the call that fails.
"""


def guide(masters: Path) -> str:
    """The guide as Markdown: how to hold a session, and for each lesson its parts with minutes, predictions, labs,
    usual mistakes, and the answer.

    Raises:
        FileNotFoundError: if a lesson's notebook is not in the folder.
    """
    lessons = all_lessons()
    minutes = [lesson.minutes for lesson in lessons]
    head = HOW.format(count=len(lessons), shortest=min(minutes), longest=max(minutes),
                      points=sum(lab.points for lesson in lessons for lab in lesson.labs))
    return "\n".join([head, *(_page(lesson, masters) for lesson in lessons)])


def _page(lesson: Lesson, masters: Path) -> str:
    cells = json.loads((masters / f"{lesson.notebook}.ipynb").read_text("utf-8"))["cells"]
    texts = [("".join(cell["source"]), cell["metadata"]) for cell in cells if cell["cell_type"] == "markdown"]
    whole = "\n\n".join(text for text, _ in texts)
    needs = re.search(r"^You need (.+)$", whole, re.MULTILINE)
    answer = whole.partition("## The answer\n\n")[2].partition("\n\nNext: ")[0]
    lines = [f"## {lesson.number}. {lesson.question}", "",
             f"`{lesson.notebook}.ipynb`, {lesson.minutes} minutes. "
             f"{f'Readers need {needs[1]}' if needs else ''}".strip(), "", "| part | minutes |", "|---|---|"]
    lines += [f"| {_heading(text)} | {facts['course']['minutes']} |" for text, facts in texts if "course" in facts]
    lines += ["", "**Predictions**", ""]
    lines += [f"- {row.question} *{_plain(row.answer)}.* {row.reason}" for row in lesson.predictions]
    for lab in lesson.labs:
        lines += ["", f"**Lab `{lesson.name}.{lab.name}`**, {lab.points} points: {lab.question} Usual mistakes, and "
                  "what the check says to them:", "", *(f"- {hint}" for hint in _hints(lab))]
    return "\n".join([*lines, "", answer, ""])


def _heading(text: str) -> str:
    """The heading of a cell, without its number."""
    return re.sub(r"^#+ (\d+\. )?", "", text.partition("\n")[0])


def _plain(answer: Any) -> str:
    return answer if isinstance(answer, str) else shown(answer)


def _hints(lab: Lab) -> list[str]:
    """What is said to mistakes, each once."""
    return list(dict.fromkeys(mistake.hint for mistake in lab.mistakes))
