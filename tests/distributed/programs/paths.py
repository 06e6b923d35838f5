"""Rank 1 comes to grief within one of the longer paths; the other rank waits for it there."""
import itertools
import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed._collectives import operations
from torch.distributed.fsdp import fully_shard
from torch.distributed.fsdp._fully_shard import _fsdp_param_group
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

path, fault, folder, timeout = sys.argv[1:]
attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
culprit = os.environ["RANK"] == "1"


def grief() -> None:
    print(f"GRIEF {time.time()}", flush=True)
    if fault == "SIGKILL":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "raise":
        raise ArithmeticError("not today")
    time.sleep(120)


def within(owner: object, name: str, at: int = 1) -> None:
    """Let rank 1 come to grief in a call of a function. Other ranks have no wrapper, whose line errors would name."""
    if not culprit:
        return
    function, calls = getattr(owner, name), itertools.count(1)

    def called(*args, **kwargs):
        if next(calls) == at:
            grief()
        return function(*args, **kwargs)

    setattr(owner, name, called)


def state(number: float) -> dict:
    mesh = dist.device_mesh.init_device_mesh("cpu", (2,))
    return {"a": distribute_tensor(torch.full((4, 2), number), mesh, [Shard(0)]), "step": number}


def redistribution() -> None:
    divided = state(1.0)["a"]
    within(operations, "all_gather_into_tensor")
    divided.redistribute(placements=[Replicate()])  # here


def gather() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    for layer in net:
        fully_shard(layer, reshard_after_forward=True)
    within(_fsdp_param_group, "all_gather_into_tensor", at=2)
    net(torch.ones(2, 4))  # here


def backward() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    for layer in net:
        fully_shard(layer, reshard_after_forward=True)
    within(_fsdp_param_group, "reduce_scatter_tensor")
    net(torch.ones(2, 4)).sum().backward()  # here


def save() -> None:
    dcp.save(state(1.0), checkpoint_id=folder)
    within(dcp.FileSystemWriter, "write_data")
    dcp.save(state(2.0), checkpoint_id=folder)  # here


def async_save() -> None:
    dcp.save(state(1.0), checkpoint_id=folder)
    within(dcp.FileSystemWriter, "write_data")
    dcp.async_save(state(2.0), checkpoint_id=folder).result()  # here


def pipeline() -> None:
    stage = PipelineStage(torch.nn.Linear(4, 4), dist.get_rank(), 2)
    within(PipelineStage, "backward", at=2)
    schedule = Schedule1F1B(stage, 4, torch.nn.functional.mse_loss)
    batch = torch.ones(8, 4)
    schedule.step(batch, target=batch) if stage.is_last else schedule.step(batch)  # here


def restart() -> None:
    """Come to grief in a step, and again when the ranks meet anew; the third attempt goes on from the checkpoint."""
    found = state(0.0)
    if attempt == 0:
        dcp.save(state(1.0), checkpoint_id=folder)
        within(operations, "all_gather_into_tensor")
    else:
        dcp.load(found, checkpoint_id=folder)
    if attempt == 1 and culprit:
        grief()
    found["a"].redistribute(placements=[Replicate()])  # here
    print(f"GOES ON from {found['step']} in attempt {attempt}", flush=True)


dist.init_process_group("gloo", timeout=timedelta(seconds=int(timeout) if fault == "hang" else 60))
globals()[path]()
