"""Attention: means of values, weighted by how well their keys match a query."""
from __future__ import annotations

from math import inf, sqrt
from typing import Any

from .._base.backend import FLASH, MATH, OVERRIDEABLE, attention_kernels, backends
from .._base.errors import C_NAMES, check, check_real
from .._base.layout import Ints, Spec, like_strides, ordered_strides
from .._creation.sizes import ones, scalar_tensor, zeros
from .._dispatch.aten import (
    _safe_softmax, _scaled_dot_product_flash_attention_for_cpu as flash_attention,
    _scaled_dot_product_flash_attention_for_cpu_backward as flash_backward,
    _scaled_dot_product_fused_attention_overrideable as fused_attention,
    _scaled_dot_product_fused_attention_overrideable_backward as fused_backward, dropout, matmul, where_self as where,
)
from .._dispatch.keys import AUTOGRAD
from .._dispatch.local import local
from .._dtype import FLOATING, bool_, float32
from .._tensor import Tensor
from . import operator, schemas

schemas("""
operator only:
    _scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor result0, Tensor result1)  # What `scaled_dot_product_attention` computes, in other operators, and the weights.
    _fused_sdp_choice(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> int  # The number of the kernel that `scaled_dot_product_attention` takes: 0 in other operators, 1 in blocks.
    scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor  # The means of the rows of `value`, weighted for each row of `query` by the softmax of its products with the rows of `key`, times `scale`.
""")  # noqa: E501

def scaled_dot_product_attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Any:
    if 0 in (*query.shape[-2:-1], *value.shape):
        check_inputs(query, key, value, attn_mask)
        return of_nothing(query, key, value)
    kernel = kernel_for(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    if kernel == OVERRIDEABLE:
        return fused_attention(query, key, value, attn_mask, dropout_p, is_causal, False, scale)[0]
    if kernel == FLASH:
        return flash_attention(query, key, value, dropout_p, is_causal, additive(attn_mask, query), scale)[0]
    return math(query, key, value, attn_mask, dropout_p, is_causal, None, scale, enable_gqa)[0]


def of_nothing(query: Any, key: Any, value: Any) -> Any:
    """Return the attention without queries or values: zeros, which depend on all tensors."""
    out = zeros(*query.shape[:-1], value.shape[-1], dtype=query._dtype, device=query.device)
    return out + (query.sum() + key.sum() + value.sum()) * 0


def kernel_for(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
               scale: float | None = None, enable_gqa: bool = False) -> int:
    """Return the kernel's number; RuntimeError if the tensors do not fit, or no allowed kernel takes them."""
    check_inputs(query, key, value, attn_mask)
    enabled = attention_kernels.enabled
    check(enabled, "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off "
                   "both the math kernel and the fused kernels.")
    if FLASH in enabled and takes_blocks(query, key, value, attn_mask, dropout_p, enable_gqa):
        kernel = backends[query._device.type].attention_kernel(query, key, value, attn_mask)
        if kernel != MATH:
            return kernel
    check(MATH in enabled, "No available kernel. Aborting execution.")
    return MATH


def check_inputs(query: Any, key: Any, value: Any, mask: Any) -> None:
    """Raise RuntimeError unless dtypes, devices, and numbers of dimensions go together."""
    dtype, device = query._dtype, query._device
    if not (dtype is key._dtype is value._dtype and device == key._device and device == value._device
            and min(query.ndim, key.ndim, value.ndim) >= 2
            and (mask is None or mask._dtype is bool_ or mask._dtype is float32 or mask._dtype is dtype)):
        explain_inputs(query, key, value, mask)


def explain_inputs(query: Any, key: Any, value: Any, mask: Any) -> None:
    """Raise PyTorch's error for inputs that do not go together."""
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
    """Return True if a kernel in blocks may take these tensors (ATen's ``use_flash_attention_cpp``)."""
    of_query, shape = query.shape, key.shape
    if len(of_query) != 4 or len(shape) != 4 or query._dtype.category != FLOATING or dropout_p > 0:
        return False
    batch, heads, rows, width = of_query
    if shape != value.shape or shape[0] != batch or shape[3] != width or 0 in of_query or 0 in shape:
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
    """Return a boolean mask as a term of the scores: zero where it holds, minus infinity elsewhere."""
    if mask is None or mask._dtype is not bool_:
        return mask
    zero, least = [scalar_tensor(number, dtype=query._dtype, device=query.device) for number in (0.0, -inf)]
    return where(mask, zero, least)


def math(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
         dropout_mask: Any = None, scale: float | None = None, enable_gqa: bool = False) -> tuple[Any, Any]:
    """Return the attention and its weights; queries and keys are scaled first, half precision is float32 inside."""
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


def shared_by(query: Any, tensor: Tensor) -> Any:
    """Repeat keys or values for all heads of the query that share them."""
    heads, own = query.shape[-3], tensor.shape[-3]
    check(own and not heads % own, "Number of heads in key and value must divide the number of heads in query")
    return tensor if heads == own else tensor.repeat_interleave(heads // own, -3)


operator("_scaled_dot_product_attention_math", composite=math)
operator("_fused_sdp_choice", composite=kernel_for)
operator("scaled_dot_product_attention", composite=scaled_dot_product_attention, autocast="lower")

schemas("""
operator only:
    _scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)  # What `scaled_dot_product_attention` computes, block by block, and the logarithms of the sums of the softmax.
    _scaled_dot_product_fused_attention_overrideable(Tensor query, Tensor key, Tensor value, Tensor? attn_bias=None, float dropout_p=0.0, bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor philox_seed, Tensor philox_offset, Tensor debug_attn_mask)  # What `scaled_dot_product_attention` computes, by the one operator that a device has for it, and the logarithms of the sums of the softmax.
    _scaled_dot_product_fused_attention_overrideable_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor attn_bias, bool[4] grad_input_mask, Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, Tensor philox_seed, Tensor philox_offset, *, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value, Tensor grad_attn_bias)
    _scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)
""")  # noqa: E501

#: The order in which gradients and sums lie in memory: by position, then by head.
BY_POSITION = (0, 2, 1, 3)


def check_shapes(query: Any, key: Any, value: Any, mask: Any) -> None:
    """Check the shapes that the kernel in blocks takes."""
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


def meta_flash_backward(grad_out: Any, query: Any, key: Any, value: Any, *rest: Any) -> tuple[Spec, ...]:
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


def meta_fused_backward(grad_out: Any, query: Any, key: Any, value: Any, *rest: Any) -> tuple[Spec | None, ...]:
    return (*[Spec(tuple(tensor.shape), tensor._dtype) for tensor in (query, key, value)], None)


operator("_scaled_dot_product_flash_attention_for_cpu", flash, outputs=(0,), jointly={
    "query, key, value": lambda grad, query, key, value, output, logsumexp, dropout_p, is_causal, attn_mask, scale:
        flash_backward(grad, query, key, value, output, logsumexp, dropout_p, is_causal, attn_mask, scale)})
operator("_scaled_dot_product_fused_attention_overrideable", fused, outputs=(0,), jointly={
    "query, key, value": lambda grad, query, key, value, attn_bias, output, logsumexp, dropout_p, is_causal, scale:
        fused_backward(grad, query, key, value, attn_bias, (True, True, True, False), output, logsumexp, None, None,
                       query.shape[2], key.shape[2], dropout_p, is_causal, None, None, scale)[:3]})
operator("_scaled_dot_product_fused_attention_overrideable_backward", meta_fused_backward)
operator("_scaled_dot_product_flash_attention_for_cpu_backward", meta_flash_backward)
