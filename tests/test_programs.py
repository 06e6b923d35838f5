"""The comparison of programs itself: a step that does something else on one side is found, and named."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.programs import Program
from tests.support import torch

pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute")

Step = Callable[[torch.Tensor], Any]


def fail(error: Exception) -> None:
    raise error


@pytest.fixture
def program() -> Program:
    """t0: a leaf without grad; t1: a leaf that requires grad; t2: computed from it."""
    program = Program(torch)
    program.run("tensor", "arange(6.)", lambda side: side.lib.arange(6.0))
    program.run("tensor", "ones(6)", lambda side: side.lib.ones(6, requires_grad=True))
    program.run("mul", "t1 * 2", lambda side: side.t[1] * 2)
    return program


DIFFERENT = [
    (0, lambda t: t.mul_(2), lambda t: t.mul_(3), "t0 is"),
    (0, lambda t: t.double(), lambda t: t.half(), "t3.dtype"),
    (0, lambda t: t[None].clone(), lambda t: t.clone(), "t3.shape"),
    (0, lambda t: t.expand(2, 6).contiguous(), lambda t: t.expand(2, 6), "t3.stride"),
    (0, lambda t: t[1:], lambda t: t[:-1], "t3.storage_offset"),
    (0, lambda t: (t.data.add_(1), None)[1], lambda t: (t.add_(1), None)[1], "t0._version"),
    (0, lambda t: t.data.view(-1), lambda t: t.view(-1), "t3._base"),
    (0, lambda t: t.data, lambda t: t.view(-1), "t3._is_view()"),
    (0, lambda t: t.clone(), lambda t: t.data, "t3.shares storage with"),
    (0, lambda t: t, lambda t: t.requires_grad_(), "t0.requires_grad"),
    (2, lambda t: t.detach().clone().requires_grad_(), lambda t: t.clone(), "t3.is_leaf"),
    (2, lambda t: t - 0, lambda t: t + 0, "t3.grad_fn"),
    (1, lambda t: t.sum().backward(), lambda t: (2 * t).sum().backward(), "t1.grad is"),
    (1, lambda t: None, lambda t: t.sum().backward(), "t1.grad is"),
    (2, lambda t: None, lambda t: t.retain_grad() or t.sum().backward(), "grad is"),
    (0, lambda t: t + 0, lambda t: t.add_(0), "which tensor is returned"),
    (0, lambda t: t.chunk(2), lambda t: t.chunk(3), "number of results"),
    (0, lambda t: t.dim(), lambda t: t.numel(), "result"),
    (0, lambda t: fail(ValueError()), lambda t: fail(RuntimeError()), "exception"),
    (0, lambda t: t, lambda t: fail(RuntimeError()), "exception"),
    (0, lambda t: fail(RuntimeError()), lambda t: t, "exception"),
]


@pytest.mark.parametrize(("i", "ours", "theirs", "found"), DIFFERENT)
def test_a_step_that_differs_is_found(program: Program, i: int, ours: Step, theirs: Step, found: str) -> None:
    with pytest.raises(AssertionError) as caught:
        program.run("step", "the step", lambda side: (ours if side is program.ours else theirs)(side.t[i]))
    assert found in str(caught.value)


@pytest.mark.parametrize(("i", "step"), [(i, theirs) for i, _, theirs, _ in DIFFERENT])
def test_the_same_step_is_no_difference(program: Program, i: int, step: Step) -> None:
    program.run("step", "the step", lambda side: step(side.t[i]))
