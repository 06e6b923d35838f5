"""DistributedDataParallel in two and in four processes."""
from __future__ import annotations

import pytest

from .running import checks, launch, needs_mpi, results

PROGRAM = "data_parallel.py"


@pytest.fixture(scope="module", params=[2, 4])
def found(request):
    return request.param, results(launch(PROGRAM, ranks=request.param), request.param)


@needs_mpi
@pytest.mark.parametrize("check", checks(PROGRAM))
def test_on_every_rank(found, check: str) -> None:
    ranks, said = found
    assert said[check] == [None] * ranks, "\n".join(filter(None, said[check]))
