"""Derivatives computed at once: after some calls of a layout, one function of arrays stands for a node's formulas."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch
from mindtorch._backends.cpu.formulas import CALLS

from ..support import torch

#: Programs of tensors whose nodes have several operators in their formulas: reductions with ties, sums over broadcast
#: dimensions, writes into new tensors, numbers that are no arrays, settings, operators that depend on values: on zeros,
#: which come after the first calls.
PROGRAMS: dict[str, Callable[..., Any]] = {
    "amax": lambda lib, x, y: x.amax(1),
    "atan2": lambda lib, x, y: x.atan2(y),
    "div": lambda lib, x, y: x / y,
    "index_reduce": lambda lib, x, y: x.index_reduce(0, lib.tensor([0, 2, 0]), y, "amin"),
    "logsumexp": lambda lib, x, y: (x + y).logsumexp(0),
    "max": lambda lib, x, y: x.max(),
    "maximum": lambda lib, x, y: lib.maximum(x, y),
    "norm": lambda lib, x, y: lib.linalg.vector_norm(x, 3, 0),
    "prod": lambda lib, x, y: x.prod(0),
    "std": lambda lib, x, y: x.std(),
}


def gradients(lib: Any, program: Callable[..., Any], arrays: list[np.ndarray]) -> list[Any]:
    leaves = [lib.from_numpy(array.copy()).requires_grad_() for array in arrays]
    out = program(lib, *leaves)
    return list(lib.autograd.grad(out, leaves, lib.ones_like(out), allow_unused=True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_later_calls_of_a_layout_return_what_the_first_ones_do(name: str) -> None:
    generator, states = np.random.default_rng(0), []
    for turn in range(CALLS + 5):
        arrays = [generator.integers(turn < 3, 4, (3, 3)).astype(np.float32) for _ in range(2)]
        found, wanted = (gradients(lib, PROGRAMS[name], arrays) for lib in (mindtorch, torch))
        for mine, other in zip(found, wanted, strict=True):
            assert (mine is None) is (other is None)
            if mine is not None:
                np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-6)
                assert mine.stride() == other.stride()
        states.append([(g._version, g._is_view()) for g in found if g is not None])
    assert states == states[:1] * len(states)


def test_a_plan_made_of_one_tensor_twice_takes_two() -> None:
    x, y = mindtorch.tensor(3.0, requires_grad=True), mindtorch.tensor(2.0, requires_grad=True)
    for _ in range(CALLS + 1):
        assert mindtorch.autograd.grad(x / x, x)[0].item() == 0
    assert [g.item() for g in mindtorch.autograd.grad(x / y, (x, y))] == [0.5, -0.75]


def test_observers_are_told_of_the_same_operators() -> None:
    x, told = mindtorch.randn(4, 4, requires_grad=True), []
    for _ in range(CALLS + 3):
        out = x.amax(1).sum()
        with mindtorch.observe() as trace:
            out.backward()
        told.append([(event.op, [str(output) for output in event.outputs]) for event in trace
                     if event.op not in ("add_.Tensor", "ones_like")])
    assert told[-1] == told[0]


def test_a_registered_kernel_replaces_that_of_a_plan() -> None:
    op, calls = mindtorch._dispatch.registry.registry["eq.Tensor"], []
    x = mindtorch.randn(4, 5, requires_grad=True)

    def backward() -> Any:
        return mindtorch.autograd.grad(x.amax(1).sum(), x)[0]

    for _ in range(CALLS + 2):
        expected = backward()
    own = op.table.get(1) or op.kernel(1).fn

    def counted(*args: Any) -> Any:
        calls.append(args)
        return own(*args)

    try:
        op.registry.register("eq.Tensor", "cpu", counted)
        for _ in range(CALLS + 2):
            assert mindtorch.equal(backward(), expected)
    finally:
        op.kernels.clear()
        op.registry.forget_resolved(op)
    assert len(calls) == CALLS + 2
