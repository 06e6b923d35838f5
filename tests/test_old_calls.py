"""Calls as programs for older releases make them: numbers for tensors, other orders, defaults that will change."""
from __future__ import annotations

import pytest

import mindtorch
from tests.both import Program, assert_same_outcome, each_program, outcome
from tests.support import torch


@each_program(
    lambda t: (t.add(True, True), t.add(1, 2.5), t.mul(2, 3), t.true_divide(3.0, 2.0), t.floor_divide(5, 2)),
    lambda t: t.sub(True, False),
    lambda t: t.ones(2).add(2, t.ones(2)),
    lambda t: t.ones(2).add_(2, t.ones(2)),
    lambda t: (t.add(t.ones(2), 1, 2), t.ones(2).add_(2, 3), t.ones(2).sub(2, 3)),
    lambda t: (t.add(t.tensor(True), t.tensor(True), True), t.ones(2).add(t.tensor(2.0), 3)),
    lambda t: t.addcmul(t.ones(2), t.tensor(2), t.ones(2), t.ones(2)),
    lambda t: t.addmm(1, t.ones(2, 2), 3, t.ones(2, 2), t.ones(2, 2)),
    lambda t: t.addmv(2, t.ones(2), t.ones(2, 2), t.ones(2)),
    lambda t: t.addcdiv(t.ones(2), 2, t.ones(2), t.ones(2)),
)
def test_numbers_and_orders_that_operators_once_took(program: Program) -> None:
    ours, theirs = outcome(program, mindtorch), outcome(program, torch)
    assert ours[0] == theirs[0]
    assert ours[1:] == theirs[1:] or not theirs[1:]  # PyTorch tells of each operator once


def set_volatile(t):
    x = t.ones(1)
    x.volatile = True
    return x


@pytest.mark.filterwarnings("ignore:volatile was removed")
@each_program(
    lambda t: t.autograd.Variable(t.ones(2), volatile=True),
    lambda t: t.autograd.Variable(t.ones(2), False, True),
    lambda t: t.autograd.Variable(t.ones(2), True, True),
    lambda t: t.autograd.Variable([1.0]),
    lambda t: t.ones(1).volatile,
    set_volatile,
)
def test_variables_may_be_volatile_to_no_effect(program: Program) -> None:
    assert_same_outcome(program)


def test_a_deprecated_order_of_arguments_is_told() -> None:
    with pytest.warns(UserWarning, match=r"(?s)overload of addcmul is deprecated:.*Number value.*signatures instead"):
        made = mindtorch.addcmul(mindtorch.ones(2), 2, mindtorch.ones(2), mindtorch.ones(2))  # type: ignore[call-arg]
    assert made.tolist() == [3.0, 3.0]


@each_program(
    lambda t: t.meshgrid(t.tensor([1]), t.tensor([2])),
    lambda t: t.meshgrid(t.tensor([1]), t.tensor([2]), indexing=""),
)
def test_grids(program: Program) -> None:
    assert_same_outcome(program)
