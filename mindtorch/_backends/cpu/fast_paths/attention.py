"""The fast path of attention."""
from __future__ import annotations

from typing import Any

from ...._tensor import from_array
from ..ops.attention import flash
from ..ops.softmax import FEW as SMALL
from ..rows import laid_out
from . import FAST_PATHS, PLAIN, fast_path


@fast_path
def attention(query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False, attn_mask: Any = None,
              scale: Any = None) -> Any:
    """Compute attention without a mask, with as many query heads as key heads."""
    array, dtype = query._array, query._dtype
    if (attn_mask is not None or dropout_p or dtype not in PLAIN or key._dtype is not dtype or value._dtype is not dtype
            or array.ndim != 4 or not 0 < array.size <= SMALL or key._array.shape != array.shape
            or value._array.shape != array.shape):
        return None
    heads, rows = array.shape[1:3]
    out, logsumexp = flash(array, key._array, value._array, 0.0, is_causal, None, scale)
    sums = laid_out(logsumexp, dtype, (rows * heads, 1, heads))  # by position, then by head
    return None if sums is None else (from_array(out, dtype), sums)


FAST_PATHS["_scaled_dot_product_flash_attention_for_cpu"] = attention
