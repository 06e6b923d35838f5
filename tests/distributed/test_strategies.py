"""Models and tensors that are spread over four processes: what they compute, send and keep."""
from __future__ import annotations

import functools

import pytest

from .running import checks, launch, needs_mpi, results

PROGRAMS = ("strategies.py", "dtensors.py")


@functools.cache
def found(program: str):
    return results(launch(program))


@needs_mpi
@pytest.mark.parametrize(("program", "check"), [(program, check) for program in PROGRAMS for check in checks(program)])
def test_on_every_rank(program: str, check: str) -> None:
    errors = found(program)[check]
    assert errors == [None] * 4, "\n".join(filter(None, errors))
