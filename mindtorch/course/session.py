"""A submission in a process of its own, as seen by the grader: cells are run there, and parts called.

Where Linux lets users make namespaces (``is_isolated``) the process sees the Python installation and the library, and
nothing else of the machine: no notebooks of teachers or other students, no recorded outcomes, no network. Elsewhere it
has the rights of whoever grades, and only limits of time, memory and the size of a file.
"""
from __future__ import annotations

import contextlib
import json
import os
import selectors
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from .checking import Case
from .forks import Forks
from .limits import Outcome
from .recorded import FOLDER, from_json
from .wire import encode

PACKAGE = Path(__file__).resolve().parents[1]
SYSTEM = ("/bin", "/lib", "/lib32", "/lib64", "/sbin", "/usr", "/etc/ld.so.cache", "/etc/localtime")
DISK = 256 << 20  #: bytes of all files that an isolated process may write
ANSWER = 64 << 20  #: bytes of an answer
KEPT = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "OMP_NUM_THREADS")  #: of the environment


class Ended(Exception):
    """The process ended, its time was up, or its answer made no sense."""


class Session:
    """A process for one notebook, which ends with the block.

    Args:
        seconds: for everything that is asked of it
        isolated: whether it is put into namespaces (OSError if the system has none), or runs in ``folder``, by default
            a temporary one, with the rights of this process
    """

    def __init__(self, seconds: float, isolated: bool, folder: Path | None = None):
        self.home = tempfile.TemporaryDirectory()
        told: dict[str, Any] = {"environment": _environment("/tmp" if isolated else self.home.name)}
        if isolated:
            told["prison"] = _prison(self.home.name)
        else:
            place = folder or Path(self.home.name) / "work"
            place.mkdir(exist_ok=True)
            told["folder"] = str(place)
        asked, self.requests = os.pipe()
        self.answers, answered = os.pipe()
        try:
            self.forks = _forks()
            self.process = self.forks.start(told, (asked, answered))
        except OSError:
            _forks.cache_clear()  # the next session starts another process
            self._close()
            raise Ended("the process could not be started") from None
        finally:
            os.close(asked)
            os.close(answered)
        self.deadline = time.monotonic() + seconds
        self.rest = b""

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        with contextlib.suppress(OSError):
            self.forks.end(self.process)
        self._close()

    def _close(self) -> None:
        for pipe in (self.requests, self.answers):
            os.close(pipe)
        with contextlib.suppress(OSError):
            self.home.cleanup()

    def run(self, source: str) -> dict[str, Any]:
        """Run a cell, and return ``passed``, ``printed`` and ``error`` as the process claims them. Raise Ended."""
        answer = self._ask({"run": source})
        return {"passed": answer.get("passed") is True, "printed": str(answer.get("printed", "")),
                "error": str(answer.get("error", ""))}

    def observe(self, task: str, case: Case) -> Outcome:
        """Run the submission's part on a case and return the outcome that the process claims, or raise Ended."""
        answer = self._ask({"task": task, "case": encode(case)})
        if "unwritten" in answer:
            return Outcome(failure=str(answer["unwritten"])[:200])
        try:
            return from_json(answer.get("outcome"))
        except (ValueError, TypeError, OverflowError, RecursionError, RuntimeError):
            raise Ended("the answer is not an outcome") from None

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        left = memoryview(json.dumps(request).encode() + b"\n")
        try:
            while left:
                left = left[os.write(self.requests, left):]
        except OSError:
            raise Ended("the process has ended") from None
        with selectors.DefaultSelector() as selector:
            selector.register(self.answers, selectors.EVENT_READ)
            while b"\n" not in self.rest:
                if not selector.select(max(0.0, self.deadline - time.monotonic())):
                    raise Ended("its time was up")
                chunk = os.read(self.answers, 1 << 20)
                self.rest += chunk
                if not chunk or len(self.rest) > ANSWER:
                    raise Ended("the process has ended")
        line, _, self.rest = self.rest.partition(b"\n")
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            raise Ended("the answer is not JSON") from None
        if not isinstance(answer, dict):
            raise Ended("the answer is not an answer")
        return answer


def _environment(home: str) -> dict[str, str]:
    """Return the environment of a process: little of this one's, which may hold secrets. It begins no process that
    compiles loops, which would outlive it.
    """
    return {name: os.environ[name] for name in KEPT if name in os.environ} | {
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), "/usr/bin", "/bin"]), "HOME": home,
        "IPYTHONDIR": f"{home}/ipython", "MPLCONFIGDIR": f"{home}/matplotlib", "MPLBACKEND": "Agg",
        "MINDTORCH_LOOPS": "kept", "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), *_sites()])}


@cache
def _forks() -> Forks:
    return Forks(_environment(""))


def _sites() -> list[str]:
    """Return the folders of installed packages, also those that Python finds by way of this user's home."""
    return [place for place in sys.path if os.path.basename(place) in ("site-packages", "dist-packages")]


def _prison(root: str) -> dict[str, Any]:
    """Return the parts of this machine that a process in namespaces sees."""
    python = {os.path.realpath(place) for place in (sys.prefix, sys.base_prefix, sys.exec_prefix)}
    shown: list[str] = []
    for place in sorted({*SYSTEM, sys.prefix, *python, *_sites(), str(PACKAGE)}, key=len):
        if os.path.exists(place) and not any(place.startswith(f"{other}/") for other in shown):
            shown.append(place)
    return {"root": root, "visible": shown, "hidden": [str(FOLDER)], "size": DISK}


@cache
def is_isolated() -> bool:
    """Return True if the system lets this user put processes into namespaces."""
    if not sys.platform.startswith("linux"):
        return False
    with contextlib.suppress(Ended), Session(60.0, isolated=True) as session:
        return session.run("")["passed"]
    return False
