"""Functions, methods and errors can be sent to other processes: pickles hold the names by which they are found."""
from __future__ import annotations

import pickle
from typing import Any

import pytest

import mindtorch
from mindtorch.nn import functional

NAMESPACES = {"torch": mindtorch, "linalg": mindtorch.linalg, "fft": mindtorch.fft, "special": mindtorch.special,
              "nn.functional": functional}
NAMED = [(space, name) for space, module in NAMESPACES.items() for name in module.__all__
         if callable(getattr(module, name)) and hasattr(getattr(module, name), "packet")]


@pytest.mark.parametrize("space", NAMESPACES)
def test_a_function_is_the_same_after_a_pickle(space: str) -> None:
    functions = [getattr(NAMESPACES[space], name) for where, name in NAMED if where == space]
    assert functions and all(pickle.loads(pickle.dumps(function)) is function for function in functions)


@pytest.mark.parametrize("name", ["add", "to", "new_zeros", "long", "contiguous", "pin_memory", "apply_", "sum"])
def test_a_method_is_the_same_after_a_pickle(name: str) -> None:
    method = getattr(mindtorch.Tensor, name)
    assert pickle.loads(pickle.dumps(method)) is method


def test_a_method_of_a_tensor_takes_its_tensor_along() -> None:
    assert pickle.loads(pickle.dumps(mindtorch.tensor([1.0]).to))(mindtorch.int64).tolist() == [1]


@pytest.mark.parametrize("error", [mindtorch.OutOfMemoryError, mindtorch.linalg.LinAlgError])
def test_an_error_is_the_same_after_a_pickle(error: Any) -> None:
    found = pickle.loads(pickle.dumps(error("no")))
    assert type(found) is error and str(found) == "no"
