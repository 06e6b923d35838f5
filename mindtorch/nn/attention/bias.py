"""``torch.nn.attention.bias``: causal masks that ``scaled_dot_product_attention`` takes by their kind."""
from __future__ import annotations

import warnings
from enum import IntEnum
from typing import Any

from ..._base.call_site import outside
from ..._creation import ones
from ..._device import device as Device
from ..._dtype import bool_
from ..._tensor import Tensor
from .. import functional as F

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]
__dir__ = __all__.copy


class CausalVariant(IntEnum):
    """Where the diagonal of a causal mask begins: at its first element, or where it ends at the last one
    (``torch.nn.attention.bias.CausalVariant``).
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask of shape ``(seq_len_q, seq_len_kv)`` (``torch.nn.attention.bias.CausalBias``).

    ``scaled_dot_product_attention`` writes it out only for a lower-right mask that is not square. Warns where rows of
    such a mask hide all keys, whose results are NaN.
    """

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int):
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        super().__init__()
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warnings.warn("Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!",
                          stacklevel=outside())

    def _materialize(self, device: Device | str | None = None) -> Tensor:
        """Return the mask as a bool tensor, True where a key is seen; on the CPU by default."""
        diagonal = self.seq_len_kv - self.seq_len_q if self.variant == CausalVariant.LOWER_RIGHT else 0
        mask: Tensor = ones(self.seq_len_q, self.seq_len_kv, dtype=bool_, device=device or "cpu").tril(diagonal)
        return mask

    @staticmethod
    def _dispatch(query: Tensor, key: Tensor, value: Tensor, attn_mask: CausalBias, dropout_p: float = 0.0,
                  is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Tensor:
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        first = attn_mask.variant == CausalVariant.UPPER_LEFT or attn_mask.seq_len_q == attn_mask.seq_len_kv
        return F.scaled_dot_product_attention(
            query, key, value, None if first else attn_mask._materialize(query.device), dropout_p, first, scale=scale,
            enable_gqa=enable_gqa)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is F.scaled_dot_product_attention:
            return cls._dispatch(*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs)

    def __repr__(self) -> str:  # type: ignore[override]
        return repr(self._materialize())


def causal_upper_left(*size: int) -> CausalBias:
    """Return the mask that ``is_causal=True`` stands for (``torch.nn.attention.bias.causal_upper_left``).

    Args:
        size: the numbers of queries and of keys
    """
    return _causal(CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """Return a mask by which the last query sees all keys, as one does that continues a sequence whose keys are cached
    (``torch.nn.attention.bias.causal_lower_right``).

    Args:
        size: the numbers of queries and of keys
    """
    return _causal(CausalVariant.LOWER_RIGHT, size)


def _causal(variant: CausalVariant, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"causal_{variant.name.lower()} only supports 2D tensors")
    return CausalBias(variant, *size)
