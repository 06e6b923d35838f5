"""Random programs on two ranks beside one process: `python -m mindtorch launch -n 2 tests/fuzz/ranks.py 1000 0` runs so
many, of a seed.

A program of ``tests.fuzz.functions`` runs on tensors, and on DTensors of them, each with a placement of its own. What
these gather is what the tensors give, with their gradients, if these do not raise. Collectives are compared with sums
and stacks of what the ranks hold, which every rank can draw.
"""
from __future__ import annotations

import random
import sys
import warnings
from typing import Any

import numpy as np

import mindtorch
import mindtorch.distributed as dist
from mindtorch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from tests.fuzz.comparison import differentiable
from tests.fuzz.functions import Drawn, ported, program
from tests.support import Outcome

#: What DTensors refuse, as PyTorch's do.
REFUSED = ("sharding strategy", "sharding rule", "mixed torch.Tensor and DTensor", "NotImplementedError", "DTensor",
           "The shape of the mask", "in-place operations that require placement changes")


def outputs(drawn: Drawn, inputs: list[Any]) -> list[Any]:
    """Run a program, and return its output and the gradients, gathered."""
    given = [x.detach().requires_grad_() if x.is_floating_point() else x for x in inputs]
    out = drawn.function()(mindtorch, *given)
    if out.requires_grad:
        (out.real if out.is_complex() else out).sum().backward()
    found = [out.detach(), *(x.grad for x in given if x.grad is not None)]
    return [x.full_tensor() if isinstance(x, DTensor) else x for x in found]


def placed(drawn: random.Random, x: Any, mesh: Any) -> DTensor:
    """Shard a tensor along some dimension, or replicate it."""
    dim = drawn.randrange(-1, x.ndim) if x.ndim else -1
    return distribute_tensor(x, mesh, [Replicate() if dim < 0 else Shard(dim)])


def differences(number: int, seed: int, mesh: Any) -> list[str]:
    """Return in what a program on DTensors differs from the one on tensors."""
    drawn = random.Random(seed * 10**9 + number)
    made = program(drawn)
    tensors = [x.contiguous() for x in ported(made.inputs, mindtorch)]
    if len(differentiable(made.inputs)) < len(tensors) or any(x.is_complex() for x in tensors):
        return []
    whole = Outcome.of(outputs, made, tensors)
    if whole.error is not None:
        return []  # a rank may have no rows that could be wrong, and would wait for one that raises
    parts = Outcome.of(outputs, made, [placed(drawn, x, mesh) for x in tensors])
    if parts.error is not None:
        if any(word in repr(parts.error) for word in REFUSED):
            return []
        return [f"DTensors raise {parts.error!r}"]
    found = []
    for i, (mine, other) in enumerate(zip(parts.value, whole.value, strict=False)):
        if mine.shape != other.shape or mine.dtype != other.dtype:
            found.append(f"output {i}: {mine.dtype} {tuple(mine.shape)}, alone {other.dtype} {tuple(other.shape)}")
            continue
        a, b = (x.double().numpy() for x in (mine, other))
        room = 3e-2 if min(x.dtype.itemsize for x in tensors) == 2 else 1e-4
        if not np.allclose(a, b, room, room, equal_nan=True):
            found.append(f"output {i}: {a.tolist()}, alone {b.tolist()}")
    return found


def collectives(number: int, seed: int) -> list[str]:
    """Return in what collectives differ from sums and stacks of all ranks' tensors."""
    drawn, size, rank = random.Random(f"{seed} {number}"), dist.get_world_size(), dist.get_rank()
    shape = drawn.choice([(4,), (2, 3), (), (0, 2), (2, 2, 2)])
    dtype = getattr(mindtorch, drawn.choice(["float32", "float64", "int64", "int32", "uint8", "bfloat16", "float16"]))
    count = int(np.prod(shape))
    held = [mindtorch.tensor([drawn.randrange(5) for _ in range(count)]).reshape(shape).to(dtype) for _ in range(size)]
    mine, stacked = held[rank].clone(), mindtorch.stack(held)
    if drawn.random() < 0.5 and len(shape) > 1:
        mine = mine.transpose(0, 1).contiguous().transpose(0, 1)
    op, reduced = drawn.choice([("SUM", stacked.sum(0, dtype=dtype)), ("MAX", stacked.amax(0)),
                                ("MIN", stacked.amin(0)), ("PRODUCT", stacked.prod(0, dtype=dtype))])
    root, found = drawn.randrange(size), []
    given, gathered = mine.clone(), [mindtorch.empty_like(mine) for _ in range(size)]
    dist.all_gather(gathered, mine)
    dist.all_reduce(given, getattr(dist.ReduceOp, op))
    sent = mine.clone()
    dist.broadcast(sent, root)
    results = [("all_gather", mindtorch.stack(gathered), stacked), (f"all_reduce {op}", given, reduced),
               ("broadcast", sent, held[root])]
    for name, mine, expected in results:
        if not mindtorch.equal(mine, expected):
            found.append(f"{name} of {dtype} {shape}: {mine.tolist()}, expected {expected.tolist()}")
    return found


def main(count: str = "200", seed: str = "0", start: str = "0") -> None:
    warnings.simplefilter("ignore")
    mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
    differ = 0
    for number in range(int(start), int(start) + int(count)):
        found = [*differences(number, int(seed), mesh), *collectives(number, int(seed))]
        differ += bool(found)
        if found and dist.get_rank() == 0:
            made = program(random.Random(int(seed) * 10**9 + number))
            print(f"case {number}: {'; '.join(made.lines)[:300]}\n    {'; '.join(found)[:400]}", flush=True)
    if dist.get_rank() == 0:
        print(f"{count} programs on {dist.get_world_size()} ranks, seed {seed}: {differ} differ", flush=True)


if __name__ == "__main__":
    dist.init_process_group()
    main(*sys.argv[1:])
    dist.destroy_process_group()
