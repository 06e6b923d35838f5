"""Meta kernels of attention. Queries, keys and values have the dimensions batch, heads, length, width."""
from __future__ import annotations

from typing import Any

from ...._base.errors import check, check_real
from ...._base.layout import Ints, Spec, like_strides, ordered_strides
from ...._dtype import float32
from . import META_KERNELS

#: The order in which gradients and sums lie in memory: by position, then by head.
BY_POSITION = (0, 2, 1, 3)


def check_shapes(query: Any, key: Any, value: Any, mask: Any) -> None:
    """What the kernel in blocks takes."""
    name = "scaled_dot_product_attention_flash_attention"
    check(query.ndim == key.ndim == value.ndim == 4, f"{name}: Accept only 4 dims inputs shape of {{B, H, T, K}}")
    check(query.shape[3] == key.shape[3] == value.shape[3], f"{name}: Q/K/V should have the same head size")
    check(key.shape == value.shape and query.shape[0] == key.shape[0] and key.shape[1]
          and not query.shape[1] % key.shape[1],
          lambda: f"{name}: the sizes of query {list(query.shape)}, key {list(key.shape)} and value "
                  f"{list(value.shape)} do not go together")
    check(query._dtype is key._dtype is value._dtype, f"{name}: Q/K/V should have the same data type")
    check_real("flash_attention", query)
    sizes = (query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    check(mask is None or all(size in (1, whole) for size, whole in zip(mask.shape[::-1], sizes[::-1], strict=False)),
          f"{name}: the attention mask does not fit")


def flash(query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False, attn_mask: Any = None,
          scale: float | None = None) -> tuple[Spec, Spec]:
    check_shapes(query, key, value, attn_mask)
    check(dropout_p == 0, "scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0")
    shape, dtype = tuple(query.shape), query._dtype
    sums = float32 if dtype.itemsize == 2 else dtype
    return (Spec(shape, dtype, like_strides(shape, query._strides())),
            Spec(shape[:3], sums, ordered_strides(shape[:3], BY_POSITION[:3])))


def flash_backward(grad_out: Any, query: Any, key: Any, value: Any, *rest: Any) -> tuple[Spec, ...]:
    def gradient(shape: Ints) -> Spec:
        return Spec(shape, query._dtype, ordered_strides(shape, BY_POSITION))

    return tuple([gradient(tuple(tensor.shape)) for tensor in (query, key, value)])


def fused(query: Any, key: Any, value: Any, attn_bias: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
          return_debug_mask: bool = False, scale: float | None = None) -> tuple[Spec | int | None, ...]:
    """Nothing is drawn, and no lengths of sequences differ."""
    check_shapes(query, key, value, attn_bias)
    check(dropout_p == 0, "scaled_dot_product_fused_attention: dropout is not supported")
    shape = tuple(query.shape)
    return (Spec(shape, query._dtype), Spec(shape[:3], float32), None, None, shape[2], key.shape[2], None, None, None)


def fused_backward(grad_out: Any, query: Any, key: Any, value: Any, *rest: Any) -> tuple[Spec | None, ...]:
    return (*[Spec(tuple(tensor.shape), tensor._dtype) for tensor in (query, key, value)], None)


META_KERNELS.update({
    "_scaled_dot_product_fused_attention_overrideable": fused,
    "_scaled_dot_product_fused_attention_overrideable_backward": fused_backward,
    "_scaled_dot_product_flash_attention_for_cpu": flash,
    "_scaled_dot_product_flash_attention_for_cpu_backward": flash_backward,
})
