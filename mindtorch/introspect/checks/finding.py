"""Findings of checks: silent mistakes, each with its cause, its place in the program, a picture and cures."""
from __future__ import annotations

import linecache
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..._base.call_site import PACKAGE
from ..why.explanation import Call, Fix, Picture


@dataclass(frozen=True)
class Finding:
    """A mistake that raises nothing: its rule's name (``kind``), the line to blame; it holds no tensor."""

    kind: str
    title: str
    cause: str
    fixes: tuple[Fix, ...]
    pictures: tuple[Picture, ...] = ()
    place: Call | None = None


@dataclass(frozen=True)
class CheckFacts:
    """The things that were ``checked``, in words, and the findings, each once."""

    checked: tuple[str, ...]
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        lines = [f"checked {', '.join(self.checked) or 'nothing'}: "
                 f"{len(self.findings) or 'no'} finding{'s' * (len(self.findings) != 1)}"]
        for finding in self.findings:
            where = f" (line {finding.place.line})" if finding.place else ""
            lines += [f"- {finding.title}{where}", f"  {finding.cause}"]
            lines += [f"    {fix.text}{f':  {fix.code}' if fix.code else ''}" for fix in finding.fixes]
        return "\n".join(lines)

    __repr__ = __str__


def line_of(file: str, line: int, function: str = "", operator: str = "") -> Call:
    """Describe a line of the program."""
    return Call(operator, file, line, function, linecache.getline(file, line).strip())


def called_at(lines: Sequence[str]) -> Call | None:
    """Find the program's line in a formatted traceback, as anomaly mode stores it in nodes."""
    for text in reversed(lines):
        found = re.search(r'File "(.+)", line (\d+), in (.+)', text)
        if found and not found[1].startswith(PACKAGE) and "/site-packages/torch/" not in found[1]:
            return line_of(found[1], int(found[2]), found[3])
    return None


def numbers(values: Sequence[Any], most: int = 6) -> str:
    """List the first few of many values."""
    shown = ", ".join(map(str, values[:most]))
    return f"{shown} and {len(values) - most} more" if len(values) > most else shown
