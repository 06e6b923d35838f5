"""The instructor's guide: a page for each lesson, made from the lessons and their notebooks."""
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from .compare import shown
from .recorded import recorded
from .tasks import Lesson, all_lessons

HOW = Path(__file__).with_suffix(".md").read_text("utf-8")  #: how to hold a session, with figures to fill in


def guide(masters: Path) -> str:
    """Return the guide as Markdown: how to hold a session, and for each lesson its parts with minutes, predictions,
    labs, usual mistakes, and the answer. Raises FileNotFoundError if a lesson's notebook is not in the folder.
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
        hints = dict.fromkeys(mistake.hint for mistake in recorded(f"{lesson.name}.{lab.name}").mistakes)
        lines += ["", f"**Lab `{lesson.name}.{lab.name}`**, {lab.points} points: {lab.question} Usual mistakes, and "
                  "the hint for each:", "", *(f"- {hint}" for hint in hints)]
    return "\n".join([*lines, "", answer, ""])


def _heading(text: str) -> str:
    """Return the heading of a cell, without its number."""
    return re.sub(r"^#+ (\d+\. )?", "", text.partition("\n")[0])


def _plain(answer: Any) -> str:
    return answer if isinstance(answer, str) else shown(answer)
