"""``torch._C._profiler``: where in a program something happened, as tools that log operators ask for it."""
from __future__ import annotations

import sys
import traceback
from typing import Any


def gather_traceback(python: bool = True, script: bool = False, cpp: bool = False) -> list[Any]:
    """Return the caller's frames, the innermost first, if ``python`` is set: there are no others."""
    return [*traceback.walk_stack(sys._getframe(1))] if python else []


def symbolize_tracebacks(to_symbolize: list[list[Any]]) -> list[list[dict[str, Any]]]:
    """Return the frames of each of these as dicts with ``name``, ``filename`` and ``line``."""
    return [[{"name": frame.f_code.co_name, "filename": frame.f_code.co_filename, "line": line}
             for frame, line in frames] for frames in to_symbolize]
