"""How many graphs and operators Dynamo makes of functions as tutorials have them, and what the functions then return:
PyTorch's table of answers is ``expected.json``.
"""
from __future__ import annotations

import json
import re

import pytest

import mindtorch as torch

from . import functions

CASES = functions.load(torch)
EXPECTED = json.loads(functions.EXPECTED.read_text())
#: What differs from PyTorch, and why.
DIFFERS = {
    "while_on_data": "sizes are fixed and a rest is compiled for each of its own; PyTorch runs a loop of data once",
    "asserts": "the graph returns the condition, which is checked behind it; PyTorch has an operator for that",
    "warns": "PyTorch keeps a node whose result is not used",
}


def test_the_table_is_of_these_functions() -> None:
    assert CASES.keys() == EXPECTED.keys() and DIFFERS.keys() <= EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_graphs_and_operators_are_as_many_as_in_pytorch(name) -> None:
    found = functions.measure(torch, *CASES[name])
    assert (found == EXPECTED[name]) is (name not in DIFFERS), found


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", EXPECTED)
def test_the_results_are_those_of_the_function(name, backend) -> None:
    function, make = CASES[name]
    compiled = torch.compile(function, backend=backend)
    for _ in range(2):
        written, args = [one() for one in make], [one() for one in make]
        kept = [*functions_log()]
        expected = function(*written)
        functions_log()[:] = kept
        assert shown(compiled(*args)) == shown(expected) and str(args) == str(written)


def shown(result) -> str:
    return re.sub(r"grad_fn=<\w+>", "grad_fn", str(result))


def functions_log():
    return CASES["appends_to_global"][0].__globals__["LOG"]


@pytest.mark.parametrize("dtype", ["float32", "int64", "float8_e5m2"])
@pytest.mark.parametrize("layout", [((2, 3), (1, 2)), ((0, 3), (1, 2)), ((), ()), ((2, 2), (4, 1))], ids=str)
def test_random_numbers_in_a_layout_are_in_memory_of_its_size(layout, dtype) -> None:
    size, stride = layout
    made = torch._dynamo.testing.rand_strided(size, stride, getattr(torch, dtype), extra_size=5)
    reach = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) if 0 not in size else 0
    assert (tuple(made.shape), made.stride(), made.dtype) == (size, stride, getattr(torch, dtype))
    assert made.untyped_storage().nbytes() == (reach + 5) * made.itemsize
    assert (dtype == "int64" or not made.numel()) == (not made.float().abs().sum())
