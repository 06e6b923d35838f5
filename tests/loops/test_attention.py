"""Attention of few rows by a loop is that of NumPy and PyTorch, and so are its gradients."""
from __future__ import annotations

from typing import Any

import pytest

import mindtorch

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
    assert used == {"attention"}
    for other in (by_numpy(lambda: attention(mindtorch, *mine)), port(attention(torch, source, keys), mindtorch)):
        mindtorch.testing.assert_close(result, other, equal_nan=True)
        assert result.stride() == other.stride()


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
    assert "attention" in used
    for one, other in zip(mine, gradients(torch, source, keys), strict=True):
        mindtorch.testing.assert_close(one, port(other, mindtorch), equal_nan=True, rtol=1e-4, atol=1e-5)
