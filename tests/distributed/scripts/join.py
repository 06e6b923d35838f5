"""Join: ranks with different numbers of batches, with DDP, ZeRO, and a counter of one's own."""
import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join, Joinable, JoinHook
from torch.distributed.optim import ZeroRedundancyOptimizer as ZeRO
from torch.nn.parallel import DistributedDataParallel as DDP

NUM_INPUTS = 5


class CounterJoinHook(JoinHook):
    def __init__(self, counter, sync_max_count):
        self.counter, self.sync_max_count = counter, sync_max_count

    def main_hook(self):
        dist.all_reduce(torch.zeros((1,)))

    def post_hook(self, is_last_joiner):
        if self.sync_max_count:
            count = torch.tensor([float(self.counter.count) if is_last_joiner else -1.0])
            dist.all_reduce(count, op=dist.ReduceOp.MAX)
            self.counter.max_count = int(count.item())


class Counter(Joinable):
    def __init__(self):
        super().__init__()
        self.count = self.max_count = 0

    def __call__(self):
        Join.notify_join_context(self)
        total = torch.ones(1)
        dist.all_reduce(total)
        self.count += int(total.item())

    def join_hook(self, **kwargs):
        return CounterJoinHook(self, kwargs.get("sync_max_count", False))

    @property
    def join_device(self):
        return torch.device("cpu")

    @property
    def join_process_group(self):
        return dist.group.WORLD


dist.init_process_group("gloo")
rank = dist.get_rank()
inputs = [torch.tensor([[float(i + 1)]]) for i in range(NUM_INPUTS + rank)]
torch.manual_seed(0)
model = DDP(torch.nn.Linear(1, 1))
optim = ZeRO(model.parameters(), torch.optim.Adam, lr=0.01)
seen = 0
with Join([model, optim]):
    for value in inputs:
        seen += 1
        model(value).sum().backward()
        optim.step()
        optim.zero_grad()
print(f"rank {rank} has seen {seen} of {len(inputs)} inputs, weight {model.module.weight.item():.5f}")
with model.join():
    for value in inputs:
        model(value).sum().backward()
print(f"rank {rank} grad {model.module.weight.grad.item():.5f}")
counter = Counter()
with Join([counter], sync_max_count=True):
    for _ in inputs:
        counter()
print(f"rank {rank} counted {counter.count}, at most {counter.max_count}")
try:
    with Join([model], throw_on_early_termination=True):
        for value in inputs:
            model(value).sum().backward()
except RuntimeError as error:
    print(f"rank {rank} {str(error).split('. ')[0]}")
dist.destroy_process_group()
