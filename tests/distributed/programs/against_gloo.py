"""Runs on PyTorch's gloo and on mindtorch; prints results, which must be the same."""
import json
import os
import sys

import torch
import torch.distributed as dist

assert ("mindtorch" in sys.modules) == (os.environ["LIBRARY"] == "mindtorch")
dist.init_process_group("gloo", **json.loads(os.environ.get("HOW", "{}")), **(
    {"rank": int(os.environ["RANK"]), "world_size": int(os.environ["WORLD_SIZE"])} if "HOW" in os.environ else {}))
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
found = []


def note(*tensors):
    found.append([[str(tensor.dtype), list(tensor.shape), torch.view_as_real(tensor).tolist() if tensor.is_complex()
                   else tensor.tolist()] for tensor in tensors])


def attempt(call):
    try:
        call()
    except Exception as error:
        found.append(type(error).__name__)


group = dist.new_group([0, 2])
for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.uint8,
              torch.int8, torch.bool, torch.complex64):
    for op in ("SUM", "PRODUCT", "MIN", "MAX", "AVG", "BAND", "BOR", "BXOR"):
        tensor = torch.randint(0, 3, (2, 3)).to(dtype)

        def reduce(tensor=tensor, op=op):
            work = dist.all_reduce(tensor, getattr(dist.ReduceOp, op), async_op=op == "MAX")
            if work is not None:
                work.wait()
            note(tensor)

        attempt(reduce)
    tensor = torch.randint(0, 9, (2, 3)).to(dtype)
    out = [torch.empty_like(tensor) for _ in range(size)]
    dist.all_gather(out, tensor)
    note(*out)
    dist.broadcast(tensor, 1)
    note(tensor)
    if rank != 1:
        out = [torch.empty_like(tensor) for _ in range(2)]
        if dist.get_rank(group) >= 0:
            dist.all_gather(out, torch.randint(0, 9, (2, 3)).to(dtype), group=group)
            note(*out)
    one = torch.empty_like(tensor)
    dist.scatter(one, [torch.randint(0, 9, (2, 3)).to(dtype) for _ in range(size)] if rank == 2 else None, src=2)
    note(one)
    if not dtype.is_complex:  # which gloo does not gather
        out = [torch.empty_like(tensor) for _ in range(size)] if rank == 0 else None
        dist.gather(one, out, dst=0)
        note(*(out or ()))
    whole = torch.empty(4, 3, dtype=dtype)
    dist.all_to_all_single(whole, torch.randint(0, 9, (4, 3)).to(dtype))
    note(whole)
    work = dist.isend(one, (rank + 1) % size)
    dist.recv(tensor, (rank - 1) % size)
    work.wait()
    note(tensor)
for count in (10, 7):
    for drop_last in (False, True):
        sampler = torch.utils.data.DistributedSampler(range(count), seed=3, drop_last=drop_last)
        sampler.set_epoch(2)
        found.append(list(sampler))
out = [None] * size
dist.all_gather_object(out, (rank, "x"))
found.append([list(pair) for pair in out])
for call in (lambda: dist.all_reduce(3), lambda: dist.send(torch.ones(1), rank),
             lambda: dist.init_process_group("gloo"), lambda: dist.new_group([9]),
             lambda: dist.gather(torch.ones(1), [torch.ones(1)] if rank else None),
             lambda: dist.all_gather([torch.ones(1)] * 3, torch.ones(1)), lambda: dist.get_group_rank(None, 9)):
    attempt(call)
everything = [None] * size
dist.all_gather_object(everything, found)
if rank == 0:
    print("FOUND", json.dumps(everything))
dist.destroy_process_group()
