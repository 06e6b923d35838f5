"""``Tensor.grad_dtype``: the dtype of a leaf's gradient, which backward converts to."""
from __future__ import annotations

import copy
from typing import Any

import pytest

import mindtorch
from tests.autograd.both import Case, assert_same


def leaf(t: Any, dtype: Any = ...) -> Any:
    x = t.tensor([1.0, 2.0], requires_grad=True)
    if dtype is not ...:
        x.grad_dtype = dtype and getattr(t, dtype)
    return x


def accumulated(t: Any, x: Any, *factors: Any) -> Any:
    """Return the gradient after passes whose gradients have the dtypes of these factors, or of the leaf."""
    class Scaled(t.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any, factor: Any) -> Any:
            ctx.factor = factor
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.factor, None

    for factor in factors:
        Scaled.apply(x, factor).sum().backward()
    return x.grad


def read(x: Any) -> Any:
    return x.grad_dtype


def assigned(x: Any, dtype: Any) -> Any:
    x.grad_dtype = dtype
    return x.grad_dtype


def with_gradient(x: Any, gradient: Any) -> Any:
    x.grad = gradient
    return x.grad


def with_data(x: Any, data: Any) -> Any:
    x.data = data
    return x.grad_dtype


def counted_before(t: Any) -> Any:
    x = leaf(t)
    y = (x * 3).sum()  # whose node for the leaf exists already
    x.grad_dtype = t.float64
    y.backward()
    return x.grad


CASES: dict[str, Case] = {
    "unset": lambda t: (read(leaf(t)), read(t.ones(1, dtype=t.int64)), read(leaf(t).detach().double())),
    "set": lambda t: read(leaf(t, "float16")),
    "any": lambda t: read(leaf(t, None)),
    "not a leaf": lambda t: read(leaf(t) * 2),
    "set of no leaf": lambda t: assigned(leaf(t) * 2, t.float16),
    "not a dtype": lambda t: assigned(leaf(t), "float16"),
    "before requires_grad": lambda t: assigned(x := t.ones(2), t.float64) and read(x.requires_grad_()),
    "a copy": lambda t: (read(copy.deepcopy(leaf(t, "float16"))), read(leaf(t, "float16").detach())),
    "other data": lambda t: (with_data(leaf(t), t.ones(2).double()), with_data(leaf(t, "float16"), t.ones(2).double())),
    "a parameter": lambda t: assigned(t.nn.Parameter(t.ones(2)), t.bfloat16),
    "backward": lambda t: accumulated(t, leaf(t, "float16"), 1, 1),
    "wider": lambda t: accumulated(t, leaf(t, "float64"), 1, 1),
    "any gradient": lambda t: accumulated(t, leaf(t, None), t.ones(2, dtype=t.float64), 1),
    "own gradient": lambda t: accumulated(t, leaf(t), t.ones(2, dtype=t.float64), 1),
    "a graph that is there": counted_before,
    "grad": lambda t: t.autograd.grad((x := leaf(t, "float16")).sum() * 3, x),
    "assigned gradient": lambda t: with_gradient(leaf(t, "float64"), t.ones(2).double()),
    "a step": lambda t: (accumulated(t, x := leaf(t, "float16"), 1), t.optim.SGD([x], 0.1).step(), x),
}


@pytest.mark.parametrize("case", CASES)
def test_grad_dtype_is_that_of_pytorch(case: str) -> None:
    assert_same(CASES[case])


def test_a_gradient_of_another_dtype_is_refused() -> None:
    x = leaf(mindtorch, "float64")
    with pytest.raises(RuntimeError, match=r"grad_dtype 'torch\.float64'"):
        x.grad = mindtorch.ones(2)
    x.grad = mindtorch.ones(2, dtype=mindtorch.float64)
    with pytest.raises(RuntimeError, match=r"already a gradient with dtype 'torch\.float64'"):
        x.grad_dtype = mindtorch.float16
