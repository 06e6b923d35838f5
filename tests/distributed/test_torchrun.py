"""Programs written for ``torchrun``, a sample; ``python -m tests.distributed.torchrun`` runs all of them."""
from __future__ import annotations

import pytest

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
