"""Transformers; mirrors ``torch.nn.modules.transformer``."""
from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from math import inf
from typing import Any

from ..._base.call_site import outside
from ..._creation import full
from ..._tensor import Tensor
from .. import functional as F
from ..functional.attention import canonical_mask
from ..init import xavier_uniform_
from ..module import Module
from .activation import GELU, MultiheadAttention, ReLU
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .normalization import LayerNorm

Activation = str | Callable[[Tensor], Tensor]


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    """Return an activation by its name, 'relu' or 'gelu'; RuntimeError for other names."""
    if activation in ("relu", "gelu"):
        return F.relu if activation == "relu" else F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")


def _activation(given: Activation) -> Callable[[Tensor], Tensor]:
    """Return an activation by itself or by its name."""
    return _get_activation_fn(given) if isinstance(given, str) else given


def _causal_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    """Return zero where a position may attend, to itself and earlier ones, and minus infinity elsewhere."""
    return full((size, size), -inf, dtype=dtype, device=device).triu(diagonal=1)


def _is_causal(mask: Tensor | None, hint: bool | None, src: Tensor, batch_first: bool) -> bool:
    """Return whether a mask is the causal one: as the caller states, or by its values."""
    if hint is not None or mask is None:
        return bool(hint)
    size = src.size(0) if src.dim() == 2 else src.size(1 if batch_first else 0)
    causal = _causal_mask(size, mask.device, mask.dtype)
    return mask.size() == causal.size() and bool((mask == causal).all())


class _Layer(Module):
    """Attention and feed-forward blocks with dropout, residual and normalisation (before, if ``norm_first``)."""

    __constants__ = ("norm_first",)
    activation: Callable[[Tensor], Tensor]
    norm_first: bool

    def _residual(self, x: Tensor, block: Callable[[Tensor], Tensor], norm: Module) -> Tensor:
        return x + block(norm(x)) if self.norm_first else norm(x + block(x))

    def _hidden(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"activation": F.relu, **state})


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network (``torch.nn.TransformerEncoderLayer``), from (S, N, d_model), with
    ``batch_first`` (N, S, d_model), or (S, d_model) to the same.
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        on = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **on)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **on)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **on)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **on)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **on)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.activation = activation = _activation(activation)
        self.activation_relu_or_gelu = (1 if activation is F.relu or isinstance(activation, ReLU)
                                        else 2 if activation is F.gelu or isinstance(activation, GELU) else 0)

    def forward(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool = False) -> Tensor:
        padding = canonical_mask(src_key_padding_mask, "src_key_padding_mask", src.dtype, src_mask, "src_mask")
        mask = canonical_mask(src_mask, "src_mask", src.dtype)

        def attend(x: Tensor) -> Tensor:
            return self.dropout1(self.self_attn(x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False,
                                                is_causal=is_causal)[0])

        x = self._residual(src, attend, self.norm1)
        return self._residual(x, lambda x: self.dropout2(self._hidden(x)), self.norm2)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, and a feed-forward network
    (``torch.nn.TransformerDecoderLayer``), from (T, N, d_model), with ``batch_first`` (N, T, d_model), or (T, d_model)
    to the same.
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        on = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **on)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **on)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **on)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **on)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **on)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **on)
        self.norm3 = LayerNorm(d_model, layer_norm_eps, bias=bias, **on)
        self.dropout1, self.dropout2, self.dropout3 = Dropout(dropout), Dropout(dropout), Dropout(dropout)
        self.activation = _activation(activation)

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            return self.dropout1(self.self_attn(x, x, x, attn_mask=tgt_mask, key_padding_mask=tgt_key_padding_mask,
                                                is_causal=tgt_is_causal, need_weights=False)[0])

        def look_back(x: Tensor) -> Tensor:
            return self.dropout2(self.multihead_attn(
                x, memory, memory, attn_mask=memory_mask, key_padding_mask=memory_key_padding_mask,
                is_causal=memory_is_causal, need_weights=False)[0])

        x = self._residual(tgt, attend, self.norm1)
        x = self._residual(x, look_back, self.norm2)
        return self._residual(x, lambda x: self.dropout3(self._hidden(x)), self.norm3)


class _Stack(Module):
    """Copies of a layer, one after the other, and a normalisation."""

    __constants__ = ("norm",)

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def _finished(self, output: Tensor) -> Tensor:
        return output if self.norm is None else self.norm(output)


class TransformerEncoder(_Stack):
    """A stack of encoder layers (``torch.nn.TransformerEncoder``). There are no nested tensors here; what PyTorch says
    of them when it is made is said all the same.
    """

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None,
                 enable_nested_tensor: bool = True, mask_check: bool = True) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor = self.use_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        reason = _not_nested(encoder_layer) if enable_nested_tensor else ""
        if reason:
            warnings.warn("enable_nested_tensor is True, but self.use_nested_tensor is False because "
                          f"encoder_layer{reason}", stacklevel=outside())
            self.use_nested_tensor = False

    def forward(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool | None = None) -> Tensor:
        padding = canonical_mask(src_key_padding_mask, "src_key_padding_mask", src.dtype, mask, "mask")
        mask = canonical_mask(mask, "mask", src.dtype)
        causal = _is_causal(mask, is_causal, src, self.layers[0].self_attn.batch_first)
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        return self._finished(output)


def _not_nested(layer: Module) -> str:
    """Why PyTorch's encoder of such layers does not use nested tensors."""
    if not isinstance(layer, TransformerEncoderLayer):
        return " was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = {
        ".norm_first was True": layer.norm_first,
        ".self_attn.batch_first was not True(use batch_first for better inference performance)":
            not attention.batch_first,
        ".self_attn._qkv_same_embed_dim was not True": not attention._qkv_same_embed_dim,
        ".self_attn was passed bias=False": attention.in_proj_bias is None,
        ".activation_relu_or_gelu was not True": not layer.activation_relu_or_gelu,
        ".norm1.eps was not equal to encoder_layer.norm2.eps": layer.norm1.eps != layer.norm2.eps,
        ".self_attn.num_heads is odd": attention.num_heads % 2,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


class TransformerDecoder(_Stack):
    """A stack of decoder layers (``torch.nn.TransformerDecoder``)."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor:
        causal = _is_causal(tgt_mask, tgt_is_causal, tgt, self.layers[0].self_attn.batch_first)
        output = tgt
        for layer in self.layers:
            output = layer(output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                           tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask,
                           tgt_is_causal=causal, memory_is_causal=memory_is_causal)
        return self._finished(output)


class Transformer(Module):
    """An encoder and a decoder (``torch.nn.Transformer``), from (S, N, d_model) and (T, N, d_model) to (T, N, d_model),
    with the batch first if ``batch_first``. Matrices start uniform after Xavier and Glorot.
    """

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
                 dim_feedforward: int = 2048, dropout: float = 0.1, activation: Activation = F.relu,
                 custom_encoder: Any = None, custom_decoder: Any = None, layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias,
                 device, dtype)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder if custom_encoder is not None else TransformerEncoder(
            TransformerEncoderLayer(*layer), num_encoder_layers, norm())
        self.decoder = custom_decoder if custom_decoder is not None else TransformerDecoder(
            TransformerDecoderLayer(*layer), num_decoder_layers, norm())
        for parameter in self.parameters():
            if parameter.dim() > 1:
                xavier_uniform_(parameter)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
                memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                src_is_causal: bool | None = None, tgt_is_causal: bool | None = None,
                memory_is_causal: bool = False) -> Tensor:
        """Return the decoder's output for ``tgt`` and the encoder's output for ``src``. Raises RuntimeError if the
        batches or the widths differ.
        """
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                            tgt_key_padding_mask=tgt_key_padding_mask,
                            memory_key_padding_mask=memory_key_padding_mask,
                            tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Zero on and below the diagonal of (sz, sz), and minus infinity above (``torch.nn.Transformer``)."""
        return _causal_mask(sz, device, dtype)
