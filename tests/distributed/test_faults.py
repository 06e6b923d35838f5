"""What happens when one rank of four does something wrong: an error in every other, and nothing is left."""
from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from .running import launch, needs_mpi

#: What rank 1 does; and what the others say.
FAULTS = {
    "killed": "rank 1 was killed, or ended without a word",
    "exits": "rank 1 exited with 3",
    "ends": "waits in vain: rank 1 has ended its program without this call",
    "late": "timed out after 5 s: rank 1 did not make this call",
    "late at the start": "init_process_group at",
    "raises in backward": "rank 1 raised ArithmeticError: no gradient today, at",
    "another call": "rank 1: broadcast(float32[2], root 0) at",
}


def files() -> set[str]:
    folders = [Path(tempfile.gettempdir()), Path("/dev/shm")]
    return {str(path) for folder in folders if folder.exists() for path in folder.iterdir()
            if path.owner() == os.environ.get("USER", "root") and "mpi" in path.name.lower()}


@needs_mpi
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_one_rank_is_an_error_in_all(fault: str) -> None:
    before = files()
    ended = launch("faults.py", arguments=[fault], seconds=60)
    assert ended.status == 1, ended.output
    told = [line for line in ended.output.splitlines() if FAULTS[fault] in line and not line.startswith("launch: ")]
    assert len(told) >= 3, ended.output
    if fault != "late at the start":
        assert ended.output.count("faults.py:") >= 3, ended.output  # the lines of the calls
    assert ended.left == [] and files() <= before


@needs_mpi
def test_a_rank_that_does_not_come_back_is_ended() -> None:
    ended = launch("faults.py", arguments=["does not come back"], seconds=60)
    assert ended.status == 1 and "rank 1 did not end by itself, and is ended" in ended.output
    assert ended.left == []


@needs_mpi
def test_a_launcher_that_is_ended_ends_its_ranks() -> None:
    before = files()
    ended = launch("faults.py", arguments=["the launcher is ended"], seconds=60)
    assert ended.status != 0 and "the launcher is told to end" in ended.output
    assert ended.left == [] and files() <= before


@needs_mpi
def test_messages_that_do_not_match() -> None:
    ended = launch("faults.py", arguments=["received by nobody"], seconds=60)
    assert ended.status == 1 and "sends float32[2] at" in ended.output, ended.output
    assert ended.left == []
