"""``flex_attention``: scores and masks as functions of positions, with PyTorch's values and blocks."""
from __future__ import annotations

import pytest

import mindtorch as torch
from mindtorch.nn.attention import flex_attention as ours

reference = pytest.importorskip("torch", reason="PyTorch is not installed")
theirs = pytest.importorskip("torch.nn.attention.flex_attention", reason="PyTorch is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")


def causal(b, h, q, k):
    return q >= k


def window(b, h, q, k):
    return q - k < 3


def alibi(score, b, h, q, k):
    return score + (k - q) * 2. ** -(h + 1)


def softcap(score, b, h, q, k):
    return (score / 5).tanh() * 5


@pytest.mark.parametrize(("score_mod", "masks", "heads"), [
    (None, (), 2), (alibi, (), 2), (None, (causal,), 2), (softcap, (causal, window), 2), (alibi, (causal,), 4),
])
def test_values_are_pytorchs(score_mod, masks, heads) -> None:
    results = []
    for lib, flex in ((torch, ours), (reference, theirs)):
        torch.manual_seed(0)
        q, k, v = (lib.tensor(torch.randn(2, h, 6, 4).tolist()) for h in (heads, 2, 2))
        block_mask = flex.create_block_mask(flex.and_masks(*masks), 2, heads, 6, 6, device="cpu",
                                            BLOCK_SIZE=2) if masks else None
        out, lse = flex.flex_attention(q, k, v, score_mod, block_mask, enable_gqa=heads > 2, return_lse=True)
        results.append([out.tolist(), lse.tolist()])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(torch.tensor(found), torch.tensor(expected), rtol=1e-5, atol=1e-5)


def test_gradients_are_those_of_differences() -> None:  # which PyTorch does not have on the CPU
    block_mask = ours.create_block_mask(causal, 1, 2, 3, 3)
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, h, 3, 2, dtype=torch.float64, requires_grad=True) for h in (2, 1, 1))
    assert torch.autograd.gradcheck(lambda *x: ours.flex_attention(*x, alibi, block_mask, enable_gqa=True), (q, k, v))


def test_rows_without_a_key_are_zero() -> None:
    def nothing_for_the_first(b, h, q, k):
        return q > k

    q = torch.ones(1, 1, 3, 4)
    block_mask = ours.create_block_mask(nothing_for_the_first, 1, 1, 3, 3)
    assert ours.flex_attention(q, q, q, block_mask=block_mask)[0, 0, :, 0].tolist() == [0., 1., 1.]


@pytest.mark.parametrize("mask", [causal, window])
def test_blocks_are_pytorchs(mask) -> None:
    found, expected = (flex.create_block_mask(mask, None, 2, 300, 260, device="cpu") for flex in (ours, theirs))
    assert found.shape == expected.shape and found.sparsity() == expected.sparsity() and repr(found) == repr(expected)
    for name in ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist(), name
    assert found[:, :, 1:].kv_num_blocks.tolist() == expected[:, :, 1:].kv_num_blocks.tolist()
    both = [flex.create_mask(mask, 1, 1, 4, 5, device="cpu").tolist() for flex in (ours, theirs)]
    assert both[0] == both[1]


@pytest.mark.parametrize("change", [
    lambda lib, flex, q: flex.flex_attention(q[0], q[0], q[0]),
    lambda lib, flex, q: flex.flex_attention(q.expand(1, 2, 3, 4), q, q),
    lambda lib, flex, q: flex.flex_attention(q, q[..., :2], q),
    lambda lib, flex, q: flex.flex_attention(q, q, q, block_mask=flex.create_block_mask(causal, 1, 1, 9, 9, "cpu")),
    lambda lib, flex, q: flex.and_masks(3),
])
def test_errors_have_pytorchs_types(change) -> None:
    with pytest.raises(Exception) as expected:
        change(reference, theirs, reference.ones(1, 1, 3, 4))
    with pytest.raises(expected.type):
        change(torch, ours, torch.ones(1, 1, 3, 4))


def test_a_mask_of_blocks_goes_to_a_device_as_a_whole() -> None:
    mask = ours.create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 256, 256)
    moved = mask.to("meta")
    parts = {name: part.device.type for name, part in vars(moved).items() if isinstance(part, torch.Tensor)}
    assert len(parts) >= 6 and set(parts.values()) == {"meta"} and mask.kv_indices.device.type == "cpu"
