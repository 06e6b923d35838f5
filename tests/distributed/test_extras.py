"""Collectives with gradients, uneven inputs, hooks and pipelines; and what there is not."""
from __future__ import annotations

import functools

import pytest

import mindtorch.distributed as dist

from .running import checks, launch, needs_mpi, results

PROGRAM = "extras.py"


@functools.cache
def found():
    return results(launch(PROGRAM, 2), 2)


@needs_mpi
@pytest.mark.parametrize("check", checks(PROGRAM))
def test_on_both_ranks(check: str) -> None:
    assert found()[check] == [None] * 2, "\n".join(filter(None, found()[check]))


def test_remote_calls_are_left_out_for_a_reason() -> None:
    with pytest.raises(RuntimeError, match="there are no remote calls"):
        dist.rpc.init_rpc("worker")
