"""A sample of operators of many elements in any memory: values and gradients are PyTorch's."""
from __future__ import annotations

import pytest

import mindtorch
from tests.fuzz.layouts import case

SAMPLE = 30


def test_operators_of_many_elements_in_any_memory_agree() -> None:
    outcomes = [(number, case(number, 3, [])) for number in range(SAMPLE)]
    assert not [f"case {number}: {outcome.shown}\n    {outcome.found}" for number, outcome in outcomes if outcome.found]


def test_a_kernel_that_is_wrong_for_one_layout_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = mindtorch.trunc
    monkeypatch.setattr(mindtorch, "trunc", lambda x: right(x) if x.is_contiguous() else right(x) + 1)
    outcomes = [case(number, 0, ["trunc"]) for number in range(12)]
    assert 0 < sum(bool(outcome.found) for outcome in outcomes) < len(outcomes)
