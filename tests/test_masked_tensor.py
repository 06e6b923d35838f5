"""``torch.masked.MaskedTensor``: functions, reductions, layouts and gradients are PyTorch's."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch
from tests.support import torch

pytestmark = pytest.mark.filterwarnings("ignore")
Case = Callable[[Any, Any, Any], Any]
REDUCTIONS = ["sum", "mean", "amin", "amax", "prod", "var", "std"]
FUNCTIONS = ["exp", "sqrt", "neg", "square", "abs", "sin", "log1p"]
OPERATORS = ["add", "mul", "div", "sub", "maximum", "fmin", "lt", "pow"]


def made(lib: Any) -> tuple[Any, Any]:
    data = lib.arange(12.0).view(3, 4) / 5 - 0.7
    return data, lib.tensor([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 0, 1]]).bool()


def gradient(lib: Any, function: Callable[[Any], Any]) -> Any:
    x = lib.masked.masked_tensor(*made(lib), requires_grad=True)
    out = function(x)
    (out if out.ndim == 0 else out.sum()).backward()
    return out, x.grad


def wheres(lib: Any) -> Any:
    data, mask = made(lib)
    x, y = (lib.masked.masked_tensor(data, m, requires_grad=True) for m in (mask, ~mask))
    lib.where(data > 0, x, y).sum().backward()
    return x.grad, y.grad


def joined(lib: Any) -> Any:
    data, mask = made(lib)
    leaf = data.clone().requires_grad_()
    lib.masked.as_masked_tensor(leaf, mask).mul(3).sum().backward()
    return leaf.grad


def written(x: Any) -> Any:
    x.add_(1)
    return x.exp_()


CASES: dict[str, Case] = {
    "text": lambda lib, x, d: (x, x.sum(), x[1, 1], lib.masked.masked_tensor(lib.arange(3), d[0, :3] < -0.4)),
    "along dimensions": lambda lib, x, d: [*[getattr(x, n)(1) for n in REDUCTIONS], x.argmax(0, True),
                                           lib.sum(x, (0, 1))],
    "of bools": lambda lib, x, d: ((x > 0).all(), lib.all(x > 0, 1)),
    "gradients of reductions": lambda lib, x, d: [gradient(lib, getattr(lib, n)) for n in REDUCTIONS],
    "gradients of functions": lambda lib, x, d: [gradient(lib, getattr(lib, n)) for n in FUNCTIONS],
    "two tensors": lambda lib, x, d: [getattr(lib, n)(x, y) for n in OPERATORS for y in (x, 2, d)],
    "other masks": lambda lib, x, d: lib.add(x, lib.masked.masked_tensor(d, d > 0)),
    "symbols": lambda lib, x, d: (x < 1, 1 - x, 2 * x, -x, x / 2, x ** 2),
    "softmax": lambda lib, x, d: gradient(lib, lambda x: x.softmax(1).exp()),
    "views": lambda lib, x, d: (x[0], x[:, 1:3], x.view(4, 3), x.t(), x.reshape(-1), x.unsqueeze(0), x.split(2, 1)),
    "joining": lambda lib, x, d: (lib.cat([x, x]), lib.stack([x, x])),
    "where": lambda lib, x, d: (lib.where(d > 0, x, x * 2), wheres(lib)),
    "history": lambda lib, x, d: joined(lib),
    "in place": lambda lib, x, d: written(x),
    "copies": lambda lib, x, d: (x.double().dtype, x.half(), x.detach(), x.clone().get_mask(), x.to_tensor(-1)),
    "coordinates": lambda lib, x, d: (x.to_sparse(), (x.to_sparse() * 2).to_dense(), x.to_sparse().sum(),
                                      x.to_sparse().exp().layout, gradient(lib, lambda x: x.to_sparse().to_dense())),
    "compressed rows": lambda lib, x, d: (x.to_sparse_csr(), x.to_sparse_csr().sin().to_dense()),
    "functions of torch.masked": lambda lib, x, d: [getattr(lib.masked, n)(x, 1)
                                                    for n in ("sum", "mean", "amax", "softmax")],
    "a mask of numbers": lambda lib, x, d: lib.masked.masked_tensor(d, d),
    "a mask of another size": lambda lib, x, d: lib.masked.masked_tensor(d, d[0] > 0),
    "complex data": lambda lib, x, d: lib.masked.masked_tensor(d.to(lib.complex64), d > 0),
    "a list": lambda lib, x, d: lib.masked.masked_tensor([1.0], d > 0),
}


def outcome(lib: Any, case: Case) -> str:
    data, mask = made(lib)
    try:
        return str(case(lib, lib.masked.masked_tensor(data, mask), data))
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("name", CASES)
def test_it_is_pytorchs(name: str) -> None:
    assert outcome(mindtorch, CASES[name]) == outcome(torch, CASES[name])


def test_nodes_of_the_graph_have_pytorchs_names() -> None:
    names = []
    for lib in (mindtorch, torch):
        data, mask = made(lib)
        masked = lib.masked.as_masked_tensor(data.requires_grad_(), mask)
        names.append((masked.grad_fn.name(), masked.get_data().grad_fn.name()))
    assert names[0] == names[1]


def test_an_operator_without_a_row_is_refused_in_words() -> None:
    x = mindtorch.masked.masked_tensor(*made(mindtorch))
    with warnings.catch_warnings(record=True) as caught, pytest.raises(TypeError):
        warnings.simplefilter("always")
        x @ x.t()
    assert any("mm is not implemented" in str(warning.message) for warning in caught)
