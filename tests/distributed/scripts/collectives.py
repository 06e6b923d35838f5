"""Collectives with gradients (torch.distributed.nn), functional collectives, and the plain ones."""
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.distributed.nn
from torch.distributed.device_mesh import init_device_mesh

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
x = (torch.arange(4.0) + rank).requires_grad_()


def gradient(name, function):
    x.grad = None
    out = function(x)
    outs = out if isinstance(out, (tuple, list)) else [out]
    sum((o * (i + 1) * (rank + 1)).sum() for i, o in enumerate(outs)).backward()
    print(f"rank {rank} nn {name} {[o.tolist() for o in outs]} {x.grad.tolist()}")


gradient("all_reduce", lambda x: torch.distributed.nn.all_reduce(x.clone()))
gradient("all_gather", lambda x: torch.distributed.nn.all_gather(x))
gradient("broadcast", lambda x: torch.distributed.nn.broadcast(x.clone(), src=0))
out = torch.distributed.nn.functional.reduce(x.detach().clone().requires_grad_(), dst=0)
print(f"rank {rank} nn reduce {out.tolist() if rank == 0 else out.shape}")
mesh = init_device_mesh("cpu", (size,))
t = torch.arange(size * 2.0) * (rank + 1)
print(f"rank {rank} all_reduce {funcol.all_reduce(t, 'sum', mesh).tolist()}")
print(f"rank {rank} gather {funcol.all_gather_tensor(t, gather_dim=0, group=mesh).tolist()}")
print(f"rank {rank} gather 1 {funcol.all_gather_tensor(t.view(2, -1), gather_dim=1, group=dist.group.WORLD).tolist()}")
print(f"rank {rank} scatter {funcol.reduce_scatter_tensor(t, 'sum', scatter_dim=0, group=mesh).tolist()}")
print(f"rank {rank} coalesced {[o.tolist() for o in funcol.all_reduce_coalesced([t, t + 1], 'max', mesh)]}")
print(f"rank {rank} broadcast {funcol.broadcast(t, 1, mesh).tolist()}")
print(f"rank {rank} single {funcol.all_to_all_single(t, None, None, mesh).tolist()}")
pending = funcol.all_reduce(t, "avg", mesh)
print(f"rank {rank} waited {funcol.wait_tensor(pending).tolist()} {(pending + 1).sum().item():.1f}")
group = dist.new_group([0, 1])
if rank < 2:
    out = torch.ones(3) * (rank + 1)
    work = dist.all_reduce(out, dist.ReduceOp.PRODUCT, group=group, async_op=True)
    work.wait()
    print(f"rank {rank} product {out.tolist()} {work.is_completed()}")
sub, groups = dist.new_subgroups(2)
gathered = [torch.zeros(1) for _ in range(2)]
dist.all_gather(gathered, torch.tensor([float(rank)]), group=sub)
print(f"rank {rank} subgroups {len(groups)} {[g.item() for g in gathered]}")
box = [{"from": rank}] if rank == 0 else [None]
dist.broadcast_object_list(box, src=0)
scattered = [None]
dist.scatter_object_list(scattered, [f"for {r}" for r in range(size)] if rank == 0 else None, src=0)
print(f"rank {rank} objects {box} {scattered}")
ring = torch.zeros(2)
requests = dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.full((2,), float(rank)), (rank + 1) % size),
                                   dist.P2POp(dist.irecv, ring, (rank - 1) % size)])
for request in requests:
    request.wait()
print(f"rank {rank} ring {ring.tolist()}")
dist.monitored_barrier()
dist.destroy_process_group()
