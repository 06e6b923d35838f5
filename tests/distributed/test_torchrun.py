"""Programs written for ``torchrun``, a sample; ``python -m tests.distributed.torchrun`` runs all of them."""
from __future__ import annotations

import argparse
import signal

import pytest

from mindtorch import distributed
from mindtorch._run import launch

from .running import needs_mpi
from .torchrun import agree, disagreements, run


@needs_mpi
def test_a_script_prints_what_it_prints_on_pytorch() -> None:
    pytest.importorskip("torch", reason="PyTorch, the reference of these tests, is not installed")
    theirs, ours = run("join", "torch"), run("join", "mindtorch")
    assert (theirs.status, ours.status) == (0, 0), theirs.errors + ours.errors
    assert len(theirs.lines) == 8 and disagreements(ours, theirs) == []


def test_lines_agree_to_the_last_place() -> None:
    assert agree("loss 0.1234, 5 steps", "loss 0.1235, 5 steps") and agree("1.2e-05", "1.3e-05")
    assert not agree("loss 0.1234, 5 steps", "loss 0.1236, 5 steps")
    assert not agree("loss 0.1234, 5 steps", "loss 0.1234, 6 steps")


@pytest.mark.parametrize(("statuses", "runs"), [
    ([0], 1), ([1, 0], 2), ([1, 1, 1], 3), ([128 + signal.SIGINT], 1), ([1, 128 + signal.SIGTERM], 2),
    ([128 + signal.SIGKILL, 0], 2)])
def test_a_program_is_run_again_if_it_fails_and_not_if_it_is_told_to_end(statuses, runs, monkeypatch) -> None:
    ended = iter(statuses)
    monkeypatch.setattr(launch, "launch", lambda *arguments: next(ended))
    options = argparse.Namespace(module=False, script="x.py", arguments=[], max_restarts=2, nodes=1, count=1,
                                 label=False, master_addr="localhost", master_port=1)
    assert launch.launch_as_told(options) == statuses[-1] and len(statuses) - len([*ended]) == runs


def test_every_name_that_the_package_lists_is_there() -> None:
    assert len(dir(distributed)) > 50 and all(hasattr(distributed, name) for name in dir(distributed))
