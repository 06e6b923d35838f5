"""Attention functions of ``torch.nn.functional``."""
import warnings
from math import inf, sqrt
from typing import Any

from ..._base.call_site import outside
from ..._creation import zeros, zeros_like
from ..._dtype import DType, bool_
from ..._methods.functions import baddbmm, bmm, cat, pad, scaled_dot_product_attention
from ..._tensor import Tensor
from .activation import softmax
from .dropout import dropout
from .linear import linear

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]
__dir__ = __all__.copy


def canonical_mask(mask: Tensor | None, name: str, dtype: DType, other: Tensor | None = None,
                   other_name: str = "") -> Tensor | None:
    """Return a mask to add to scores, -inf where a mask of bools is True; AssertionError for integers."""
    if mask is None:
        return None
    if mask.dtype != bool_ and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and mask.dtype != other.dtype:
        warnings.warn(f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
                      stacklevel=outside())
    return mask if mask.is_floating_point() else zeros_like(mask, dtype=dtype).masked_fill_(mask, -inf)


def multi_head_attention_forward(
        query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int,
        in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None,
        add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Tensor | None,
        training: bool = True, key_padding_mask: Tensor | None = None, need_weights: bool = True,
        attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None,
        k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None, static_k: Tensor | None = None,
        static_v: Tensor | None = None, average_attn_weights: bool = True,
        is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
    """Attend with several heads (``torch.nn.functional.multi_head_attention_forward``): queries (L, N, E), keys (S, N,
    Ek) and values (S, N, Ev) are projected, split into heads, and attended to; the results of the heads, beside each
    other, are projected to (L, N, E). Besides there are the weights (N, L, S), of each head (N, heads, L, S) unless
    ``average_attn_weights``, or None unless ``need_weights``. N may be missing everywhere. Raises AssertionError if
    tensors have the wrong number of dimensions or sizes, or parameters are missing, and RuntimeError if ``attn_mask``
    has the wrong shape, or is missing though ``is_causal`` is given as a hint.
    """
    batched = _check_dims(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    padding = canonical_mask(key_padding_mask, "key_padding_mask", query.dtype, attn_mask, "attn_mask")
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                           "`generate_square_subsequent_mask` to create this mask.")
    is_causal = is_causal and padding is None and not need_weights
    mask = None if is_causal else canonical_mask(attn_mask, "attn_mask", query.dtype)
    _check(width == embed_dim_to_check,
           f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    head = width // num_heads
    _check(head * num_heads == width, f"embed_dim {width} not divisible by num_heads {num_heads}")
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else (in_proj_weight,)
    q, k, v = _projected(query, key, value, weights, in_proj_bias)
    if mask is not None:
        mask = _checked_mask(mask, (length, key.shape[0]), batch * num_heads)

    # more positions: learnt ones, and one of zeros
    if bias_k is not None and bias_v is not None:
        _check(static_k is None, "bias cannot be added to static key.")
        _check(static_v is None, "bias cannot be added to static value.")
        k, v = cat([k, bias_k.repeat(1, batch, 1)]), cat([v, bias_v.repeat(1, batch, 1)])
        mask, padding = _longer(mask), _longer(padding)
    _check((bias_k is None) == (bias_v is None), "bias_k and bias_v must be given both or neither")
    heads = batch * num_heads
    q = q.reshape(length, heads, head).transpose(0, 1)
    k, v = (_by_heads(moving, static, name, heads, head)
            for moving, static, name in ((k, static_k, "static_k"), (v, static_v, "static_v")))
    if add_zero_attn:
        none = zeros((heads, 1, head), dtype=k.dtype, device=k.device)
        k, v = cat([k, none], 1), cat([v, none], 1)
        mask, padding = _longer(mask), _longer(padding)
    source = k.size(1)
    if padding is not None:
        _check(tuple(padding.shape) == (batch, source),
               f"key_padding_mask should have shape {(batch, source)}, but got {tuple(padding.shape)}")
        padding = padding.view(batch, 1, 1, source).expand(-1, num_heads, -1, -1).reshape(heads, 1, source)
        mask = padding if mask is None else mask + padding
    dropout_p = dropout_p if training else 0.0

    if need_weights:
        scaled = q * sqrt(1.0 / head)
        scores = bmm(scaled, k.transpose(1, 2)) if mask is None else baddbmm(mask, scaled, k.transpose(1, 2))
        attention = softmax(scores, -1)
        if dropout_p > 0:
            attention = dropout(attention, dropout_p)
        out = bmm(attention, v).transpose(0, 1).reshape(length * batch, width)
        shown = attention.view(batch, num_heads, length, source)
        if average_attn_weights:
            shown = shown.mean(1)
    else:
        if mask is not None:
            mask = mask.unsqueeze(0) if mask.size(0) == 1 else mask.view(batch, num_heads, mask.size(1), source)
        q, k, v = (part.view(batch, num_heads, part.size(1), head) for part in (q, k, v))
        out = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
        out = out.permute(2, 0, 1, 3).reshape(length * batch, width)
        shown = None
    out = linear(out, out_proj_weight, out_proj_bias).view(length, batch, out_proj_weight.size(0))
    if not batched:
        return out.squeeze(1), None if shown is None else shown.squeeze(0)
    return out, shown


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _check_dims(query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None,
                heads: int) -> bool:
    """Return True if there is a batch; all tensors have to say the same."""
    dims = query.dim()
    _check(dims in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    kind = f"For {'un' * (dims == 2)}batched ({dims}-D) `query`, expected"
    _check(key.dim() == value.dim() == dims,
           f"{kind} `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively")
    if padding is not None:
        _check(padding.dim() == dims - 1,
               f"{kind} `key_padding_mask` to be `None` or {dims - 1}-D but found {padding.dim()}-D tensor instead")
    if mask is not None:
        _check(mask.dim() in (2, 3),
               f"{kind} `attn_mask` to be `None`, 2-D or 3-D but found {mask.dim()}-D tensor instead")
        wanted = (heads, query.shape[0], key.shape[0])
        _check(dims == 3 or mask.dim() == 2 or tuple(mask.shape) == wanted,
               f"Expected `attn_mask` shape to be {wanted} but got {mask.shape}")
    return dims == 3


def _checked_mask(mask: Tensor, size: tuple[int, int], heads: int) -> Tensor:
    """Return the mask with a dimension for heads, which may be of size 1."""
    wanted = size if mask.dim() == 2 else (heads, *size)
    if tuple(mask.shape) != wanted:
        raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {wanted}.")
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _projected(query: Tensor, key: Tensor, value: Tensor, weights: tuple[Tensor | None, ...],
               bias: Tensor | None) -> tuple[Tensor, ...]:
    """Project queries, keys and values by their weights, in one product if they are one tensor and the weights, too."""
    width = query.size(-1)
    separate = len(weights) == 3
    _check(all(weight is not None for weight in weights),
           f"use_separate_proj_weight is {separate} but {'a weight of its own' if separate else 'in_proj_weight'} is "
           "None")
    if separate:
        _check(key.shape[:2] == value.shape[:2],
               f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
        for name, tensor, weight in zip(("query", "key", "value"), (query, key, value), weights, strict=True):
            wanted = (width, tensor.size(-1))
            _check(weight is not None and tuple(weight.shape) == wanted,
                   f"expecting {name} weights shape of {wanted}, but got {getattr(weight, 'shape', None)}")
        parts = weights
    else:
        _check(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")
        if query is key is value:
            return _together(query, weights[0], bias, 3)
        if key is value:
            first, rest = weights[0].split([width, 2 * width])  # type: ignore[union-attr]
            offset, others = (None, None) if bias is None else bias.split([width, 2 * width])
            return linear(query, first, offset), *_together(key, rest, others, 2)
        parts = weights[0].chunk(3)  # type: ignore[union-attr]
    offsets = (None, None, None) if bias is None else bias.chunk(3)
    return tuple([linear(tensor, weight, offset)  # type: ignore[arg-type]
                  for tensor, weight, offset in zip((query, key, value), parts, offsets, strict=True)])


def _together(tensor: Tensor, weight: Any, bias: Tensor | None, count: int) -> tuple[Tensor, ...]:
    return linear(tensor, weight, bias).unflatten(-1, (count, -1)).movedim(-2, 0).contiguous().unbind()


def _longer(mask: Tensor | None) -> Tensor | None:
    """Append a position that may be attended to."""
    return None if mask is None else pad(mask, (0, 1))


def _by_heads(moving: Tensor, static: Tensor | None, name: str, heads: int, width: int) -> Tensor:
    """Return keys or values as (heads, S, width), or the given static ones."""
    if static is None:
        return moving.reshape(moving.shape[0], heads, width).transpose(0, 1)
    _check(static.size(0) == heads, f"expecting {name}.size(0) of {heads}, but got {static.size(0)}")
    _check(static.size(2) == width, f"expecting {name}.size(2) of {width}, but got {static.size(2)}")
    return static
