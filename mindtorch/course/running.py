"""Notebooks run without Jupyter, each in a process of its own with limits: to grade it, and to test it.

``python -m mindtorch.course.running NOTEBOOK REPORT SECONDS`` runs the code cells of a notebook in IPython, and writes
a line of JSON for each into the report, so that what was run is known even if the process ends in the middle.
"""
from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import course
from .limits import limited

CELL = 60.0  #: seconds that a cell may take
MEMORY = 8 << 30  #: bytes of address space, and
FILE = 64 << 20  #: bytes of a file, that the process may have


@dataclass(frozen=True)
class CellReport:
    """What became of a code cell: its number in the notebook, its ``grade_id`` if it has one, whether it passed, what
    it printed, and the error's type and message, if there was one.
    """

    number: int
    grade_id: str
    passed: bool
    printed: str
    error: str


def run(notebook: Path, seconds: float = 120.0, before: str = "", folder: Path | None = None) -> list[CellReport]:
    """Run a notebook in a process of its own, ended with all that it started after so many seconds, in a folder that is
    empty and then gone, or in ``folder``. ``before`` is Python that runs first.

    What the notebook changes in its process and leaves in its folder is gone with these. It is no prison: the process
    has the rights of who starts it.
    """
    with tempfile.TemporaryDirectory() as home:
        report, first = Path(home) / "report", Path(home) / "before.py"
        first.write_text(before)
        place = folder or Path(home) / "work"
        place.mkdir(exist_ok=True)
        command = [sys.executable, "-m", __name__, str(notebook.resolve()), str(report), str(first)]
        package = str(Path(__file__).resolve().parents[2])
        environment = {**os.environ, "HOME": home, "IPYTHONDIR": home, "MPLBACKEND": "Agg",
                       "PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))}
        process = subprocess.Popen(command, cwd=place, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # what it started ends with it
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return _read(report)


def _read(report: Path) -> list[CellReport]:
    """The lines of a report that are whole."""
    found = []
    for line in report.read_text("utf-8", "replace").splitlines() if report.exists() else ():
        with contextlib.suppress(ValueError, TypeError):
            found.append(CellReport(**json.loads(line)))
    return found


def _limit() -> None:
    """Limit what the process may use, where the system knows such limits."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))


def main(notebook: str, report: str, before: str) -> None:
    """Run the cells of a notebook, and report."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    _limit()
    exec(compile(Path(before).read_text("utf-8"), before, "exec"), {"__name__": "before"})
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False},
                                                     "InteractiveShell": {"colors": "nocolor"}}))
    cells = json.loads(Path(notebook).read_text("utf-8"))["cells"]
    meant = {module: dict(vars(module)) for name, module in list(sys.modules.items())
             if name == course.__name__ or name.startswith(f"{course.__name__}.")}
    with open(report, "a", encoding="utf-8") as lines:
        for number, cell in enumerate(cells):
            if cell["cell_type"] != "code":
                continue
            facts = cell["metadata"].get("nbgrader", {})
            if facts.get("grade"):  # what a cell that is graded calls is what the teacher meant
                for module, names in meant.items():
                    vars(module).update(names)
                shell.user_ns["course"] = course
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                outcome = _run_cell(shell, "".join(cell["source"]))
            error = outcome if isinstance(outcome, BaseException) else (
                outcome.error_before_exec or outcome.error_in_exec)
            told = CellReport(number, facts.get("grade_id", ""), error is None, printed.getvalue()[-20_000:],
                              "" if error is None else f"{type(error).__name__}: {error}")
            lines.write(json.dumps(vars(told)) + "\n")
            lines.flush()


def _run_cell(shell: Any, source: str) -> Any:
    """The result of a cell, or what came through: an exit, or the end of its time."""
    try:
        with limited(CELL):
            return shell.run_cell(source)
    except BaseException as error:
        return error


if __name__ == "__main__":
    main(*sys.argv[1:])
