"""Operators of the table that few programs reach do on the NPU what PyTorch does on the CPU, through their row."""
from __future__ import annotations

import warnings
from typing import Any

import pytest

import mindtorch
from tests.npu.agreement import noted
from tests.npu.calls import PROGRAMS, Draw
from tests.support import torch


def values(result: Any) -> list[Any]:
    return [part.tolist() for part in (result if isinstance(result, (tuple, list)) else [result])]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_call_runs_on_the_npu_and_gives_pytorch_s_values(name: str) -> None:
    expected = values(PROGRAMS[name](torch, Draw(torch, "cpu")))
    with noted() as (launched, fallen), warnings.catch_warnings():
        warnings.simplefilter("error")
        found = values(PROGRAMS[name](mindtorch, Draw(mindtorch, "npu")))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, abs=1e-5) if not isinstance(one, list) else torch.allclose(
            torch.tensor(one, dtype=torch.float64), torch.tensor(other, dtype=torch.float64), atol=1e-5)
    assert not fallen
    assert not name.isidentifier() or f"aclnn{name}" in launched
