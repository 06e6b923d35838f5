"""What teachers call: ``python -m mindtorch course release|grade|slides|guide FOLDER``."""
from __future__ import annotations

from pathlib import Path
from typing import Any

from .guide import guide
from .slides import slides
from .teaching import MASTERS, grade, release, summary, write_grades


def command(options: Any) -> int:
    """Do what is asked for, and print what was written, or the students' points."""
    masters, folder = Path(options.masters or MASTERS), Path(options.folder)
    if options.action == "grade":
        grades = grade(masters, folder, options.seconds)
        write_grades(grades, Path(options.grades))
        print(summary(grades))
        return 0
    if options.action == "guide":
        folder.mkdir(parents=True, exist_ok=True)
        written = [folder / "guide.md"]
        written[0].write_text(guide(masters), "utf-8")
    elif options.action == "slides":
        written = slides(masters, folder, reveal=options.reveal)
    else:
        written = release(masters, folder, options.key)
    for path in written:
        print(path)
    return 0
