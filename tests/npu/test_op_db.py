"""Every operator of the committed list does on the NPU what PyTorch does on the CPU, forward and backward, with a row
or without: values, dtype, shape, stride, aliasing, gradients, and the in-place variant.

A sample is compared here, or all with ``MINDTORCH_FULL=1``; ``python -m tests.npu.agreement`` also says which operators
of ACLNN were reached.
"""
from __future__ import annotations

import warnings

import pytest

import mindtorch
from mindtorch._backends.npu import ops
from tests import FULL
from tests.npu.agreement import check, noted
from tests.parity import agreeing

#: Entries that cannot be run with all their tensors on the NPU.
EXCLUDED = {"tensor_split": "its indices have to be on the CPU, in PyTorch too"}
DTYPES = ("float32", "int64", "float16", "bfloat16", "complex64")


@pytest.mark.parametrize(("name", "dtype"), [
    (name, dtype) for name, dtypes in agreeing.read().items() for dtype in dtypes
    if dtype in DTYPES and name not in EXCLUDED])
@pytest.mark.sampled(29)
def test_operator_agrees_on_the_npu(name: str, dtype: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = check(name, dtype, 0 if FULL else 6)
    told = [f"{part} {sample}: {difference}" for part, sample, difference in result.found]
    assert result.status == "agrees", "\n".join([f"{len(told)} differences {result.reason}", *told[:10]])


def test_an_operator_with_a_row_runs_on_the_npu_and_one_without_falls_back_visibly() -> None:
    with noted() as (launched, fallen):
        check("sigmoid", "float32")
    assert launched >= {"aclnnSigmoid", "aclnnSigmoidBackward"} and not fallen
    with (
        noted() as (launched, fallen),
        pytest.warns(UserWarning, match="_linalg_svd has no NPU kernel.*runs on the CPU"),
    ):
        result = mindtorch.linalg.svdvals(mindtorch.ones(2, 2, device="npu"))
    assert fallen == {"_linalg_svd"} and result.device.type == "npu"
    with noted(), mindtorch.observe() as trace, pytest.warns(UserWarning):
        mindtorch.linalg.svdvals(mindtorch.ones(2, 2, device="npu"))
    assert "cpu_fallback" in [event.kernel for event in trace if event.op == "_linalg_svd"]


def test_every_row_names_an_operator_that_exists() -> None:
    for name in ops.ACLNN_CALLS:
        assert name in mindtorch.registry.operators, name
