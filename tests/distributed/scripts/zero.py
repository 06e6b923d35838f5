"""ZeroRedundancyOptimizer beside a local optimizer: the same parameters, and less state in each rank."""
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP


def example(use_zero):
    torch.manual_seed(0)
    rank = dist.get_rank()
    model = nn.Sequential(*[nn.Linear(20, 20) for _ in range(6)])
    ddp_model = DDP(model)
    loss_fn = nn.MSELoss()
    if use_zero:
        optimizer = ZeroRedundancyOptimizer(ddp_model.parameters(), optimizer_class=torch.optim.Adam, lr=0.01)
    else:
        optimizer = torch.optim.Adam(ddp_model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    torch.manual_seed(rank)
    for step in range(3):
        optimizer.zero_grad()
        loss = loss_fn(ddp_model(torch.randn(10, 20)), torch.randn(10, 20))
        loss.backward()
        optimizer.step()
        scheduler.step()
        lr = optimizer.param_groups[0]["lr"]
        print(f"rank {rank} zero {use_zero} step {step} loss {loss.item():.4f} lr {lr:.5f}")
    print(f"rank {rank} params sum is: {sum(p.sum() for p in model.parameters()).item():.4f}")
    if use_zero:
        optimizer.consolidate_state_dict(to=0)
        if rank == 0:
            state = optimizer.state_dict()
            print(f"whole state of {len(state['state'])} parameters, {state['state'][3]['exp_avg'].abs().sum():.5f}")
            optimizer.load_state_dict(state)


dist.init_process_group("gloo")
example(False)
example(True)
dist.destroy_process_group()
