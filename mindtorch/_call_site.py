"""Where in the user's code a call comes from."""
from __future__ import annotations

import os
import sys

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def call_site() -> tuple[str, int, str]:
    """File, line and function of the innermost frame outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name


def outside() -> int:
    """The ``stacklevel`` with which a warning of the calling function names the line outside this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    return level
