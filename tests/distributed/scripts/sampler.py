"""DistributedSampler in all its settings, and a DataLoader with workers that uses it."""
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
for count in (10, 11, 3):
    for shuffle in (False, True):
        for drop_last in (False, True):
            sampler = DistributedSampler(range(count), shuffle=shuffle, seed=5, drop_last=drop_last)
            sampler.set_epoch(3)
            print(f"rank {rank} {count} {shuffle} {drop_last} {list(sampler)} {len(sampler)}")
data = TensorDataset(torch.arange(22.0).view(11, 2), torch.arange(11))
sampler = DistributedSampler(data, num_replicas=size, rank=rank)
loader = DataLoader(data, batch_size=2, sampler=sampler, num_workers=1, drop_last=True)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in loader:
        print(f"rank {rank} epoch {epoch} {y.tolist()} {x.sum().item():.1f}")
seen = torch.zeros(11)
for _, y in DataLoader(data, 3, sampler=sampler):
    seen[y] += 1
dist.all_reduce(seen)
print(f"rank {rank} seen {seen.tolist()}")
objects = [None] * size
dist.all_gather_object(objects, {"rank": rank, "loader": len(loader)})
print(f"rank {rank} {objects}")
try:
    DistributedSampler(data, num_replicas=size, rank=size)
except ValueError as error:
    print(f"rank {rank} {error}")
dist.destroy_process_group()
