"""Strategies of parallelism against one process, a sample; ``python -m tests.distributed.matrix`` compares all."""
from __future__ import annotations

from pathlib import Path

from .matrix import LIMIT, OPTIMIZERS, differences, trained
from .running import needs_mpi


@needs_mpi
def test_sharded_training_is_that_of_one_process(tmp_path: Path) -> None:
    chosen = ("one process", "fully_shard", "tensor parallel", "both")
    found = trained(tmp_path, 2, ["tied gpt"], chosen, steps=2, seconds=200)
    worst = differences(found, found)
    assert len(worst) == len(chosen) * len(OPTIMIZERS)
    assert all(isinstance(value, float) and value <= LIMIT for value in worst.values()), worst
