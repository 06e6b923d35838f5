"""DistributedDataParallel, its state as a checkpoint, and accumulation of gradients without synchronization."""
import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.optim as optim
from torch.nn.parallel import DistributedDataParallel as DDP


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)
        self.norm = nn.BatchNorm1d(5)

    def forward(self, x):
        return self.norm(self.net2(self.relu(self.net1(x))))


def demo_basic(rank):
    torch.manual_seed(rank)  # DDP broadcasts rank 0's
    model = DDP(ToyModel(), find_unused_parameters=False, gradient_as_bucket_view=True)
    loss_fn, optimizer = nn.MSELoss(), optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(5):
        optimizer.zero_grad(set_to_none=True)
        with model.no_sync():
            loss_fn(model(torch.randn(20, 10)), torch.randn(20, 5)).backward()
        loss = loss_fn(model(torch.randn(20, 10)), torch.randn(20, 5))
        loss.backward()
        optimizer.step()
        if rank == 0:
            print(f"step {step} loss {loss.item():.5f}")
    return model


def demo_checkpoint(rank, model):
    path = os.path.join(tempfile.gettempdir(), f"toy-{os.environ['MASTER_PORT']}.pt")
    if rank == 0:
        torch.save(model.state_dict(), path)
    dist.barrier()
    again = DDP(ToyModel())
    again.load_state_dict(torch.load(path, map_location=torch.device("cpu"), weights_only=True))
    dist.barrier()
    if rank == 0:
        os.remove(path)
    same = all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
    mean = again.module.norm.running_mean.sum()
    print(f"rank {rank}: loaded {same}, keys {next(iter(again.state_dict()))}, mean {mean:.5f}")


def demo_unused(rank):
    torch.manual_seed(0)
    model = DDP(ToyModel(), find_unused_parameters=True, broadcast_buffers=False)
    model.module.net1(torch.ones(2, 10)).sum()
    out = model(torch.full((2, 10), rank + 1.0))
    out[:, 0].pow(3).sum().backward()
    print(f"rank {rank}: grad {model.module.net2.weight.grad.abs().sum():.5f}")


if __name__ == "__main__":
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    demo_checkpoint(rank, demo_basic(rank))
    demo_unused(rank)
    dist.destroy_process_group()
