"""Derivatives of attention. That of the kernel in blocks has itself none, as in PyTorch."""
from __future__ import annotations

from ..._dispatch.aten import _scaled_dot_product_flash_attention_for_cpu_backward as flash_backward
from ..derivative import derivative

derivative("_scaled_dot_product_flash_attention_for_cpu", None, (0,), **{
    "query, key, value": lambda grad, query, key, value, output, logsumexp, dropout_p, is_causal, attn_mask, scale:
    flash_backward(grad, query, key, value, output, logsumexp, dropout_p, is_causal, attn_mask, scale)})
