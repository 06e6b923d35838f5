"""Training programs that check judges: ``python -m tests.notebook.trainings`` runs all of them and prints the table.

A file holds programs under titles. ``=== title | words`` begins a silent bug, whose finding must have one of the words
(separated by ``|``) in its title; ``=== title`` begins a program without a mistake.
"""
from __future__ import annotations

import contextlib
import copy
import io
import linecache
import math
import re
import types
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mindtorch import introspect

FILES = sorted(Path(__file__).parent.glob("*.txt"))


@dataclass(frozen=True)
class Program:
    """A program, its family, and the words of which a finding's title must have one (none for a right program)."""

    family: str
    title: str
    words: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return f"{self.family}: {self.title}"


def programs() -> list[Program]:
    """Read all programs."""
    found = []
    for file in FILES:
        for part in re.split(r"^=== ", file.read_text(), flags=re.M)[1:]:
            head, _, text = part.partition("\n")
            title, *words = (word.strip() for word in head.split("|"))
            found.append(Program(file.stem, title, tuple(words), text))
    return found


def checked(program: str, lib: types.ModuleType, begin: str = "") -> introspect.CheckFacts:
    """Run a program as a cell is run, and return what is found."""
    space: dict[str, Any] = {"torch": lib, "nn": lib.nn, "F": lib.nn.functional, "optim": lib.optim, "copy": copy,
                             "math": math, "__name__": "__main__"}
    name = f"<silent {hash(program)}>"
    linecache.cache[name] = len(program), None, [f"{line}\n" for line in program.split("\n")], name
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        lib.manual_seed(0)
        exec(begin, space)
        try:
            with introspect.checking(space) as found:
                exec(compile(program, name, "exec"), space)
        finally:
            del linecache.cache[name]
    return found.facts


def verdict(program: Program, facts: introspect.CheckFacts) -> str:
    """Judge: ``cause``, ``symptom`` or ``missed`` of a bug; ``clean`` or ``alarmed`` of a right program."""
    if not program.words:
        return "alarmed" if facts.findings else "clean"
    if any(word in finding.title for word in program.words for finding in facts.findings):
        return "cause"
    return "symptom" if facts.findings else "missed"
