"""Models and tensors that are spread over four processes: what they compute, send and keep."""
from __future__ import annotations

import functools

import pytest

from .running import checks, launch, needs_mpi, results

PROGRAMS = ("strategies.py", "dtensors.py")


@functools.cache
def found(program: str):
    """Return what a program's ranks report, or the error: a program that hangs is not run for each check."""
    try:
        return results(launch(program))
    except Exception as error:
        return error


@needs_mpi
@pytest.mark.parametrize(("program", "check"), [(program, check) for program in PROGRAMS for check in checks(program)])
def test_on_every_rank(program: str, check: str) -> None:
    reports = found(program)
    if isinstance(reports, Exception):
        raise reports
    errors = reports[check]
    assert errors == [None] * 4, "\n".join(filter(None, errors))
