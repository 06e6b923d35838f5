"""Random graphs: every gradient, and the order in which nodes run, is PyTorch's."""

from __future__ import annotations

import random
import types
from typing import Any

import pytest

import mindtorch
from tests.support import torch


def program(seed: int) -> tuple[list[tuple[str, int, int]], list[int], list[int]]:
    """Draw steps (operator, operand, operand) on numbered tensors, of which four are leaves; which to keep alive,
    and from which to go backward.
    """
    rng = random.Random(seed)
    steps = []
    for i in range(rng.randint(10, 40)):
        made = 4 + i
        pick = [rng.randrange(made) if rng.random() < 0.4 else made - 1 - rng.randrange(min(3, made)) for _ in range(2)]
        steps.append((rng.choice(["add", "mul", "sub", "relu", "sum", "row", "inplace"]), *pick))
    total = 4 + len(steps)
    return (  # type: ignore[return-value]
        steps,
        rng.sample(range(total), rng.randint(0, total)),
        sorted(rng.sample(range(total - 3, total), rng.randint(1, 2))),
    )


def run(t: types.ModuleType, seed: int, watch: bool, retain: bool) -> tuple[list[Any], list[str]]:
    """Return the gradients of the leaves; with ``watch``, the nodes that ran, in order."""
    steps, alive, roots = program(seed)
    leaves = [t.tensor([[0.5, -1.0], [1.5, 2.0]], requires_grad=True), t.tensor([1.0, -2.0], requires_grad=True),
              t.tensor(0.75, requires_grad=True), t.tensor([[1.0], [3.0]])]
    tensors: list[Any] = list(leaves)
    ran: list[str] = []
    for i, (name, a, b) in enumerate(steps):
        x, y = tensors[a], tensors[b]
        if name == "relu":
            made = x.relu()
        elif name == "sum":
            made = x.sum()
        elif name == "row":
            made = x.view(-1)[:1]
        elif name == "inplace":
            made = (x + 0.0).mul_(0.5)
        else:
            made = {"add": x + y, "mul": x * y * 0.5, "sub": x - y}[name]
        if watch and made.grad_fn is not None:
            made.grad_fn.register_hook(lambda gi, go, i=i: ran.append(f"{i} {[g is not None for g in gi]}"))
        tensors.append(made)
    starts = [tensors[i] for i in roots if tensors[i].requires_grad]
    for i in range(len(tensors)):
        if i not in alive:
            tensors[i] = None
    if starts:
        t.autograd.backward([s.sum() for s in starts], retain_graph=retain)
        if retain:
            t.autograd.backward([s.mean() for s in starts])
    return [None if x.grad is None else x.grad.tolist() for x in leaves], ran


@pytest.mark.parametrize(("watch", "retain"), [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("seed", range(60))
def test_gradients_and_order_are_pytorchs(seed: int, watch: bool, retain: bool) -> None:
    (ours, our_order), (theirs, their_order) = run(mindtorch, seed, watch, retain), run(torch, seed, watch, retain)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine is None is other or torch.allclose(torch.tensor(mine), torch.tensor(other), equal_nan=True)
    assert our_order == their_order
