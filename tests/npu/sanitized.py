"""What the tests of the sanitizer share: the one report that there is, or that there is none."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

from mindtorch._backends.npu import simulator

from .program import got, rt


def found(kind: str, operator: str, words: str = "") -> None:
    """There is this one report and no other."""
    reports = simulator.reports()
    assert [(report.kind, report.operator) for report in reports] == [(kind, operator)], [
        str(report) for report in reports
    ]
    assert kind in simulator.KINDS
    assert words in reports[0].message
    assert Path(reports[0].site.rpartition(":")[0]).parent == Path(__file__).parent  # the program's own lines are here


def clean() -> None:
    assert [str(report) for report in simulator.check()] == []


def line_of(function: Callable[..., object], text: str) -> int:
    """The number of the line of a function that has this text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def two_streams() -> tuple[int, int, int]:
    return got(rt.create_stream()), got(rt.create_stream()), got(rt.create_event())
