"""Models that are spread over four processes: what they compute, send and keep."""
from __future__ import annotations

import pytest

from .running import checks, launch, needs_mpi, results

PROGRAM = "strategies.py"


@pytest.fixture(scope="module")
def found():
    return results(launch(PROGRAM))


@needs_mpi
@pytest.mark.parametrize("check", checks(PROGRAM))
def test_on_every_rank(found, check: str) -> None:
    assert found[check] == [None] * 4, "\n".join(filter(None, found[check]))
