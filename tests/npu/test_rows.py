"""What a 910B does not take runs elsewhere, visibly: rows say so beforehand, and what is refused when it is planned is
caught then.
"""
from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

import mindtorch as torch
from mindtorch._backends.npu import aclnn
from mindtorch._backends.npu.aclnn import launch
from mindtorch._backends.npu.constants import (  # type: ignore[attr-defined]
    ACLNN_ERR_INNER, ACLNN_ERR_INNER_FIND_KERNEL_ERROR, ACLNN_ERR_PARAM_INVALID, ACLNN_ERR_RUNTIME_ERROR,
)
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


@pytest.mark.parametrize("call, name, program", [
    ("aclnnCast", "_to_copy", lambda x: x.t().to(torch.int64)), ("aclnnInplaceOne", "ones", torch.ones_like),
    ("aclnnEqual", "equal", lambda x: torch.tensor(torch.equal(x, x + 0))),
    ("aclnnInplaceCopy", "copy_", lambda x: x.clone().t().contiguous()),
    ("aclnnInplaceCopy", "copy_", lambda x: torch.zeros_like(x)[:, 1:].copy_(x[:, :2])),
    ("aclnnInplaceCopy", "copy_", lambda x: torch.zeros_like(x).to(torch.bfloat16).copy_(x[0])),
    ("aclnnInplaceCopy", "copy_", lambda x: x.to(torch.complex64).t().contiguous().real),
    ("aclnnNonzero", "nonzero", torch.nonzero),
    ("aclnnMaskedSelect", "masked_select", lambda x: torch.masked_select(x, x > 2)),
    ("aclnnUnique2", "_unique2", lambda x: x.unique(return_counts=True)[1]),
])
def test_whatever_is_refused_runs_another_way_and_a_warning_says_so(call: str, name: str, program: Any) -> None:
    host = torch.arange(6.0).reshape(2, 3)
    device = host.npu()
    with noted(), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        FAULTS.fail(call, phase=1, times=None, code=ACLNN_ERR_INNER_FIND_KERNEL_ERROR)
        found, expected = program(device), program(host)
        assert found.dtype is expected.dtype and found.tolist() == expected.tolist()
    assert any(f"aten::{name} is refused by {call}GetWorkspaceSize" in str(w.message) for w in told), [
        str(w.message) for w in told]


def test_no_operator_of_several_runs_if_one_is_refused() -> None:
    """Or else a fallback would take half of a step twice."""
    weights = [torch.ones(2, 2, device="npu").t() for _ in range(3)]
    with noted(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        FAULTS.fail("aclnnAdd", phase=1, probability=0.3, seed=1, times=None, code=ACLNN_ERR_INNER_FIND_KERNEL_ERROR)
        for _ in range(10):
            torch._fused_sgd_(weights, [torch.ones(2, 2, device="npu") for _ in weights], [], weight_decay=0.0,
                              momentum=0.0, lr=0.5, dampening=0.0, nesterov=False, maximize=False, is_first_step=False)
    assert [weight.tolist() for weight in weights] == [[[-4.0] * 2] * 2] * 3


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


def test_outputs_of_unknown_sizes_are_the_cpus_if_cann_does_not_tell_them(monkeypatch: pytest.MonkeyPatch) -> None:
    is_found = aclnn.is_found
    monkeypatch.setattr(aclnn, "is_found", lambda name: name != "aclGetViewShape" and is_found(name))
    x = torch.tensor([0.0, 2.0], device="npu")
    with noted() as (launched, fallen), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert x.nonzero().tolist() == [[1]]
    assert fallen == {"nonzero"} and "aclnnNonzero" not in launched


def pooled(self: Any, *settings: Any) -> tuple[Any, ...]:
    return self, *settings, False, self.clone(), torch.zeros(self.shape, dtype=torch.int32, device="npu")


def attended(query: Any, key: Any, mask: Any = None, mode: int = 0, heads: int = 2) -> tuple[Any, ...]:
    rows = torch.zeros(*query.shape[:3], 8, device="npu")
    return (query, key, key, None, None, None, mask, None, 1.0, 1.0, 9, 9, heads, "BNSD", 0, mode, rows, rows.clone(),
            query.new_empty((0,)), query.clone())


def attended_backward(query: Any, most: Any, sums: Any) -> tuple[Any, ...]:
    return (query, query, query, query.clone(), None, None, None, None, most, sums, None, query.clone(), None, 1.0, 1.0,
            9, 9, 2, "BNSD", 0, 0, query.clone(), query.clone(), query.clone(), query.new_empty((0,)))


REFUSED: dict[str, Any] = {
    "aclnnFlashAttentionScore do not go together": lambda: attended(image(), image(4, 5)),
    "aclnnFlashAttentionScore headNum 3, 2 heads": lambda: attended(image(), image(), heads=3),
    "aclnnFlashAttentionScore attenMaskOptional has the shape .4, 5.": lambda: attended(
        image(), image(), torch.ones(4, 5, dtype=torch.bool, device="npu")),
    "aclnnFlashAttentionScore a mask of 2048 times 2048": lambda: attended(image(), image(), mode=2),
    "aclnnFlashAttentionScoreGrad softmaxMax and softmaxSum must": lambda: attended_backward(
        image(), torch.zeros(1, 2, 4, 7, device="npu"), torch.zeros(1, 2, 4, 8, device="npu")),
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
        launch([(name, REFUSED[refusal]())], current_queue(0))
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


@pytest.mark.parametrize("write", [False, True], ids=["read", "write"])
@pytest.mark.parametrize("spelling", [
    "True", "False", "[]", "mask, :, [0, 2]", ":, :, [0, 1], True", "[1], False", "none", "none, :, []",
])
def test_single_truth_values_and_empty_indices_index_on_the_npu(spelling: str, write: bool) -> None:
    found = []
    for device in ("cpu", "npu"):
        x = torch.arange(48.0, device=device).view(2, 2, 3, 4)
        mask = torch.tensor([[True, False], [False, True]], device=device)
        parts = {"True": torch.tensor(True, device=device), "False": torch.tensor(False, device=device),
                 "mask": mask, "none": mask & False, ":": slice(None),
                 **{part: torch.tensor(eval(part), dtype=torch.int64, device=device)
                    for part in ("[]", "[1]", "[0, 1]", "[0, 2]")}}
        at = tuple(parts[part] for part in re.split(r", (?![^[]*])", spelling))
        with noted() as (_, fallen):
            if write:
                x[at] = -1
            found.append((x if write else x[at]).tolist())
        assert not fallen
    assert found[0] == found[1]


# -- attention ---------------------------------------------------------------------------------------------------------

def attend(width: int = 8, dtype: Any = torch.float32, mask: Any = None, dropout_p: float = 0.0, heads: int = 2,
           **options: Any) -> Any:
    """Queries with their gradients recorded, and their attention to other places of theirs."""
    query = torch.randn(1, heads, 3, width, dtype=dtype).to("npu").requires_grad_()
    return query, F.scaled_dot_product_attention(query, query.flip(2), query, mask, dropout_p, **options)


def test_attention_is_one_operator_of_the_npu_forward_and_backward() -> None:
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        with noted() as (launched, fallen):
            query, out = attend(dtype=dtype)
            out.sum().backward()
        assert launched >= {"aclnnFlashAttentionScore", "aclnnFlashAttentionScoreGrad"} and not fallen
        assert "aclnnBatchMatMul" not in launched
        assert type(out.grad_fn).__name__ == "ScaledDotProductFusedAttentionOverrideableBackward0"
        host = query.detach().cpu().requires_grad_()
        expected = F.scaled_dot_product_attention(host, host.flip(2), host)
        expected.sum().backward()
        wide = {"atol": 2e-2 if dtype is not torch.float32 else 1e-5, "rtol": 0}
        torch.testing.assert_close(out.detach().cpu(), expected.detach(), **wide)
        torch.testing.assert_close(query.grad.cpu(), host.grad, **wide)


@pytest.mark.parametrize("options", [
    {"width": 6}, {"dtype": torch.float64}, {"dropout_p": 0.5}, {"width": 516}, {"heads": 257},
    {"mask": torch.zeros(3, 3)},
], ids=lambda options: next(iter(options)))
def test_what_the_attention_of_an_npu_does_not_take_is_computed_in_other_operators(options: Any) -> None:
    """As op-plugin chooses; of dropout it would draw a mask itself."""
    if "mask" in options:
        options = {"mask": options["mask"].to("npu")}
    with noted() as (launched, _), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, out = attend(**options)
    assert "aclnnFlashAttentionScore" not in launched and out.shape[1] == options.get("heads", 2)


def test_attention_that_is_refused_when_it_is_planned_runs_on_the_cpu_forward_and_backward() -> None:
    with noted() as (_, fallen), pytest.warns(UserWarning, match="is refused by aclnnFlashAttentionScore"):
        FAULTS.fail("aclnnFlashAttentionScore", phase=1, code=ACLNN_ERR_PARAM_INVALID)
        FAULTS.fail("aclnnFlashAttentionScoreGrad", phase=1, code=ACLNN_ERR_PARAM_INVALID)
        query, out = attend(is_causal=True)
        out.sum().backward()
    assert fallen == {"_scaled_dot_product_fused_attention_overrideable" + form for form in ("", "_backward")}
    host = query.detach().cpu().requires_grad_()
    F.scaled_dot_product_attention(host, host.flip(2), host, is_causal=True).sum().backward()
    torch.testing.assert_close(query.grad.cpu(), host.grad)


def test_who_wants_no_fused_kernel_gets_none() -> None:
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH), noted() as (launched, fallen):
        attend()
    assert "aclnnFlashAttentionScore" not in launched and not fallen
