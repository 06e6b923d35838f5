"""What a 910B does not take runs elsewhere, visibly: rows say so beforehand, and what is refused when it is planned is
caught then.
"""
from __future__ import annotations

import warnings
from typing import Any

import pytest

import mindtorch as torch
from mindtorch._backends.npu import kernels
from mindtorch._backends.npu.aclnn import launch
from mindtorch._backends.npu.constants import ACLNN_ERR_INNER, ACLNN_ERR_PARAM_INVALID, ACLNN_ERR_RUNTIME_ERROR
from mindtorch._backends.npu.runtime import AclError, current_queue
from mindtorch._backends.npu.simulator import descriptors
from mindtorch._backends.npu.simulator.refusals import REFUSALS
from mindtorch.nn import functional as F
from tests.npu.agreement import noted

FAULTS = torch.npu.simulator.faults


@pytest.fixture(autouse=True)
def no_faults() -> Any:
    yield
    FAULTS.clear()


def test_what_is_refused_when_it_is_planned_runs_on_the_cpu_and_says_so_once() -> None:
    x = torch.tensor([-2.0, 3.0], device="npu")
    with noted() as (_, fallen):
        FAULTS.fail("aclnnAbs", phase=1, times=2, code=ACLNN_ERR_PARAM_INVALID)
        with pytest.warns(UserWarning, match="aten::abs is refused by aclnnAbsGetWorkspaceSize") as told:
            assert [x.abs().tolist() for _ in range(3)] == [[2.0, 3.0]] * 3
    assert len(told) == 1 and fallen == {"abs"}


def test_in_place_and_written_in_others_they_run_without_the_refused_one_too() -> None:
    x = torch.tensor([1.0, 2.0], device="npu")
    with noted(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        FAULTS.fail("aclnnAbs", phase=1, code=ACLNN_ERR_PARAM_INVALID)
        assert x.neg_().abs_().tolist() == [1.0, 2.0]
        FAULTS.fail("aclnnRoll", phase=1, code=ACLNN_ERR_PARAM_INVALID)
        assert x.roll(1, 0).tolist() == [2.0, 1.0]
        FAULTS.fail("aclnnForeachNeg", phase=1, code=ACLNN_ERR_PARAM_INVALID)
        assert torch._foreach_neg([x])[0].tolist() == [-1.0, -2.0]


@pytest.mark.parametrize("code", [ACLNN_ERR_INNER, ACLNN_ERR_RUNTIME_ERROR])
def test_a_device_that_does_not_work_is_no_refusal(code: int) -> None:
    assert code not in kernels.REFUSALS
    FAULTS.fail("aclnnAbs", phase=1, code=code)
    with pytest.raises(torch.npu.AclError, match="aclnnAbsGetWorkspaceSize"):
        torch.ones(2, device="npu").abs()


def image(*size: int, **options: Any) -> Any:
    return torch.ones(1, 2, *(size or (4, 4)), device="npu", **options)


def volume(*size: int) -> Any:
    return torch.ones(1, 2, *(size or (4, 4, 4)), device="npu")


ROWS: dict[str, Any] = {
    "isposinf": lambda: torch.ones(2, dtype=torch.float64, device="npu").isposinf(),
    "searchsorted.Tensor": lambda: torch.searchsorted(torch.ones(2, dtype=torch.bfloat16, device="npu"),
                                                      torch.ones(2, dtype=torch.bfloat16, device="npu")),
    "linalg_vector_norm": lambda: torch.linalg.vector_norm(torch.ones(3, device="npu"), 2.5),
    "div.Tensor_mode": lambda: torch.ones(2, dtype=torch.float64, device="npu").div(2.0, rounding_mode="trunc"),
    "max_pool2d_with_indices": lambda: F.max_pool2d(image(requires_grad=True), 2, dilation=2),
    "max_pool3d_with_indices": lambda: F.max_pool3d(volume(), 2, dilation=2),
    "avg_pool3d": lambda: F.avg_pool3d(volume(4, 4, 1), (2, 2, 2), padding=(0, 0, 1)),
    "_upsample_bilinear2d_aa": lambda: F.interpolate(image(1, 51), (1, 1), mode="bilinear", antialias=True),
    "_upsample_nearest_exact1d_backward": lambda: F.interpolate(
        torch.ones(1, 1, 1, device="npu", requires_grad=True), 51, mode="nearest-exact").sum().backward(),
    "upsample_bicubic2d": lambda: torch.ops.aten.upsample_bicubic2d(image(), (5, 5), False, 2.0, 2.0),
    "_foreach_norm": lambda: torch._foreach_norm([torch.ones(3, device="npu")], 2.5),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_a_910b_does_not_take_falls_back_visibly(name: str) -> None:
    with noted() as (_, fallen), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ROWS[name]()
    assert fallen == {"linalg_vector_norm" if name == "_foreach_norm" else name}


def pooled(self: Any, *settings: Any) -> tuple[Any, ...]:
    return self, *settings, False, self.clone(), torch.zeros(self.shape, dtype=torch.int32, device="npu")


REFUSED: dict[str, Any] = {
    "aclnnMaxPool2dWithIndices dilation must be 1": lambda: pooled(image(), (1,), (), (0,), (2,)),
    "aclnnMaxPool2dWithIndices padding .* half of kernelSize": lambda: pooled(image(), (1,), (), (1,), (1,)),
    "aclnnMaxPool2dWithIndices kernelSize and stride must be positive": lambda: pooled(image(), (0,), (), (0,), (1,)),
    "aclnnMaxPool3dWithArgmax self has 3 dimensions": lambda: pooled(volume()[0, 0], (1,), (), (0,), (1,)),
    "aclnnAvgPool3d kernelSize .* is larger than self": lambda: (
        volume(), (5,), (1,), (1,), False, True, 0, volume(1, 1, 1)),
    "aclnnUpsampleBicubic2d 4 elements times 2.0 are not 5": lambda: (
        image(), (5, 5), False, 2.0, 2.0, image(5, 5)),
    "aclnnUpsampleTrilinear3d from 51 to 1 elements is too much": lambda: (
        volume(51, 1, 1), (1, 1, 1), False, 0, 0, 0, volume(1, 1, 1)),
    "aclnnUpsampleLinear1dBackward from 1 to 501 elements": lambda: (
        torch.ones(1, 1, 501, device="npu"), (501,), (1, 1, 1), False, 0, torch.ones(1, 1, 1, device="npu")),
}


@pytest.mark.parametrize("refusal", REFUSED)
def test_the_simulator_refuses_when_it_plans_what_a_910b_refuses(refusal: str) -> None:
    name, message = refusal.split(" ", 1)
    assert name in REFUSALS
    with pytest.raises(AclError, match=message) as refused:
        launch(name, REFUSED[refusal](), current_queue(0))
    assert refused.value.code == ACLNN_ERR_PARAM_INVALID


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.complex64, torch.int32])
def test_isinf_compares_absolute_values(dtype: Any) -> None:
    x = torch.tensor([1.0, 2.0]).to(dtype)
    if dtype.is_floating_point or dtype.is_complex:
        x = x * torch.tensor([1.0, float("inf")]).to(dtype)
    with noted() as (launched, fallen):
        assert x.to("npu").isinf().tolist() == x.isinf().tolist()
    assert not fallen and launched <= {"aclnnAbs", "aclnnEqScalar", "aclnnInplaceZero"}


def test_a_padding_index_that_is_none_runs_on_the_npu() -> None:
    weight = torch.ones(3, 2, device="npu", requires_grad=True)
    with noted() as (launched, fallen):
        torch.nn.functional.embedding(torch.tensor([0, 2], device="npu"), weight).sum().backward()
    assert "aclnnEmbeddingDenseBackward" in launched and not fallen
    assert weight.grad.tolist() == [[1, 1], [0, 0], [1, 1]]


def test_descriptors_of_three_to_five_dimensions_have_the_formats_of_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """As op-plugin's: ND, NCL, NCHW and NCDHW."""
    formats = []
    make = descriptors.AclTensor.__init__

    def noting(self: Any, shape: Any, code: int, stride: Any, offset: int, format: int, *rest: Any) -> None:
        formats.append((len(shape), format))
        make(self, shape, code, stride, offset, format, *rest)

    monkeypatch.setattr(descriptors.AclTensor, "__init__", noting)
    for dims in range(1, 7):
        torch.ones((1,) * dims, device="npu").exp()
    assert set(formats) == {(1, 2), (2, 2), (3, 47), (4, 0), (5, 30), (6, 2)}


def test_an_index_that_is_added_at_writes_into_a_copy() -> None:
    x, at = torch.zeros(3, device="npu"), torch.tensor([0, 2, 0], device="npu")
    result = x.index_add(0, at, torch.ones(3, device="npu"), alpha=2)
    assert x.tolist() == [0, 0, 0] and result.tolist() == [4, 0, 2]
    view = torch.zeros(3, 2, device="npu")[:, 1]
    assert view.index_add_(0, at, torch.ones(3, device="npu")).tolist() == [2, 0, 1]
