"""torch.distributed.checkpoint: a sharded model and its optimizer are saved, also in the background, and loaded."""
import os
import shutil
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.stateful import Stateful
from torch.distributed.fsdp import fully_shard

CHECKPOINT_DIR = os.path.join(tempfile.gettempdir(), f"checkpoint-{os.environ['MASTER_PORT']}")


class AppState(Stateful):
    def __init__(self, model, optimizer=None):
        self.model, self.optimizer = model, optimizer

    def state_dict(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optim": optimizer}

    def load_state_dict(self, state_dict):
        set_state_dict(self.model, self.optimizer, model_state_dict=state_dict["model"],
                       optim_state_dict=state_dict["optim"])


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(16, 16)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(16, 8)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def made(seed):
    torch.manual_seed(seed)
    model = fully_shard(ToyModel())
    return model, torch.optim.Adam(model.parameters(), lr=0.1)


def train(model, optimizer, steps):
    for step in range(steps):
        torch.manual_seed(step)
        optimizer.zero_grad()
        loss = model(torch.rand(8, 16)).square().sum()
        loss.backward()
        optimizer.step()
    return loss.item()


dist.init_process_group("gloo")
rank = dist.get_rank()
model, optimizer = made(0)
print(f"rank {rank} trained {train(model, optimizer, 3):.4f}")
dcp.save({"app": AppState(model, optimizer), "epoch": 3}, checkpoint_id=CHECKPOINT_DIR)
expected = train(model, optimizer, 2)
again, its = made(1)
state = {"app": AppState(again, its), "epoch": 0}
dcp.load(state, checkpoint_id=CHECKPOINT_DIR)
print(f"rank {rank} loaded {train(again, its, 2) == expected} epoch {state['epoch']}")
future, background = None, dist.new_group(backend="gloo")  # its collectives must not meet those of training
for step in range(2):
    if future is not None:
        future.result()
    future = dcp.async_save({"app": AppState(again, its)}, checkpoint_id=f"{CHECKPOINT_DIR}-{step}",
                            process_group=background)
    train(again, its, 1)
future.result()
writer = dcp.FileSystemWriter(f"{CHECKPOINT_DIR}-plain", single_file_per_rank=False)
dcp.save({"model": model.state_dict()}, storage_writer=writer)
dist.barrier()
files = sorted(os.listdir(CHECKPOINT_DIR))
metadata = dcp.FileSystemReader(CHECKPOINT_DIR).read_metadata()
print(f"rank {rank} files {files} keys {len(metadata.state_dict_metadata)} "
      f"size {tuple(metadata.state_dict_metadata['app.model.net1.weight'].size)}")
dist.barrier()
if rank == 0:
    dcp_to_torch_save(f"{CHECKPOINT_DIR}-plain", CHECKPOINT_DIR + ".pt")
    whole = torch.load(CHECKPOINT_DIR + ".pt", weights_only=False)
    print("whole", {name: tuple(tensor.shape) for name, tensor in whole["model"].items()},
          f"{whole['model']['net1.weight'].abs().sum():.4f}")
    torch_save_to_dcp(CHECKPOINT_DIR + ".pt", CHECKPOINT_DIR + "-back")
    os.remove(CHECKPOINT_DIR + ".pt")
    for end in ("", "-0", "-1", "-plain", "-back"):
        shutil.rmtree(CHECKPOINT_DIR + end)
dist.destroy_process_group()
