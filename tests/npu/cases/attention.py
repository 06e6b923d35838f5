"""Cases of attention."""
from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from .draw import Draw, case

CAUSAL = 2
QUERY = (2, 4, 5, 8)


def mask_of(hidden: Any, mode: int) -> Any:
    return torch.ones(QUERY[2], 7).tril().bool() if mode == CAUSAL else None if hidden is None else hidden == 0


def attention(query: Any, key: Any, value: Any, shift: Any, kept: Any, padding: Any, hidden: Any, prefix: Any,
              scale: float, *settings: Any) -> Any:
    """The maxima and sums of the rows of scores, eight times, weights that are not asked for, and the attention."""
    seen = mask_of(hidden, settings[-1])
    scores = query.float() @ key.float().repeat_interleave(query.shape[1] // key.shape[1], 1).mT * scale
    if seen is not None:
        scores = scores.masked_fill(~seen, -torch.inf)
    most = scores.amax(-1, keepdim=True)
    total = (scores - most).exp().sum(-1, keepdim=True)
    out = F.scaled_dot_product_attention(query, key, value, seen, scale=scale, enable_gqa=True)
    return most.expand(*most.shape[:3], 8), total.expand(*most.shape[:3], 8), torch.empty(0), out


def attention_backward(query: Any, key: Any, value: Any, grad: Any, shift: Any, kept: Any, padding: Any, hidden: Any,
                       most: Any, total: Any, weights: Any, out: Any, prefix: Any, scale: float,
                       *settings: Any) -> Any:
    inputs = [tensor.detach().requires_grad_() for tensor in (query, key, value)]
    again = F.scaled_dot_product_attention(*inputs, mask_of(hidden, settings[-1]), scale=scale, enable_gqa=True)
    return (*torch.autograd.grad(again, inputs, grad), None)


def given(x: Draw, own: int, hidden: Any, mode: int) -> tuple[Any, ...]:
    query, key, value = x(*QUERY), x(2, own, 7, 8), x(2, own, 7, 8)
    return query, key, value, None, None, None, hidden, None, 0.4, 1.0, 2**31 - 1, 0, QUERY[1], "BNSD", 0, mode


for own in (4, 2):
    for hidden, mode in ((None, 0), (torch.arange(35).view(5, 7) % 3 == 1, 0),
                         (torch.ones(2048, 2048, dtype=torch.bool).triu(1), CAUSAL)):
        case("FlashAttentionScore", lambda x, o=own, h=hidden, m=mode: given(x, o, h, m), attention, "reduced|float32")

        def backward(x: Draw, own: int = own, hidden: Any = hidden, mode: int = mode) -> tuple[Any, ...]:
            values = given(x, own, hidden, mode)
            most, total, _, out = attention(*values)
            return *values[:3], x(*QUERY), None, None, None, hidden, most, total, None, out, *values[7:]

        case("FlashAttentionScoreGrad", backward, attention_backward, "float32")
