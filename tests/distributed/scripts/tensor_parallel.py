"""Tensor parallelism of a two-layer network, by parallelize_module and by distribute_module."""
import os

import torch
import torch.nn as nn
from torch.distributed import destroy_process_group
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_module, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.in_proj = nn.Linear(10, 32)
        self.relu = nn.ReLU()
        self.out_proj = nn.Linear(32, 5)

    def forward(self, x):
        return self.out_proj(self.relu(self.in_proj(x)))


world_size = int(os.environ["WORLD_SIZE"])
device_mesh = init_device_mesh(device_type="cpu", mesh_shape=(world_size,))
rank = device_mesh.get_rank()
torch.manual_seed(0)
tp_model = parallelize_module(module=ToyModel(), device_mesh=device_mesh,
                              parallelize_plan={"in_proj": ColwiseParallel(), "out_proj": RowwiseParallel()})
optimizer = torch.optim.AdamW(tp_model.parameters(), lr=0.25, foreach=True)
for i in range(5):
    torch.manual_seed(i)
    inp = torch.rand(20, 10)
    output = tp_model(inp)
    output.square().sum().backward()
    norm = torch.nn.utils.clip_grad_norm_(tp_model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    print(f"rank {rank} iter {i} {output.sum().item():.4f} {norm.full_tensor().item():.3f}")
for name, param in tp_model.named_parameters():
    print(f"rank {rank} {name} {param.placements} {tuple(param.to_local().shape)} {param.full_tensor().sum():.4f}")


def shard_params(mod_name, mod, mesh):
    if isinstance(mod, nn.Linear):
        for name, param in list(mod.named_parameters()):
            mod.register_parameter(name, nn.Parameter(distribute_tensor(param, mesh, [Shard(0)])))


torch.manual_seed(0)
by_hand = distribute_module(ToyModel(), device_mesh, shard_params,
                            input_fn=lambda mod, inputs, mesh: (distribute_tensor(inputs[0], mesh, [Replicate()]),),
                            output_fn=lambda mod, outputs, mesh: outputs.redistribute(placements=[Replicate()]))
out = by_hand(torch.ones(3, 10))
out.sum().backward()
print(f"rank {rank} {isinstance(out, DTensor)} {out.placements} {out.to_local().sum():.4f} "
      f"{by_hand.in_proj.weight.grad.full_tensor().abs().sum():.4f} {by_hand.in_proj.weight.grad.placements}")
destroy_process_group()
