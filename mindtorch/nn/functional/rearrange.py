"""Padding, windows, pixels and indices: the functions of ``torch.nn.functional`` that move elements."""
from __future__ import annotations

from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._dispatch.aten import (
    col2im as _fold, embedding as _embedding, embedding_renorm_ as _embedding_renorm_, im2col as _unfold,
)
from ..._functions import channel_shuffle, one_hot, pad, pixel_shuffle, pixel_unshuffle
from ..._tensor import Tensor

__all__ = ["channel_shuffle", "embedding", "fold", "one_hot", "pad", "pixel_shuffle", "pixel_unshuffle", "unfold"]
__dir__ = __all__.copy


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else tuple(value)


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Turn sliding windows of images into columns, (N, C, H, W) to (N, C·kh·kw, L) (``torch.nn.functional.unfold``).

    Raises:
        RuntimeError: if no window fits.
    """
    return _unfold(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
         stride: Any = 1) -> Tensor:
    """Add up columns of ``unfold`` where they came from, (N, C·kh·kw, L) to (N, C, H, W)
    (``torch.nn.functional.fold``).

    Raises:
        RuntimeError: if the sizes do not fit together.
    """
    return _fold(input, _pair(output_size), _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """Look up rows of ``weight`` (V, D) by the integers of ``input`` (...), which gives (..., D)
    (``torch.nn.functional.embedding``). The row ``padding_idx`` gets no gradient; with ``max_norm``, rows of a larger
    norm are first scaled down in place.

    Raises:
        AssertionError: if ``padding_idx`` is out of range.
        IndexError: if an index is.
        RuntimeError: for ``sparse``.
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        count = weight.shape[0]
        assert -count <= padding_idx < count, "Padding_idx must be within num_embeddings"
        padding_idx %= count
    if max_norm is not None:
        input = input.contiguous()
        with no_grad():
            _embedding_renorm_(weight, input, max_norm, norm_type)
    return _embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)
