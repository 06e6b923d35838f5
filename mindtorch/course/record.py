"""The record of a reader's predictions, solved puzzles and passed labs, in a small file beside the notebook."""
from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

NAME = "course.json"
NAMES = ("predictions", "solved", "tries", "hints", "passed", "sealed")

#: The records of folders that cannot be written to.
_unwritten: dict[Path, dict[str, Any]] = {}


class Record:
    """The file ``course.json`` of a folder: predictions, solved puzzles, and of labs the tries, the hints shown, and
    those passed.

    A file that cannot be read is put aside, under a name that ends in ``.unreadable``; if nothing can be written, the
    record lives as long as the kernel. ``sealed`` has the labs' solutions under the teacher's key, from a release.
    """

    def __init__(self, folder: Path | None = None):
        self.path = (folder or Path.cwd()) / NAME
        self.predictions: dict[str, Any] = {}
        self.solved: list[str] = []
        self.tries: dict[str, int] = {}
        self.hints: dict[str, int] = {}
        self.passed: list[str] = []
        self.sealed: dict[str, str] = {}
        found = _unwritten.get(self.path) or self._read()
        for name, value in found.items():
            if type(value) is type(getattr(self, name, None)):
                setattr(self, name, value)

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self.path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            found = None
        if not isinstance(found, dict):
            aside = self.path.with_suffix(".unreadable")
            warnings.warn(f"{self.path.name} is not a record of the course; it is now {aside.name}", stacklevel=4)
            os.replace(self.path, aside)
            return {}
        return {name: value for name, value in found.items() if name in NAMES}

    def write(self) -> None:
        """Add to the file, whole or not at all: another notebook of the folder may have written to it meanwhile."""
        facts = {name: getattr(self, name) for name in NAMES}
        beside = self.path.with_suffix(f".{os.getpid()}")
        try:
            with _one_at_a_time(self.path.parent):
                found = self._read()
                facts = {name: _merged(found.get(name), value) for name, value in facts.items()}
                beside.write_text(json.dumps(facts, indent=1), "utf-8")
                os.replace(beside, self.path)
        except OSError as error:
            if self.path not in _unwritten:
                warnings.warn(f"progress is kept until the kernel ends: {self.path.name} cannot be written "
                              f"({error.strerror})", stacklevel=3)
            _unwritten[self.path] = facts


def _merged(found: Any, own: Any) -> Any:
    """Return what a file and a record hold under one name; of the same key, what the record holds."""
    if type(found) is not type(own):
        return own
    return {**found, **own} if isinstance(own, dict) else [*dict.fromkeys([*found, *own])]


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Let one process at a time into a block for this folder, where the system has such locks."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
