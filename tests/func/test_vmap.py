"""`vmap`, and the Jacobians and Hessians built on it: values, structure and errors are PyTorch's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import mindtorch
import mindtorch.func
from tests.func.both import assert_agree

# Functions of a library, its `func`, and matrices of shapes (5, 4), (4, 3), (5, 4).
CASES = {
    "pointwise": lambda L, F, x, w, v: F.vmap(lambda x, v: (x * v).sin() + 1)(x, v),
    "matrix": lambda L, F, x, w, v: F.vmap(lambda x: x @ w)(x),
    "reductions": lambda L, F, x, w, v: F.vmap(lambda x: (x.sum(), x.mean(0), x.softmax(-1), x.max(0).values))(x),
    "in and out dims": lambda L, F, x, w, v: F.vmap(
        lambda x, v: x @ v.t(), in_dims=(None, 1), out_dims=1)(x, L.stack([v, v * 2], 1)),
    "a dict": lambda L, F, x, w, v: F.vmap(lambda p: {"a": p["x"] * 2, "b": [p["v"]]})({"x": x, "v": v}),
    "nested": lambda L, F, x, w, v: F.vmap(lambda a: F.vmap(lambda b: (a * b).sum() + a.exp())(v))(x),
    "views": lambda L, F, x, w, v: F.vmap(
        lambda x: (x.sort()[0], x.cumsum(0), x[1:3], x[None], x.unsqueeze(-1), x.expand(3, 4), x.view(2, 2).t()))(x),
    "in place": lambda L, F, x, w, v: F.vmap(lambda x: x.clone().mul_(2).add_(x))(x),
    "joined": lambda L, F, x, w, v: F.vmap(lambda x: (L.cat([x, w[:, 0]]), L.stack([x, w[:, 0]])))(x),
    "one by one": lambda L, F, x, w, v: F.vmap(lambda x: L.linalg.inv(x.view(2, 2)))(x),
    "in chunks": lambda L, F, x, w, v: F.vmap(lambda x: (x @ w).tanh(), chunk_size=2)(x),
    "gradient of each": lambda L, F, x, w, v: F.vmap(
        F.grad(lambda w, x: (x @ w).tanh().sum()), in_dims=(None, 0))(w, x),
    "gradient of a batch": lambda L, F, x, w, v: F.grad(lambda w: F.vmap(lambda x: (x @ w).tanh().sum())(x).sum())(w),
    "jvp of each": lambda L, F, x, w, v: F.vmap(lambda x, v: F.jvp(lambda x: x.exp() @ w, (x,), (v,)))(x, v),
    "jvp of a batch": lambda L, F, x, w, v: F.jvp(F.vmap(lambda x: x.exp() @ w), (x,), (v,)),
    "jacrev": lambda L, F, x, w, v: F.jacrev(lambda x: (x @ w).tanh())(x),
    "jacrev in chunks": lambda L, F, x, w, v: F.jacrev(lambda x: (x @ w).tanh(), chunk_size=2)(x),
    "jacrev row by row": lambda L, F, x, w, v: F.jacrev(lambda x: (x @ w).tanh(), chunk_size=1)(x),
    "jacrev of several": lambda L, F, x, w, v: F.jacrev(lambda x, w: {"a": x @ w, "b": x.sum()}, argnums=(0, 1))(x, w),
    "jacfwd": lambda L, F, x, w, v: F.jacfwd(lambda x: (x @ w).tanh())(x),
    "jacfwd with aux": lambda L, F, x, w, v: F.jacfwd(lambda x: (x @ w, x.exp()), has_aux=True)(x),
    "hessian": lambda L, F, x, w, v: F.hessian(lambda x: (x @ w).tanh().sum())(x),
    "jacrev of jacrev": lambda L, F, x, w, v: F.jacrev(F.jacrev(lambda x: (x @ w).tanh().sum()))(x),
    "jacrev of jacfwd": lambda L, F, x, w, v: F.jacrev(F.jacfwd(lambda x: (x @ w).tanh().sum()))(x),
    "hessian of each": lambda L, F, x, w, v: F.vmap(F.hessian(lambda x: (x @ w).tanh().sum()))(x),
}
WRONG = {
    "no input": lambda L, F, x, w, v: F.vmap(lambda: 1)(),
    "no batch": lambda L, F, x, w, v: F.vmap(len, in_dims=None)(x),
    "sizes": lambda L, F, x, w, v: F.vmap(L.mul)(x, w),
    "in_dims of floats": lambda L, F, x, w, v: F.vmap(L.sin, in_dims=1.5)(x),
    "randomness": lambda L, F, x, w, v: F.vmap(L.sin, randomness="some")(x),
    "random": lambda L, F, x, w, v: F.vmap(lambda x: x + L.randn(4, dtype=L.float64))(x),
    "chunks of nothing": lambda L, F, x, w, v: F.jacrev(L.sin, chunk_size=0)(x),
    "complex": lambda L, F, x, w, v: F.jacrev(L.sin)(L.complex(x, x)),
    "an item": lambda L, F, x, w, v: F.vmap(lambda x: x.sum().item())(x),
}


@pytest.mark.parametrize("case", CASES)
def test_batch(case: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_agree(CASES[case], (5, 4), (4, 3), (5, 4), tolerance=1e-7)


@pytest.mark.parametrize("case", WRONG)
def test_wrong_call(case: str) -> None:
    assert_agree(WRONG[case], (5, 4), (4, 3), (5, 4))


def test_an_operator_without_a_rule_says_so() -> None:
    with pytest.warns(UserWarning, match="performance drop because we have not yet implemented the batching rule"):
        mindtorch.vmap(mindtorch.linalg.inv)(mindtorch.eye(2).expand(3, 2, 2))


def test_an_ensemble() -> None:
    def run(lib: Any, func: Any, x: Any) -> Any:
        models = [lib.nn.Linear(3, 2) for _ in range(4)]
        for i, parameter in enumerate(p for model in models for p in model.parameters()):
            parameter.data.copy_(lib.tensor(np.random.RandomState(i).randn(*parameter.shape).tolist()))
        parameters, _ = func.stack_module_state(models)
        return func.vmap(lambda p, x: func.functional_call(models[0], p, x), in_dims=(0, None))(parameters, x.float())

    assert_agree(run, (5, 3), tolerance=1e-5)
