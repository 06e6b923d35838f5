"""NPU rows of attention, as op-plugin has ``scaled_dot_product_attention`` computed: queries, keys and values have the
dimensions batch, heads (N), length (S), width (D), and masks mark what is hidden.
"""
from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any

from ...._dtype import bfloat16, bool_, float16, float32
from ...._tensor import Tensor
from . import ACLNN_CALLS
from .row import Call, Each

#: How far before and after itself a query looks, where nothing bounds that.
UNBOUNDED = 2**31 - 1
#: The code of "nothing after the query, counted from the upper left", the size of the mask that comes with it, and the
#: code that allows rows in which everything is hidden.
CAUSAL, CAUSAL_MASK, EMPTY_ROWS = 2, 2048, 2
#: How often the maximum and the sum of a row of scores are there: as many float32 as are 32 bytes.
COPIES = 8
#: The heads, and the widths of them, that aclnnFlashAttentionScore takes at most (op-plugin; CANN's pages).
MOST_HEADS, MOST_WIDTH = 256, 512


def fits(query: Tensor, key: Tensor, value: Tensor, seen: Any, *rest: Any) -> bool:
    """Return True if op-plugin would call aclnnFlashAttentionScore: boolean masks, float32 rows in fours."""
    heads, width = query.shape[1], query.shape[3]
    return (query._dtype in (float16, bfloat16, float32) and (seen is None or seen._dtype is bool_)
            and heads <= MOST_HEADS and width <= MOST_WIDTH and not (query._dtype is float32 and width % 4))


def is_long(query: Tensor, key: Tensor) -> bool:
    """Return True if the full mask would be larger than that of ``CAUSAL``, for which CANN advises the code."""
    return max(query.shape[2], key.shape[2]) > CAUSAL_MASK


def mask_of(query: Tensor, key: Tensor, seen: Any, causal: bool) -> Any:
    """Return the mask of hidden scores or None: two-dimensional where ACLNN takes that, else of their shape."""
    if causal:
        sizes = (CAUSAL_MASK, CAUSAL_MASK) if is_long(query, key) else (query.shape[2], key.shape[2])
        return query.new_ones(sizes, dtype=bool_).triu(1)
    if seen is None:
        return None
    whole = (*query.shape[:3], key.shape[2])
    if seen.ndim != 2 or seen.shape != whole[2:]:
        seen = seen.expand(whole)
    return seen.logical_not()


def settings(query: Tensor, key: Tensor, seen: Any, causal: bool, scale: float | None) -> tuple[Any, ...]:
    precise = EMPTY_ROWS if seen is not None and query.shape[2] > 1 else 0
    return (1 / sqrt(query.shape[3]) if scale is None else scale, 1.0, UNBOUNDED, 0 if causal else UNBOUNDED,
            query.shape[1], "BNSD", precise, CAUSAL if causal and is_long(query, key) else 0)


def attention(query: Tensor, key: Tensor, value: Tensor, seen: Any, dropout_p: float, causal: bool, debug: bool,
              scale: float | None, out: Tensor, logsumexp: Any, *rest: Any) -> Iterator[Call]:
    """ACLNN gives the maxima and the sums of the rows of scores, where ATen has the logarithms."""
    most, total = (query.new_empty((*query.shape[:3], COPIES), dtype=float32) for _ in range(2))
    yield "aclnnFlashAttentionScore", (
        query, key, value, None, None, None, mask_of(query, key, seen, causal), None,
        *settings(query, key, seen, causal, scale), most, total, query.new_empty((0,)), out)
    yield "aclnnLog", (total.select(-1, 0), logsumexp)
    yield "aclnnAdd", (logsumexp, most.select(-1, 0), 1, logsumexp)


def attention_backward(grad: Tensor, query: Tensor, key: Tensor, value: Tensor, seen: Any, wanted: Any, out: Tensor,
                       logsumexp: Any, cum_seq_q: None, cum_seq_k: None, max_q: int, max_k: int, dropout_p: float,
                       causal: bool, seed: None, offset: None, scale: float | None, *grads: Any) -> Iterator[Call]:
    """Weights are exp(score - maximum) / sum, and so the logarithm of the sum is a maximum with the sum 1."""
    rows = (*query.shape[:3], COPIES)
    yield "aclnnFlashAttentionScoreGrad", (
        query, key, value, grad, None, None, None, mask_of(query, key, seen, causal),
        logsumexp.unsqueeze(-1).expand(rows), logsumexp.new_ones(rows), None, out, None,
        *settings(query, key, seen, causal, scale), *grads)


ACLNN_CALLS.update({
    "_scaled_dot_product_fused_attention_overrideable": Each("", attention, when=fits),
    "_scaled_dot_product_fused_attention_overrideable_backward": Each(
        "", attention_backward, when=lambda grad, *args: fits(*args)),
})
