"""What happens when one rank of three does something wrong: an error in every other, and nothing is left."""
from __future__ import annotations

import signal

import pytest

from .faults import files, left_since, tried
from .running import launch, needs_mpi

#: What rank 1 does; and what the others say.
FAULTS = {
    "killed": "rank 1 was killed, or ended without a word",
    "no shared memory": "rank 1 was killed, or ended without a word",
    "exits": "rank 1 exited with 3",
    "ends": "waits in vain: rank 1 has ended its program without this call",
    "late": "timed out after 5 s: rank 1 did not make this call",
    "late at the start": "init_process_group at",
    "raises in backward": "rank 1 raised ArithmeticError: no gradient today, at",
    "another call": "rank 1: broadcast(float32[2], root 0) at",
}


@needs_mpi
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_one_rank_is_an_error_in_all(fault: str) -> None:
    before = files()
    ended = launch("faults.py", 3, arguments=[fault], seconds=60)
    assert ended.status == 1, ended.output
    told = [line for line in ended.output.splitlines() if FAULTS[fault] in line and not line.startswith("launch: ")]
    assert len(told) >= 2, ended.output
    if fault != "late at the start":
        assert ended.output.count("faults.py:") >= 2, ended.output  # the lines of the calls
    told_apart = "rank 1 was ended by SIGBUS, as one is that writes to shared memory" in ended.output
    assert told_apart == (fault == "no shared memory"), ended.output
    assert ended.left == [] and left_since(before) == []


@needs_mpi
def test_a_rank_that_does_not_come_back_is_ended() -> None:
    ended = launch("faults.py", 3, arguments=["does not come back"], seconds=60)
    assert ended.status == 1 and "rank 1 did not end by itself, and is ended" in ended.output
    assert ended.left == []


@needs_mpi
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_launcher_that_is_told_to_end_ends_its_ranks(name: str) -> None:
    before = files()
    ended = launch("faults.py", 3, arguments=["to the launcher", name], seconds=60)
    assert ended.status == 128 + signal.Signals[name], ended.output
    assert ended.output.splitlines()[-1] == f"launch: was told to end by {name}, and ends its ranks"
    assert ended.left == [] and left_since(before) == []


@needs_mpi
def test_ranks_whose_launcher_is_killed_end_and_leave_no_files() -> None:
    before = files()
    ended = launch("faults.py", 3, arguments=["to the launcher", "SIGKILL"], seconds=60)
    assert ended.status == -signal.SIGKILL and "cannot be completed: the launcher is gone" in ended.output
    assert ended.left == [] and left_since(before) == []


@needs_mpi
def test_messages_that_do_not_match() -> None:
    ended = launch("faults.py", 3, arguments=["received by nobody"], seconds=60)
    assert ended.status == 1 and "sends float32[2] at" in ended.output, ended.output
    assert ended.left == []


@needs_mpi
@pytest.mark.parametrize(("path", "fault"), [
    ("redistribution", "SIGKILL"), ("backward", "raise"), ("save", "SIGKILL"), ("async_save", "raise"),
    ("pipeline", "SIGKILL"), ("restart", "SIGKILL")])
def test_a_fault_on_a_longer_path_names_rank_and_line_and_leaves_nothing(path: str, fault: str, tmp_path) -> None:
    found = tried(path, fault, tmp_path / "checkpoint")
    assert found.wrong == [], found.output
