"""Collectives in four processes: against NumPy's arithmetic, and against PyTorch's gloo."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .running import HERE, checks, launch, needs_mpi, results

PROGRAM = "against_numpy.py"


@pytest.fixture(scope="module")
def found():
    ended = launch(PROGRAM)
    assert ended.left == []
    return results(ended)


@needs_mpi
@pytest.mark.parametrize("check", checks(PROGRAM))
def test_on_every_rank(found, check: str) -> None:
    assert found[check] == [None] * 4, "\n".join(filter(None, found[check]))


def said(output: str) -> list[list]:
    return json.loads(next(line for line in output.splitlines() if line.startswith("FOUND ")).removeprefix("FOUND "))


@needs_mpi
def test_the_same_program_finds_the_same_on_gloo(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch, the reference of these tests, is not installed")
    ours = launch("against_gloo.py", LIBRARY="mindtorch")
    assert ours.status == 0, ours.output
    how = json.dumps({"init_method": f"file://{tmp_path / 'store'}"})
    shared = {**os.environ, "LIBRARY": "torch", "HOW": how, "WORLD_SIZE": "4"}
    theirs = [subprocess.Popen([sys.executable, str(HERE / "programs/against_gloo.py")], text=True,
                               stdout=subprocess.PIPE, env={**shared, "RANK": str(rank)}) for rank in range(4)]
    try:
        outputs = [process.communicate(timeout=120)[0] for process in theirs]
    finally:
        for process in theirs:
            process.kill()
    compared, refused = 0, set()
    for rank, (our, their) in enumerate(zip(said(ours.output), said(outputs[0]), strict=True)):
        assert len(our) == len(their)
        for index, (mine, reference) in enumerate(zip(our[1:], their[1:], strict=True)):
            assert mine == reference, (rank, index)
        for key, mine in our[0].items():
            reference = their[0].get(key) or our[0][key.replace("every second", "contiguous")]
            compared += not isinstance(reference, str)
            if not isinstance(reference, str):
                assert mine == reference, (rank, key)
            elif isinstance(mine, str):
                assert mine.partition(":")[0] == reference.partition(":")[0], (rank, key)
            else:
                refused.add(key.split(", ")[1])
    assert compared > 3500 and refused == {"torch.int16"}  # of which gloo knows nothing
