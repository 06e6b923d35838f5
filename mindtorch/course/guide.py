"""The instructor's guide: a page for each lesson, made from the lessons and their notebooks."""
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from .compare import shown
from .recorded import recorded
from .tasks import Lesson, all_lessons

HOW = """# The instructor's guide

{count} lessons of {shortest} to {longest} minutes. Readers need Python and what a matrix is; the lessons build on each
other, and each states which it needs. No PyTorch, no GPU and no network is needed.

**A session.** Let everybody commit a prediction (`course.predict`) before anybody runs the next cell: a committed
answer is what makes the picture interesting. Let two who disagree explain themselves to each other, and only then run
`course.explain`, which gives the right answer and the reason. Then comes the lab: ten minutes alone, hints as needed
(`course.hint`, three for each lab), then the check. The check names the mistake in most cases; the list of usual
mistakes below shows what to expect. Keep the last minutes for "The answer": close the notebook, and let somebody answer
the lesson's question without it.

**Before.** `python -m mindtorch course release FOLDER --key WORD` makes the students' notebooks. The release
has the solutions only in sealed form: `course.solution(task, WORD)` opens one. Short words can be guessed, so take a
long one. `python -m mindtorch course slides FOLDER` makes slides.

**After.** `python -m mindtorch course grade FOLDER` grades a folder that has a folder of notebooks for each student.
`--jobs 4` runs four notebooks at a time, `--lesson 7` grades one lesson, and `--resume` continues where an earlier run
stopped: each grade is in `grades.csv` as soon as it is known. At the end `feedback/` has a page for each student, and
`grades.md` a summary of the class: which mistake was made how often, and which predictions were wrong. There are
{points} points in all.

**What a submission can do.** Each notebook runs in a process of its own, with limits of time, memory and disk. Only the
outcomes of its functions leave that process. Your process compares them with the right ones, also in hidden cases whose
right outcomes only you have, so it is of no use to change the check or to claim to have passed. Where Linux allows user
namespaces the submission sees Python and the library and nothing else: no masters, no other student's files, no
network. Elsewhere it runs with your rights, the size of each file is the only limit of disk space, and `grade` warns
you: read submissions first, or grade in a container. Three things remain. A lab refuses the operators that would do its
work in one line (`scaled_dot_product_attention` in lesson 16), but code that sets out to deceive shares the process
with this refusal and can switch it off. A submission may get its values in any other way, such as by other operators of
the library: they are right values all the same. And namespaces are as strong as the kernel, and limit neither the
number of processes nor their memory together. Read a submission whose points surprise you. nbgrader's own `autograde`
is not safe in this way: it runs submissions with your rights, beside the masters.

**nbgrader.** `python -m mindtorch nbgrader ...` runs nbgrader's commands with the masters, even if its environment is
not activated.

**Mistakes of every lesson.** A cell was changed and not run again: its names are then the old ones. A function returns
nothing. A function prints the result instead of returning it. A function is right for the example, but not for empty,
negative or repeated values: the check shows the call that fails.
"""


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
