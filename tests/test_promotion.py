"""Type promotion is PyTorch's: of tensors with dimensions, tensors without, and numbers, in every dtype."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import assume, given, settings, strategies as st

import mindtorch
from tests.support import Difference, Outcome, differences, error_differences, port, torch

DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
          torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128]
NUMBERS = [True, False, 0, 1, -1, 3, 300, -200, 0.5, -2.0, 0.1, 1j, 1.5 - 2j]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "eq", "ne", "lt", "ge", "and_", "or_", "xor",
                 "lshift", "rshift")
}
FUNCTIONS = ["maximum", "fmin", "atan2", "logical_and", "copysign", "fmod", "heaviside", "gcd", "hypot", "where"]
SHAPES = st.sampled_from([(3,), (2, 1), (2, 3), (), (), (0,)])


@st.composite
def tensors(draw: Any) -> torch.Tensor:
    """Small integers in any dtype: which ones does not matter, but that they can be computed with exactly."""
    shape, dtype = draw(SHAPES), draw(st.sampled_from(DTYPES))
    values = draw(st.lists(st.integers(0, 4), min_size=6, max_size=6))
    count = torch.Size(shape).numel()
    return torch.tensor(values[:count], dtype=torch.float32).reshape(shape).to(dtype)


numbers = st.sampled_from(NUMBERS)
real_numbers = numbers.filter(lambda number: not isinstance(number, complex))
operands = st.one_of(tensors(), numbers)


def compare(function: Callable[..., Any], ours: Callable[..., Any], *arguments: Any) -> list[Difference]:
    """In what the results differ: dtype, shape, stride and values, or the type of exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ported = port(list(arguments), mindtorch)
        expected, got = Outcome.of(function, *arguments), Outcome.of(ours, *ported)
    assume("ComplexHalf" not in str(expected.error))  # complex32 is no dtype of this library
    assume(getattr(expected.value, "dtype", None) is not torch.complex32)
    found = list(error_differences(got, expected))
    if not found and expected.error is None:
        found = list(differences(got.value, expected.value))
    return found


def same(function: Callable[..., Any], ours: Callable[..., Any], *arguments: Any) -> None:
    found = compare(function, ours, *arguments)
    assert not found, "; ".join(map(str, found))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(operands, operands)
def test_result_type(a: Any, b: Any) -> None:
    expected = torch.result_type(a, b)
    assume(expected is not torch.complex32)
    assert str(mindtorch.result_type(*port([a, b], mindtorch))) == str(expected)


@pytest.mark.parametrize("name", OPERATORS)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(tensors(), operands)
def test_operators_of_a_tensor_and_anything(name: str, a: torch.Tensor, b: Any) -> None:
    same(OPERATORS[name], OPERATORS[name], a, b)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "lshift"])
@settings(max_examples=40, deadline=None, derandomize=True)
@given(numbers, tensors())
def test_operators_of_a_number_and_a_tensor(name: str, a: Any, b: torch.Tensor) -> None:
    same(getattr(operator, name), getattr(operator, name), a, b)


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ior", "ilshift"])
@settings(max_examples=40, deadline=None, derandomize=True)
@given(tensors(), operands)
def test_in_place_operators_keep_the_dtype_or_refuse(name: str, a: torch.Tensor, b: Any) -> None:
    found = compare(getattr(operator, name), getattr(operator, name), a, b)
    # Of two errors in one call PyTorch may see the other one first; NotImplementedError is a RuntimeError.
    found = [d for d in found if d.kind != "error" or "no error" in (d.ours, d.theirs)]
    assert not found, "; ".join(map(str, found))


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(tensors(), tensors())
def test_functions_of_two_tensors(name: str, a: torch.Tensor, b: torch.Tensor) -> None:
    if name == "where":
        same(lambda a, b: torch.where(a > 1, a, b), lambda a, b: mindtorch.where(a > 1, a, b), a, b)
    else:
        same(getattr(torch, name), getattr(mindtorch, name), a, b)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(tensors(), st.one_of(st.none(), real_numbers), st.one_of(st.none(), real_numbers))
def test_clamp_with_numbers(a: torch.Tensor, low: Any, high: Any) -> None:
    same(torch.clamp, mindtorch.clamp, a, low, high)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(tensors(), operands)
def test_powers(a: torch.Tensor, exponent: Any) -> None:
    base = a.masked_fill(a == 0, 1)  # 0j ** 0 is nan in PyTorch, 1 in C and here
    same(torch.pow, mindtorch.pow, base, exponent)


@pytest.mark.parametrize("number", [2**64, -2**63 - 1, 2**63, 2**64 - 1, 2**100])
@pytest.mark.parametrize("name", ["add", "mul", "sub", "lt"])
def test_integers_that_no_dtype_holds_are_refused_and_others_wrap(name: str, number: int) -> None:
    function, x = getattr(operator, name), torch.tensor([1, 2])
    same(function, function, x, number)


def test_only_sums_of_booleans_have_a_boolean_factor() -> None:
    for dtype in (torch.bool, torch.int64, torch.float32):
        same(partial(torch.add, alpha=True), partial(mindtorch.add, alpha=True), *[torch.ones(2, dtype=dtype)] * 2)
