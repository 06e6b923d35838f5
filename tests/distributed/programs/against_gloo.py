"""Runs on PyTorch's gloo and on mindtorch; prints results, which must be the same. Tensors with gaps between their
elements are for mindtorch only: gloo reads and writes their memory as if they had none.
"""
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


GROUPS = {"world": None, "ranks 0 and 2": dist.new_group([0, 2])}
LAYOUTS = {"contiguous": lambda tensor: tensor, "transposed": lambda tensor: tensor.t().contiguous().t(),
           "every second": lambda tensor: torch.stack([tensor, tensor], -1).flatten(-2)[..., ::2]}
DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16,
          torch.int32, torch.int64, torch.bool, torch.complex64, torch.complex128)
OPS = ("SUM", "PRODUCT", "MIN", "MAX", "AVG", "BAND", "BOR", "BXOR")


def made(dtype, layout, rows=2):
    """A rank's tensor; the generator is the rank's, so that the next one is another."""
    tensor = torch.randint(0, 4, (rows, 3))
    tensor = torch.complex(tensor.double(), tensor.double().flip(0)) if dtype.is_complex else tensor
    return LAYOUTS[layout](tensor.to(dtype))


def alike(tensor, layout, count):
    return [LAYOUTS[layout](torch.zeros_like(tensor)) for _ in range(count)]


def collectives(dtype, layout, group, is_async):
    """Each collective: its name, and a call that returns its outputs."""
    members = dist.get_process_group_ranks(group)
    count, first, last = len(members), members[0], members[-1]
    options = {"group": group, "async_op": is_async}

    def done(work):
        if is_async:
            work.wait()

    def reduction(function, op, *more):
        tensor = made(dtype, layout)
        done(function(tensor, *more, op=getattr(dist.ReduceOp, op), **options))
        return [tensor] if not more or rank in more else []  # gloo leaves what it likes in the others

    def broadcast():
        tensor = made(dtype, layout)
        done(dist.broadcast(tensor, last, **options))
        return [tensor]

    def all_gather():
        tensor = made(dtype, layout)
        out = alike(tensor, layout, count)
        done(dist.all_gather(out, tensor, **options))
        return out

    def all_gather_into_tensor():
        out = torch.zeros(2 * count, 3, dtype=dtype)
        done(dist.all_gather_into_tensor(out, made(dtype, layout).contiguous(), **options))
        return [out]

    def gather():
        tensor = made(dtype, layout)
        out = alike(tensor, layout, count) if rank == last else None
        done(dist.gather(tensor, out, dst=last, **options))
        return out or []

    def scatter():
        tensor, parts = made(dtype, layout), [made(dtype, layout) for _ in range(count)]
        done(dist.scatter(tensor, parts if rank == first else None, src=first, **options))
        return [tensor]

    def reduce_scatter(op):
        out, parts = made(dtype, layout), [made(dtype, layout) for _ in range(count)]
        done(dist.reduce_scatter(out, parts, op=getattr(dist.ReduceOp, op), **options))
        return [out]

    def reduce_scatter_tensor(op):
        out = torch.zeros(2, 3, dtype=dtype)
        done(dist.reduce_scatter_tensor(out, made(dtype, layout, 2 * count).contiguous(),
                                        op=getattr(dist.ReduceOp, op), **options))
        return [out]

    def all_to_all():
        parts = [made(dtype, layout) for _ in range(count)]
        out = alike(parts[0], layout, count)
        done(dist.all_to_all(out, parts, **options))
        return out

    def all_to_all_single():
        out = torch.zeros(2 * count, 3, dtype=dtype)
        done(dist.all_to_all_single(out, made(dtype, layout, 2 * count).contiguous(), **options))
        return [out]

    def messages():
        tensor, here = made(dtype, layout), members.index(rank)
        to, source = members[(here + 1) % count], members[here - 1]
        outs = [torch.zeros_like(tensor), torch.zeros_like(tensor)]
        if is_async:
            works = [dist.isend(tensor, to, group=group), dist.irecv(outs[0], source, group=group)]
            works += dist.batch_isend_irecv([dist.P2POp(dist.isend, tensor, to, group),
                                             dist.P2POp(dist.irecv, outs[1], source, group)])
            for work in works:
                work.wait()
        elif here % 2:
            dist.recv(outs[0], source, group=group)
            dist.send(tensor, to, group=group)
        else:
            dist.send(tensor, to, group=group)
            dist.recv(outs[0], source, group=group)
        return outs

    is_first = layout == "contiguous" and not is_async
    for op in OPS if is_first else ("SUM", "MAX"):
        yield f"all_reduce {op}", lambda op=op: reduction(dist.all_reduce, op)
        yield f"reduce {op}", lambda op=op: reduction(dist.reduce, op, last)
    for op in ("SUM", "MAX", "AVG") if is_first else ("SUM",):
        yield f"reduce_scatter {op}", lambda op=op: reduce_scatter(op)
        yield f"reduce_scatter_tensor {op}", lambda op=op: reduce_scatter_tensor(op)
    some = [broadcast, all_gather, all_gather_into_tensor, scatter, all_to_all, all_to_all_single]
    some += [gather] if not dtype.is_complex else []  # gloo refuses these in some ranks, and leaves the others waiting
    some += [messages] if layout == "contiguous" else []
    for function in some:
        yield function.__name__, function


grid = {}
for name, group in GROUPS.items():
    if dist.get_rank(group) < 0:
        continue
    for dtype in DTYPES:
        for layout, is_async in (("contiguous", False), ("contiguous", True), ("transposed", True),
                                 ("every second", False))[:3 if os.environ["LIBRARY"] == "torch" else 4]:
            for collective, call in collectives(dtype, layout, group, is_async):
                torch.manual_seed(rank)
                key = f"{collective}, {dtype}, {name}, {layout}, {'async' if is_async else 'waiting'}"
                try:
                    note(*call())
                    grid[key] = found.pop()
                except Exception as error:
                    grid[key] = f"{type(error).__name__}: {error}"[:200]
found.append(grid)
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
