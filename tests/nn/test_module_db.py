"""PyTorch's database of modules: each class is made, printed, run forward and backward as PyTorch's.

Here a sample of it runs; `python -m tests.nn.module_db` runs it whole.
"""
from __future__ import annotations

import warnings

import pytest

import mindtorch
import mindtorch.nn.functional as F
from tests.nn.module_db import compare, database


def found(name: str, dtype: str = "float32", training: bool = True, device: str = "cpu", most: int = 2) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an operator that falls back to the CPU says so; here its values count
        return [f"{place}: {difference}"
                for place, difference in compare(name, mindtorch, dtype, training, device, most)]


@pytest.mark.parametrize("name", database())
@pytest.mark.sampled(2)
def test_module_is_pytorchs(name: str) -> None:
    assert not found(name, training=False) + found(name, dtype="float64")


@pytest.mark.parametrize("name", database())
@pytest.mark.sampled(2)
def test_module_gives_pytorchs_numbers_on_the_npu(name: str) -> None:
    assert not found(name, device="npu", most=1)


@pytest.mark.parametrize(("method", "changed", "step"), [
    ("extra_repr", lambda self: "in_features=1", "description"),
    ("reset_parameters", lambda self: mindtorch.nn.init.zeros_(self.weight), "state"),
    ("forward", lambda self, input: 2 * F.linear(input, self.weight, self.bias), "forward"),
    ("forward", lambda self, input: F.linear(input, self.weight.detach(), self.bias), "backward"),
])
def test_comparison_notices_a_changed_module(method, changed, step, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mindtorch.nn, "Linear", type("Linear", (mindtorch.nn.Linear,), {method: changed}))
    assert all(f" of {step}" in difference for difference in found("Linear"))
    assert found("Linear")
