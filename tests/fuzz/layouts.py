"""Operators of many elements in any memory: ``python -m tests.fuzz.layouts 1000 0`` runs so many calls, of a seed; a
third number is the one to begin with, and further words are parts of the only operators' names.

Kernels choose loops, blocks and products by sizes and strides that the samples of PyTorch's database do not have. A
call is a sample of an entry, its sizes enlarged until the largest tensor has thousands of elements. Each tensor lies in
memory in one of ``LAYOUTS``; every second differentiable call includes its backward pass. Both libraries compute it.
"""
from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import mindtorch
from tests.benchmarks.drawn import DTYPES, LEFT_OUT, samples
from tests.fuzz import offline
from tests.fuzz.offline import Case
from tests.parity.compare import database
from tests.parity.resolve import LibPorter, Missing, counterpart
from tests.support import Unportable, array, differences, seed_all, tensors_in, torch

SIZES = (3_000, 20_000, 140_000)  #: of the largest tensor, about
#: Entries whose values the arguments do not determine: uninitialised memory, the order of equal elements, vectors that
#: may have either sign.
FREE = LEFT_OUT | {"argsort", "linalg.svd", "svd", "linalg.eigh", "linalg.eig", "linalg.qr", "qr", "geqrf",
                   "linalg.householder_product", "ormqr"}
PATIENCE = 60  #: seconds for samples: with fewer, the machine's speed would decide what is drawn
EXACT = 64  #: how many times the tolerance of ``torch.testing`` sums of many elements have


# -- layouts -----------------------------------------------------------------------------------------------------------

def permuted(x: torch.Tensor, drawn: random.Random) -> torch.Tensor:
    """Return a copy whose dimensions lie in another order."""
    order = drawn.sample(range(x.ndim), x.ndim)
    return x.permute(order).contiguous().permute([order.index(d) for d in range(x.ndim)])


def stepped(x: torch.Tensor, drawn: random.Random) -> torch.Tensor:
    """Return a copy between whose elements others lie."""
    dim = drawn.randrange(x.ndim)
    return torch.stack([x, x], dim + 1).flatten(dim, dim + 1)[(slice(None),) * dim + (slice(None, None, 2),)]


def moved(x: torch.Tensor, drawn: random.Random) -> torch.Tensor:
    """Return a copy that begins behind an element of another."""
    return torch.cat([x.new_zeros(1), x.reshape(-1)])[1:].view(x.shape)


def narrowed(x: torch.Tensor, drawn: random.Random) -> torch.Tensor:
    """Return a copy as a part of longer lines."""
    return torch.cat([x, x[..., :1]], -1)[..., :x.shape[-1]]


def expanded(x: torch.Tensor, drawn: random.Random) -> torch.Tensor:
    """Return the first elements of a dimension, repeated along it by a stride of 0."""
    dim = drawn.randrange(x.ndim)
    return x.narrow(dim, 0, 1).clone().expand(x.shape)


LAYOUTS: tuple[Callable[[torch.Tensor, random.Random], torch.Tensor], ...] = (
    permuted, stepped, moved, narrowed, expanded)


def placed(value: Any, drawn: random.Random) -> Any:
    """Return arguments with their tensors in other memory, but for a third of them."""
    if isinstance(value, torch.Tensor):
        if not value.numel() or not value.ndim or value.layout is not torch.strided or drawn.random() < 1 / 3:
            return value
        return drawn.choice(LAYOUTS)(value.detach(), drawn).requires_grad_(value.requires_grad)
    return type(value)(placed(item, drawn) for item in value) if type(value) in (list, tuple) else value


# -- calls -------------------------------------------------------------------------------------------------------------

def results(op: Any, tree: Any) -> int:
    """Return how many elements a call returns, or 0 if that depends on values: many by many would fill the memory."""
    try:
        first, args, kwargs = torch.utils._pytree.tree_map_only(torch.Tensor, lambda x: x.detach().to("meta"), tree)
        return sum(x.numel() for x in tensors_in([op.op(first, *args, **kwargs)]))
    except Exception:
        return 0


def calls(drawn: random.Random, parts: list[str]) -> Iterator[tuple[Any, Any, bool]]:
    """Yield entries with their arguments, and whether the backward pass is included."""
    entries = [op for op in database().values() if op.name not in FREE and (
        not parts or any(part in op.name for part in parts))]
    while True:
        op, dtype, size = drawn.choice(entries), getattr(torch, drawn.choice(DTYPES)), drawn.choice(SIZES)
        if dtype not in op.supported_dtypes("cpu"):
            continue
        backward = drawn.random() < 0.5 and op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
        unit = max(2, round(size ** (1 / drawn.choice((1, 2, 2, 3)))))
        torch.manual_seed(drawn.randrange(1 << 30))
        found = [(sample.input, list(sample.args), dict(sample.kwargs))
                 for sample in samples(op, dtype, backward, unit, 4 * size, PATIENCE)]
        large = [tree for tree in found if any(x.numel() >= size / 8 for x in tensors_in(tree))
                 and results(op, tree) <= 16 * size]
        if large:
            yield op, placed(drawn.choice(large), drawn), backward


def computed(function: Any, tree: Any, backward: bool, grads: list[Any], lib: Any) -> list[Any]:
    """Return the outputs of a call, and the gradients of its inputs."""
    first, args, kwargs = tree
    seed_all(lib, 0)
    result = function(first, *args, **kwargs)
    if not backward:
        return [result]
    outs = [x for x in tensors_in([result]) if x.requires_grad]
    leaves = [x for x in tensors_in(tree) if x.requires_grad]
    return [result, lib.autograd.grad(outs, leaves, grads[:len(outs)], allow_unused=True)]


def case(number: int, seed: int, parts: list[str], mark: Callable[[str], None] = lambda text: None) -> Case:
    """Return the outcome of one call."""
    drawn = random.Random(seed * 10**9 + number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        op, tree, backward = next(calls(drawn, parts))
        described = ", ".join(f"{str(x.dtype)[6:]} {tuple(x.shape)} {x.stride()}" for x in tensors_in(tree))
        others = [x for x in tree[1] if not tensors_in([x])], {k: x for k, x in tree[2].items() if not tensors_in([x])}
        shown = f"{op.formatted_name}{' backward' * backward} of {described}; {others}"
        try:
            port = LibPorter(mindtorch)
            mine, function = port(tree), counterpart(op.op, mindtorch, op.name)
        except (Unportable, Missing) as reason:
            return Case(op.name, shown, [], [f"not portable: {reason}"])
        mark("theirs")
        grads: list[torch.Tensor] = []
        try:
            if backward:
                seed_all(torch, 0)
                outs = [x for x in tensors_in([op.op(tree[0], *tree[1], **tree[2])]) if x.requires_grad]
                grads = [placed(torch.randn_like(x), drawn).detach() for x in outs]
            theirs = computed(op.op, tree, backward, grads, torch)
        except Exception as error:
            return Case(op.name, shown, [], [f"PyTorch refuses it: {type(error).__name__}"])
        mark("ours")
        try:
            ours = computed(function, mine, backward, port(grads), mindtorch)
        except Exception as error:
            return Case(op.name, shown, [f"ours {type(error).__name__}: {error}"[:400]])
        try:
            return Case(op.name, shown, [*map(str, compared(ours, theirs))])
        except Unportable as reason:
            return Case(op.name, shown, [], [f"not portable: {reason}"])


def compared(ours: Any, theirs: Any) -> Iterator[Any]:
    """Yield differences, values with respect to the largest of the whole result."""
    floats = [x for x in tensors_in(theirs) if (x.is_floating_point() or x.is_complex()) and x.numel()]
    largest = max((float(np.abs(np.nan_to_num(array(x), nan=0, posinf=0, neginf=0)).max()) for x in floats), default=0)
    narrow = min((torch.finfo(x.dtype).bits // (1 + x.is_complex()) for x in floats), default=64)
    rtol = EXACT * {16: 1.6e-2 / 16, 32: 1.3e-6, 64: 1e-7}[16 if narrow == 16 else 32 if narrow == 32 else 64]
    yield from differences(ours, theirs, rtol=rtol, atol=rtol * max(largest, 1), strides=False)


def main(count: str = "1000", seed: str = "0", start: str = "0", *parts: str) -> None:
    warnings.simplefilter("ignore")
    cases = offline.in_forks(lambda number, mark: case(number, int(seed), list(parts), mark), int(start),
                             int(start) + int(count))
    offline.run(cases, int(count), int(start), f"calls of many elements, seed {seed}")


if __name__ == "__main__":
    main(*sys.argv[1:])
