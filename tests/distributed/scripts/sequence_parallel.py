"""Sequence parallelism: activations between the layers are divided along the sequence."""
import os

import torch
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import (
    ColwiseParallel, PrepareModuleInput, PrepareModuleOutput, RowwiseParallel, SequenceParallel, parallelize_module,
)


class Block(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.in_proj = nn.Linear(dim, 4 * dim)
        self.relu = nn.ReLU()
        self.out_proj = nn.Linear(4 * dim, dim)
        self.drop = nn.Dropout(0.0)

    def forward(self, x):
        return x + self.drop(self.out_proj(self.relu(self.in_proj(self.norm(x)))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.blocks(x))


mesh = init_device_mesh("cpu", (int(os.environ["WORLD_SIZE"]),))
rank = mesh.get_rank()
torch.manual_seed(0)
model = Model()
for block in model.blocks:
    parallelize_module(block, mesh, {
        "norm": SequenceParallel(use_local_output=False),
        "in_proj": ColwiseParallel(input_layouts=Shard(1)),
        "out_proj": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
        "drop": SequenceParallel(use_local_output=False)})
parallelize_module(model, mesh, {
    "blocks": PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Shard(1)),
    "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())})
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, foreach=False)
for step in range(4):
    torch.manual_seed(step)
    comm_mode = CommDebugMode()
    with comm_mode:
        loss = model(torch.randn(2, 8, 16)).square().mean()
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    counts = sorted((str(op), n) for op, n in comm_mode.get_comm_counts().items() if n)
    print(f"rank {rank} step {step} loss {loss.item():.5f} calls {sum(n for _, n in counts) > 0}")
weight = model.blocks[0].norm.weight
print(f"rank {rank} norm {weight.full_tensor().sum():.5f} {weight.placements}")
local = parallelize_module(nn.Sequential(nn.Linear(16, 4)), mesh, PrepareModuleOutput(
    output_layouts=Shard(0), desired_output_layouts=Replicate()))
print(f"rank {rank} gathered {tuple(local(torch.ones(2, 16)).shape)}")
torch.distributed.destroy_process_group()
