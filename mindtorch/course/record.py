"""What a reader has predicted and passed, in a small file beside the notebook."""
from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

NAME = "course.json"


#: The records of folders that cannot be written to.
_unwritten: dict[Path, dict[str, Any]] = {}


class Record:
    """The file ``course.json`` of a folder: what was predicted, which labs were tried, helped with and passed.

    A file that cannot be read is put aside, under a name that ends in ``.unreadable``; where nothing can be written
    the record lives as long as the kernel. ``key`` is the hash of the teacher's key, which a release puts there.
    """

    def __init__(self, folder: Path | None = None):
        self.path = (folder or Path.cwd()) / NAME
        self.predictions: dict[str, Any] = {}
        self.tries: dict[str, int] = {}
        self.hints: dict[str, int] = {}
        self.passed: list[str] = []
        self.key = ""
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
        return {name: value for name, value in found.items() if name in ("predictions", "tries", "hints", "passed",
                                                                        "key")}

    def write(self) -> None:
        """Write the file, whole or not at all."""
        facts = {"predictions": self.predictions, "tries": self.tries, "hints": self.hints, "passed": self.passed,
                 "key": self.key}
        beside = self.path.with_suffix(".new")
        try:
            beside.write_text(json.dumps(facts, indent=1), "utf-8")
            os.replace(beside, self.path)
        except OSError as error:
            if self.path not in _unwritten:
                warnings.warn(f"progress is kept until the kernel ends: {self.path.name} cannot be written "
                              f"({error.strerror})", stacklevel=3)
            _unwritten[self.path] = facts
