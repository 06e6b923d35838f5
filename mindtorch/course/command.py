"""The teachers' commands: ``python -m mindtorch course release|grade|slides|guide``, and ``nbgrader``."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from time import monotonic
from typing import Any

from .._base.files import replace_text
from .feedback import points, predictions, summary, write_class, write_feedback
from .grading import Table, grade
from .guide import guide
from .masters import MASTERS
from .session import is_isolated
from .slides import slides
from .teaching import release

NEEDED = ("nbgrader", "nbconvert", "nbformat")  #: what teachers' commands use; readers do without
EVERY = 5.0  #: seconds after which the page of the class is written anew
WARNING = """Warning: this system does not let processes be isolated (Linux with unprivileged user namespaces does).
Submissions run with your rights: they can read and change your files and other submissions. Read them first, or grade
in a container."""


def command(options: Any) -> int:
    """Run a command, print which files were written or the students' points, and return the exit status."""
    masters, folder = Path(options.masters or MASTERS), Path(options.folder)
    try:
        if options.action == "grade":
            return grade_class(masters, folder, options)
        written = write(options, masters, folder)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in NEEDED:
            raise
        print(f"mindtorch course {options.action} needs nbgrader: pip install nbgrader", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"mindtorch course {options.action}: {error}", file=sys.stderr)
        return 1
    for path in written:
        print(path)
    return 0


def write(options: Any, masters: Path, folder: Path) -> list[Path]:
    """Write the guide, the slides or the release, and return its files."""
    if options.action == "guide":
        folder.mkdir(parents=True, exist_ok=True)
        replace_text(folder / "guide.md", guide(masters))
        return [folder / "guide.md"]
    if options.action == "slides":
        return slides(masters, folder, reveal=options.reveal)
    return release(masters, folder, options.key)


def grade_class(masters: Path, submissions: Path, options: Any) -> int:
    """Grade a class: a table and a page that grow as grades come, and a page for each student at the end."""
    isolated = is_isolated()
    if not isolated:
        print(WARNING, file=sys.stderr)
    table = Table(Path(options.grades), options.resume)
    page, answers, written = table.path.with_suffix(".html"), predictions(submissions), -EVERY
    try:
        for grades in grade(masters, submissions, isolated=isolated, seconds=options.seconds, jobs=options.jobs,
                            lesson=options.lesson, done=table.done):
            table.add(grades)
            print(f"{grades[0].student}, {grades[0].notebook}: {points(grades)}", file=sys.stderr)
            if monotonic() - written > EVERY:
                write_class(table.grades, answers, page)
                written = monotonic()
    finally:
        table.write()
    write_feedback(table.grades, Path(options.feedback))
    write_class(table.grades, answers, page)
    print(summary(table.grades))
    return 0


def nbgrader(arguments: list[str]) -> int:
    """Run nbgrader with this Python's programs on the path, since it calls ``alembic`` by name."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return subprocess.call([sys.executable, "-m", "nbgrader", *arguments], env={**os.environ, "PATH": path})
