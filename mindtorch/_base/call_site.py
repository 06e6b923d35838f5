"""The place in the user's code that a call comes from, and warnings that are issued once in a process."""
from __future__ import annotations

import linecache
import os
import re
import sys
import warnings
from typing import ClassVar

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def call_site() -> tuple[str, int, str]:
    """Return file, line and function of the innermost frame outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name


def cell_of(file: str) -> int | None:
    """Return the number of the notebook's cell that IPython compiled under this file's name; None for other files."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    label = None if shell is None else shell.compile.format_code_name(file)  # ("Cell", "In[3]")
    return None if label is None else int(label[1][3:-1])


def place_of(file: str, line: int) -> str:
    """Describe a line's place: ``cell 3, line 10`` of a notebook, ``/folder/script.py:10`` elsewhere."""
    cell = cell_of(file)
    return f"{file}:{line}" if cell is None else f"cell {cell}, line {line}"


def line_at(place: str) -> tuple[str, int] | None:
    """Return the file and line that ``place_of`` described; None for a cell that is gone."""
    if found := re.fullmatch(r"cell (\d+), line (\d+)", place):
        files = (name for name in [*linecache.cache][::-1] if cell_of(name) == int(found[1]))
        return next(((name, int(found[2])) for name in files), None)
    file, _, line = place.rpartition(":")
    return (file, int(line)) if line.isdigit() else None


def outside() -> int:
    """Return the ``stacklevel`` with which the calling function warns about the line outside this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


class Told:
    """The warnings issued so far, and whether to repeat them (``torch.set_warn_always``)."""

    always = False
    once: ClassVar[set[str]] = set()


def warn_once(message: str, category: type[Warning] = UserWarning, *, about: str | None = None,
              always: bool = False) -> None:
    """Warn about the user's line, unless these words, or ``about``, were used in an earlier warning."""
    if always or Told.always or (about or message) not in Told.once:
        Told.once.add(about or message)
        warnings.warn(message, category, stacklevel=outside())
