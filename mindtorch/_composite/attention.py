"""Attention: which kernel computes it, and what it is in other operators."""
from __future__ import annotations

from math import inf, sqrt
from typing import Any

from .._base.backend import FLASH, MATH, OVERRIDEABLE, backends
from .._base.errors import C_NAMES, check
from .._creation import ones, scalar_tensor
from .._dispatch.aten import (
    _safe_softmax, _scaled_dot_product_flash_attention_for_cpu as flash_attention,
    _scaled_dot_product_fused_attention_overrideable as fused_attention, dropout, matmul, where_self as where,
)
from .._dispatch.keys import AUTOGRAD
from .._dispatch.local import local
from .._dtype import FLOATING, bool_, float32
from . import COMPOSITES

#: The kernels that may be chosen; ``nn.attention.sdpa_kernel`` changes it. With ``FLASH`` a device's own may be, too.
enabled = {MATH, FLASH}


def scaled_dot_product_attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Any:
    kernel = kernel_for(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    if kernel == OVERRIDEABLE:
        return fused_attention(query, key, value, attn_mask, dropout_p, is_causal, False, scale)[0]
    if kernel == FLASH:
        return flash_attention(query, key, value, dropout_p, is_causal, additive(attn_mask, query), scale)[0]
    return math(query, key, value, attn_mask, dropout_p, is_causal, None, scale, enable_gqa)[0]


# -- the choice of a kernel --------------------------------------------------------------------------------------------

def kernel_for(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
               scale: float | None = None, enable_gqa: bool = False) -> int:
    """The number of the kernel.

    Raises:
        RuntimeError: if the tensors do not go together, or no kernel that may be chosen takes them.
    """
    check_inputs(query, key, value, attn_mask)
    check(enabled, "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off "
                   "both the math kernel and the fused kernels.")
    if FLASH in enabled and takes_blocks(query, key, value, attn_mask, dropout_p, enable_gqa):
        kernel = backends[query._device.type].attention_kernel(query, key, value, attn_mask)
        if kernel != MATH:
            return kernel
    check(MATH in enabled, "No available kernel. Aborting execution.")
    return MATH


def check_inputs(query: Any, key: Any, value: Any, mask: Any) -> None:
    def said(fact: str, values: list[Any]) -> str:
        return "but got query.{0}: {1} key.{0}: {2} and value.{0}: {3} instead.".format(fact, *values)

    tensors = query, key, value

    def dtypes() -> list[str]:
        return [C_NAMES[tensor._dtype.name] for tensor in tensors]

    check(query._dtype is key._dtype is value._dtype,
          lambda: f"Expected query, key, and value to have the same dtype, {said('dtype', dtypes())}")
    check(query._device == key._device == value._device,
          lambda: "Expected query, key, and value to have the same device type, "
                  f"{said('device', [tensor.device for tensor in tensors])}")
    check(query.ndim >= 2 and key.ndim >= 2 and value.ndim >= 2,
          lambda: "Expected query, key, and value to all be  at least 2 dimensional, "
                  f"{said('dim', [tensor.dim() for tensor in tensors])}")
    check(mask is None or mask._dtype in (bool_, float32, query._dtype),
          lambda: "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
                  f"{C_NAMES[mask._dtype.name]} and  query.dtype: {dtypes()[0]} instead.")


def takes_blocks(query: Any, key: Any, value: Any, mask: Any, dropout_p: float, enable_gqa: bool) -> bool:
    """Whether a kernel in blocks may take these tensors (ATen's ``use_flash_attention_cpp``)."""
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4 or query._dtype.category != FLOATING or dropout_p > 0:
        return False
    (batch, heads, rows, width), shape = query.shape, key.shape
    if shape != value.shape or shape[0] != batch or shape[3] != width or 0 in query.shape or 0 in shape:
        return False
    if heads != shape[1] and not (enable_gqa and not heads % shape[1]):
        return False
    if query._strides()[3] != 1 or key._strides()[3] != 1 or value._strides()[3] != 1:
        return False
    if mask is None:
        return True
    if (mask._keys & AUTOGRAD and local.grad_enabled) or mask.dim() not in (2, 4):
        return False
    fits = zip(reversed(mask.shape), (shape[2], rows, heads, batch), strict=False)
    return all(size in (1, whole) for size, whole in fits)


def additive(mask: Any, query: Any) -> Any:
    """A mask of what may be seen as what is added to scores: zero, and minus infinity."""
    if mask is None or mask._dtype is not bool_:
        return mask
    zero, least = [scalar_tensor(number, dtype=query._dtype, device=query.device) for number in (0.0, -inf)]
    return where(mask, zero, least)


# -- in other operators ------------------------------------------------------------------------------------------------

def math(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
         dropout_mask: Any = None, scale: float | None = None, enable_gqa: bool = False) -> tuple[Any, Any]:
    """The attention and its weights. Queries and keys are scaled before they are multiplied, against an overflow; half
    precision is computed in float32.
    """
    dtype = query._dtype
    if dtype.category == FLOATING and dtype.itemsize == 2:
        query, key, value = query.to(float32), key.to(float32), value.to(float32)
    factor = 1 / sqrt(query.shape[-1] or 1) if scale is None else scale
    root = sqrt(abs(factor))
    query = query * (-root if factor < 0 else root)
    if is_causal:
        check(attn_mask is None, "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
              "is_causal=True")
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=bool_, device=query.device).tril()
    attn_mask = additive(attn_mask, query)
    if attn_mask is not None and attn_mask._dtype.itemsize == 2:
        attn_mask = attn_mask.to(float32)
    if enable_gqa:
        key, value = shared_by(query, key), shared_by(query, value)
    scores = matmul(query, key.transpose(-2, -1) * root)
    weights = _safe_softmax(scores if attn_mask is None else scores + attn_mask, -1)
    if dropout_p > 0:
        check(dropout_mask is None, "_scaled_dot_product_attention_math: dropout_mask comes with its own scale")
        weights = dropout(weights, dropout_p, True)
    return matmul(weights, value).to(dtype), weights.to(dtype)


def shared_by(query: Any, tensor: Any) -> Any:
    """Keys or values, repeated for all heads of the query that share them."""
    heads, own = query.shape[-3], tensor.shape[-3]
    check(own and not heads % own, "Number of heads in key and value must divide the number of heads in query")
    return tensor if heads == own else tensor.repeat_interleave(heads // own, -3)


COMPOSITES.add(scaled_dot_product_attention)
COMPOSITES.update({"_scaled_dot_product_attention_math": math, "_fused_sdp_choice": kernel_for})
