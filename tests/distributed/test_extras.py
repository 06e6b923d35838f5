"""Collectives with gradients, uneven inputs, hooks and pipelines; and what there is not."""
from __future__ import annotations

import functools

import pytest

import mindtorch as torch
import mindtorch.distributed as dist
from mindtorch.distributed.pipelining import SplitPoint, pipeline

from .running import checks, launch, needs_mpi, results

PROGRAM = "extras.py"


@functools.cache
def found():
    return results(launch(PROGRAM, 2), 2)


@needs_mpi
@pytest.mark.parametrize("check", checks(PROGRAM))
def test_on_both_ranks(check: str) -> None:
    assert found()[check] == [None] * 2, "\n".join(filter(None, found()[check]))


def test_a_model_that_is_divided_keeps_its_buffers_and_the_random_numbers() -> None:
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Dropout(), torch.nn.Linear(2, 1))
    state = torch.get_rng_state()
    pipe = pipeline(model, (torch.arange(8.).view(4, 2),), split_spec={"2": SplitPoint.BEGINNING})
    assert pipe.num_stages == 2 and model[0].running_mean.tolist() == [0, 0] and model[0].num_batches_tracked == 0
    assert torch.equal(torch.get_rng_state(), state)


def test_remote_calls_are_left_out_for_a_reason() -> None:
    with pytest.raises(RuntimeError, match="there are no remote calls"):
        dist.rpc.init_rpc("worker")
