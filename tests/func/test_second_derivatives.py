"""Second derivatives are equal in whichever two modes they are taken. PyTorch's are not: its forward over forward mode
takes the factors and statistics that an operator saves for constants.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch as torch
from mindtorch.func import hessian, jacfwd, jacrev
from mindtorch.nn import functional as F

X = torch.tensor([[2.75, 1.75, -0.25], [-1.25, -1.75, -1.25], [-1.25, -1.25, 2.0]], dtype=torch.float64)
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "det": torch.linalg.det,
    "slogdet": lambda x: torch.linalg.slogdet(x)[1],
    "solve": lambda x: (torch.linalg.solve(x, torch.ones(3, 2, dtype=x.dtype)) ** 2).sum(),
    "weight norm": lambda x: (torch._weight_norm(x, x[:, :1], 0) ** 2).sum(),
    "layer norm": lambda x: (F.layer_norm(x, (3,), x[0], x[1]) ** 2).sum(),
    "batch norm": lambda x: (F.batch_norm(x, None, None, x[0], x[1], True) ** 2).sum(),
    "silu": lambda x: F.silu(x).sum(),
    "mish": lambda x: F.mish(x).sum(),
    "qr": lambda x: (torch.linalg.qr(x)[1] ** 2).sum(),
    "prod": torch.prod,
    "masked": lambda x: (x[x > 0] ** 3).sum(),
    "written": lambda x: (x.clone().index_fill_(0, torch.tensor([1]), 2.0) ** 3).sum(),
}


def numeric(function: Callable[[Any], Any], step: float = 1e-4) -> np.ndarray:
    """Return the second derivatives at ``X`` by differences."""
    places = [step * torch.eye(9, dtype=torch.float64)[i].reshape(3, 3) for i in range(9)]
    return np.array([[(function(X + a + b) - function(X + a - b) - function(X - a + b) + function(X - a - b)).item()
                      for b in places] for a in places]).reshape(3, 3, 3, 3) / (4 * step * step)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives_are_equal_in_all_modes(name: str) -> None:
    function = FUNCTIONS[name]
    expected = numeric(function)
    for outer, inner in ((jacfwd, jacrev), (jacrev, jacrev), (jacfwd, jacfwd), (jacrev, jacfwd)):
        found = outer(inner(function))(X).numpy()
        np.testing.assert_allclose(found, expected, 1e-3, 1e-3, err_msg=f"{outer.__name__} of {inner.__name__}")


def test_values_may_be_read_and_tensors_written_below_jacfwd() -> None:
    """The elements of the batch of tangents have equal values, so that no element is asked for."""

    def function(x: Any) -> Any:
        fresh = torch.zeros(2, 2)
        row, column = fresh[0], fresh[:, 1]
        row.copy_(x if x.sum() > 0 else -x)
        column.mul_(x)
        return (row + F.one_hot(x.long())[0, 1]) ** 2  # (x0 + 1, x0 x1 + 1), squared

    x = torch.tensor([1.0, 2.0])
    assert jacfwd(function)(x).tolist() == [[4, 0], [12, 6]]
    assert hessian(lambda x: function(x).sum())(x).tolist() == [[10, 10], [10, 2]]


def test_a_gradient_that_a_recorded_node_saved_is_not_added_to_in_place() -> None:
    x, weights = torch.tensor([0.25, 2.25, -1.5], requires_grad=True), torch.arange(1.0, 4.0)
    first, = torch.autograd.grad((torch.addcmul(x, x, x, value=0.5) * weights).sum(), x, create_graph=True)
    second, = torch.autograd.grad((first * weights).sum(), x)
    assert second.tolist() == [1, 4, 9]


@pytest.mark.parametrize("loss", [F.smooth_l1_loss, F.huber_loss])
def test_losses_are_flat_from_their_bounds_on(loss: Callable[..., Any]) -> None:
    x = torch.tensor([-2.0, -1.0, 0.5, 1.0], requires_grad=True)
    first, = torch.autograd.grad(loss(x, torch.zeros(4), reduction="sum"), x, create_graph=True)
    second, = torch.autograd.grad(first.sum(), x)
    assert (first.tolist(), second.tolist()) == ([-1, -1, 0.5, 1], [0, 0, 1, 0])
