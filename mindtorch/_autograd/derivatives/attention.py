"""Derivatives of attention. Those of the kernels have themselves none, as in PyTorch."""
from __future__ import annotations

from ..._dispatch.aten import (
    _scaled_dot_product_flash_attention_for_cpu_backward as flash_backward,
    _scaled_dot_product_fused_attention_overrideable_backward as fused_backward,
)
from ..derivative import derivative

derivative("_scaled_dot_product_flash_attention_for_cpu", None, (0,), **{
    "query, key, value": lambda grad, query, key, value, output, logsumexp, dropout_p, is_causal, attn_mask, scale:
    flash_backward(grad, query, key, value, output, logsumexp, dropout_p, is_causal, attn_mask, scale)})
derivative("_scaled_dot_product_fused_attention_overrideable", None, (0,), **{
    "query, key, value":
    lambda grad, query, key, value, attn_bias, output, logsumexp, dropout_p, is_causal, scale:
    fused_backward(grad, query, key, value, attn_bias, (True, True, True, False), output, logsumexp, None, None,
                   query.shape[2], key.shape[2], dropout_p, is_causal, None, None, scale)[:3]})
