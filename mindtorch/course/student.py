"""The process in which a submission runs: it runs cells and calls parts, as the grader asks (``session``).

A line of JSON comes in, and one goes out. The submission shares this process, so it can answer in its place: whatever
comes out is a claim. The grader has the right values, this process has not, and points depend on their comparison.
"""
from __future__ import annotations

import contextlib
import io
import json
import os
from typing import Any

from .checking import unwritten
from .limits import limited
from .recorded import to_json
from .tasks import Lab, find
from .wire import decode

CELL = 60.0  #: seconds that a cell may take
MEMORY = 8 << 30  #: bytes of address space, and
FILE = 64 << 20  #: bytes of a file, that the process may have


def limit() -> None:
    """Limit the resources of this process, where the system has such limits."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))


def run(shell: Any, source: str) -> dict[str, Any]:
    """Run a cell, and report whether it passed, what it printed, and its error."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            with limited(CELL):
                result = shell.run_cell(source)
            error = result.error_before_exec or result.error_in_exec
        except BaseException as raised:  # an exit, or the end of its time
            error = raised
    return {"passed": error is None, "printed": printed.getvalue()[-20_000:],
            "error": "" if error is None else f"{type(error).__name__}: {error}"}


def observe(shell: Any, task: str, case: Any) -> dict[str, Any]:
    """Run the part that the submission has written for a lab on a case, and report the outcome."""
    lab = find(task, Lab)
    mine = shell.user_ns.get(lab.function)
    said = unwritten(mine)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return {"unwritten": said} if said else {"outcome": to_json(lab.observe(mine, decode(case)))}


def main() -> None:
    """Answer requests until there are no more."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    asked, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    for descriptor in (0, 1, 2):  # cells that read or print do not meet requests and answers
        os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
    limit()
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False},
                                                     "InteractiveShell": {"colors": "nocolor"}}))
    for line in asked:
        match json.loads(line):
            case {"run": source}:
                answer = run(shell, source)
            case {"task": task, "case": given}:
                answer = observe(shell, task, given)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
