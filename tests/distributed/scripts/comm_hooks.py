"""Communication hooks of DDP: the library's, and one of one's own."""
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel as DDP


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 12))


def noted(state, bucket):
    state.append((bucket.index(), bucket.is_last(), bucket.buffer().numel(), len(bucket.parameters())))
    future = dist.all_reduce(bucket.buffer(), group=dist.group.WORLD, async_op=True).get_future()
    return future.then(lambda done: done.value()[0] / dist.get_world_size())


def train(name, state, hook, places=4):
    model = DDP(net())
    model.register_comm_hook(state, hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank())
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(torch.randn(6, 12)).square().mean()
        loss.backward()
        optimizer.step()
    print(f"rank {dist.get_rank()} {name} {loss.item():.{places}f} "
          f"{sum(p.abs().sum() for p in model.parameters()).item():.{places - 1}f}")


dist.init_process_group("gloo")
train("all_reduce", dist.group.WORLD, default_hooks.allreduce_hook)
train("fp16", dist.group.WORLD, default_hooks.fp16_compress_hook, 3)
train("wrapped", dist.group.WORLD, default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook), 3)
for rank in (1, 3):
    state = powerSGD_hook.PowerSGDState(None, rank, start_powerSGD_iter=2, min_compression_rate=0.5)
    train(f"PowerSGD {rank}", state, powerSGD_hook.powerSGD_hook)
    print(f"rank {dist.get_rank()} {state.compression_stats()}")
calls = []
train("own", calls, noted)
print(f"rank {dist.get_rank()} calls {calls[-1]} of {len(calls)}")
try:
    model = DDP(net())
    model.register_comm_hook(None, default_hooks.allreduce_hook)
    model.register_comm_hook(None, default_hooks.allreduce_hook)
except RuntimeError as error:
    print(f"rank {dist.get_rank()} {str(error).splitlines()[0]}")
dist.destroy_process_group()
