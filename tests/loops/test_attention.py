"""Attention of few rows by a loop is that of NumPy and PyTorch, and so are its gradients."""
from __future__ import annotations

from typing import Any

import pytest

import mindtorch
from mindtorch._base import loops

from ..support import port, torch

ATTENTION: dict[str, tuple[Any, dict[str, Any]]] = {
    "plain": (None, {}),
    "causal": (None, {"is_causal": True, "scale": 0.3}),
    "shared keys": (None, {"enable_gqa": True}),
    "causal with shared keys": (None, {"is_causal": True, "enable_gqa": True}),
    "mask": (lambda x: x[0, 0, :, :9] * 3, {}),
    "mask for each batch": (lambda x: (x[:, :1, :1, :9] > 0).log(), {}),
    "mask for each row": (lambda x: x[:1, :, :, :1] * 100, {}),
    "rows without columns": (lambda x: (x[:1, :1, :, :9] > 3).log(), {}),
    "large scores": (lambda x: x[0, 0, :, :9] * 1e4, {}),
}


def loop_of(case: str) -> str:
    """Return the loop of few rows: of blocks, if heads have keys of their own, and no mask."""
    return "attention_blocks" if case in ("plain", "causal") and loops.has_wide_vectors() else "attention"


@pytest.mark.parametrize("case", ATTENTION)
def test_attention_of_few_rows_agrees_with_numpy_and_pytorch(case, by_numpy, used) -> None:
    mask, settings = ATTENTION[case]
    width = 16 + [*ATTENTION].index(case)  # plans of another case would hide the loop
    source = torch.randn(2, 5, 4, width, generator=torch.Generator().manual_seed(1))
    keys = torch.randn(2, 2 if "shared" in case else 4, 9, width, generator=torch.Generator().manual_seed(2))

    def attention(t: Any, x: Any, keys: Any) -> Any:
        term = None if mask is None else mask(x.transpose(1, 2).contiguous())
        return t.nn.functional.scaled_dot_product_attention(x.transpose(1, 2), keys, keys * 2, term, **settings)

    mine = port(source, mindtorch), port(keys, mindtorch)
    result = attention(mindtorch, *mine)
    assert used == {loop_of(case)}
    for other in (by_numpy(lambda: attention(mindtorch, *mine)), port(attention(torch, source, keys), mindtorch)):
        mindtorch.testing.assert_close(result, other, equal_nan=True)
        assert result.stride() == other.stride()


def test_attention_of_few_heads_takes_a_sequence_that_lies_first(used) -> None:
    """As the modules have it: the heads of a batch together are a view that is not contiguous."""
    given = torch.randn(4, 8, 6, 16, generator=torch.Generator().manual_seed(1))

    def results(t: Any, given: Any) -> list[Any]:
        leaves = [part.clone().requires_grad_() for part in given.unbind()]
        query, key, value, grad = (x.transpose(0, 1).view(2, 3, 8, 16) for x in (*leaves[:3], given[3]))
        out = t.nn.functional.scaled_dot_product_attention(query, key, value)
        return [out.detach(), *t.autograd.grad(out, leaves[:3], grad)]

    for _ in range(2):
        for one, other in zip(results(mindtorch, port(given, mindtorch)), results(torch, given), strict=True):
            mindtorch.testing.assert_close(one, port(other, mindtorch))
    assert used >= {loop_of("plain")}


@pytest.mark.parametrize("case", ATTENTION)
def test_gradients_of_attention_of_few_rows_agree_with_pytorch(case, used) -> None:
    """They are made from the logarithms of the sums, which a loop writes beside its results."""
    mask, settings = ATTENTION[case]
    width = 32 + [*ATTENTION].index(case)
    source = torch.randn(2, 4, 5, width, generator=torch.Generator().manual_seed(1))
    keys = torch.randn(2, 2 if "shared" in case else 4, 9, width, generator=torch.Generator().manual_seed(2))

    def gradients(t: Any, *given: Any) -> Any:
        x, keys = (part.clone().requires_grad_() for part in given)
        term = None if mask is None else mask(x.detach())
        out = t.nn.functional.scaled_dot_product_attention(x, keys, keys * 2, term, **settings)
        return t.autograd.grad(out, (x, keys), x.detach().flip(2))

    mine = gradients(mindtorch, port(source, mindtorch), port(keys, mindtorch))
    assert loop_of(case) in used
    for one, other in zip(mine, gradients(torch, source, keys), strict=True):
        mindtorch.testing.assert_close(one, port(other, mindtorch), equal_nan=True, rtol=1e-4, atol=1e-5)


MASKS: dict[str, Any] = {
    "plain": lambda t, *shape: None,
    "mask": lambda t, *shape: t.linspace(-3, 3, shape[0] * shape[1]).reshape(shape).sin(),
    "rows and blocks without columns": lambda t, *shape: t.where(
        (t.arange(shape[0])[:, None] % 7 == 0) | (t.arange(shape[1]) < 520), -t.inf, 1.0),
    "large scores": lambda t, *shape: t.linspace(-3e4, 3e4, shape[1]).expand(shape),
    "a score that is not a number": lambda t, *shape: t.zeros(shape).index_put((t.tensor(3), t.tensor(2)),
                                                                               t.tensor(t.nan)),
}


@pytest.mark.skipif(not loops.has_wide_vectors(), reason="the processor has no vectors of 16 numbers")
@pytest.mark.parametrize("case, rows, columns, causal, shared", [
    *[(case, 70, 600, False, False) for case in MASKS], ("plain", 600, 70, True, False),
    ("plain", 600, 1100, True, True), ("plain", 1090, 1090, True, False), ("plain", 2100, 530, True, False)])
def test_attention_in_blocks_and_its_gradients_agree_with_numpy_and_pytorch(
        case, rows, columns, causal, shared, by_numpy, used) -> None:
    generator = torch.Generator().manual_seed(1)
    given = [torch.randn(shape, generator=generator) for shape in (
        (1, rows, 4, 24), (1, 2 if shared else 4, columns, 24), (1, 2 if shared else 4, columns, 24), (1, 4, rows, 24))]

    def attention(t: Any, query: Any, key: Any, value: Any, grad: Any) -> list[Any]:
        inputs = [x.clone().requires_grad_() for x in (query, key, value)]
        out = t.nn.functional.scaled_dot_product_attention(
            inputs[0].transpose(1, 2), *inputs[1:], MASKS[case](t, rows, columns), is_causal=causal, enable_gqa=shared)
        return [out.detach(), *t.autograd.grad(out, inputs, grad)]

    mine = port(given, mindtorch)
    results = attention(mindtorch, *mine)
    is_exact = case in ("plain", "mask", "rows and blocks without columns")  # the logarithms of the sums suffice
    assert {name for name in used if name.startswith("attention")} == {"attention_blocks"} | (
        {"attention_blocks_backward"} if is_exact else set())
    for others in (by_numpy(lambda: attention(mindtorch, *mine)), port(attention(torch, *given), mindtorch)):
        for one, other in zip(results, others, strict=True):
            mindtorch.testing.assert_close(one, other, equal_nan=True, rtol=1e-4, atol=2e-5)
            assert one.stride() == other.stride()


@pytest.mark.parametrize("causal", [False, True])
def test_gradients_without_a_loop_fit_a_forward_pass_by_one(causal: bool, used: set[str], monkeypatch) -> None:
    monkeypatch.setattr(loops.attention_blocks_backward, "compiled", lambda size: None)
    given = torch.randn(3, 4, 4, 6, 8, generator=torch.Generator().manual_seed(0)) * 7

    def gradients(t: Any, inputs: Any) -> list[Any]:
        leaves = [x.clone().requires_grad_() for x in inputs]
        t.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal).sum().backward()
        return [torch.tensor(x.grad.tolist(), dtype=torch.float64) for x in leaves]

    exact, theirs = gradients(torch, given.double()), gradients(torch, given)
    for found, other, wanted in zip(gradients(mindtorch, port(given, mindtorch)), theirs, exact, strict=True):
        assert (found - wanted).abs().max() < 4 * (other - wanted).abs().max()
    assert any("attention" in name for name in used)
