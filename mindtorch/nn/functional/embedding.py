"""Embeddings, as functions of ``torch.nn.functional``."""
import warnings

from ..._base.call_site import outside
from ..._creation import arange
from ..._dtype import int64
from ..._methods.functions import (
    embedding as _embedding, embedding_bag as _embedding_bag, embedding_renorm_ as _embedding_renorm_, one_hot,
)
from ..._tensor import Tensor

__all__ = ["embedding", "embedding_bag", "one_hot"]
__dir__ = __all__.copy

MODES = {"sum": 0, "mean": 1, "max": 2}


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """Look up rows of ``weight`` (V, D) by the integers of ``input`` (...), which gives (..., D)
    (``torch.nn.functional.embedding``). The row ``padding_idx`` gets no gradient; with ``max_norm``, rows of a larger
    norm are first scaled down in place. Raises AssertionError if ``padding_idx`` is out of range, and IndexError if an
    index is, and RuntimeError in the backward pass, for ``sparse``.
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        count = weight.shape[0]
        assert -count <= padding_idx < count, "Padding_idx must be within num_embeddings"
        padding_idx %= count
    if max_norm is not None:
        input = input.contiguous()
        _embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    return _embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None,
                  norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                  per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> Tensor:
    """Look up rows of ``weight`` (V, D) and take the sum, the mean or the maximum of each bag, which gives (bags, D)
    (``torch.nn.functional.embedding_bag``). The bags are the rows of ``input`` (bags, N); or they begin at ``offsets``
    (bags,) of ``input`` (N,); with ``include_last_offset`` the last one is the end. In a sum, rows are multiplied by
    ``per_sample_weights``; the row ``padding_idx`` is left out. Raises ValueError if the shapes of input, offsets and
    weights do not go together, or for an unknown mode, and NotImplementedError if there are weights and the mode is not
    ``'sum'``, and RuntimeError if an index or an offset is out of range; in the backward pass, for ``sparse``.
    """
    if weight.dtype == int64 and input.is_floating_point():
        warnings.warn("Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, "
                      "...)` is deprecated, and should now be `embedding_bag(input, weight, ...)`.",
                      stacklevel=outside())
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must "
                         f"have the same shape as the input ({input.shape})")
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
                             f"fixed length sequences. However, found offsets of type {type(offsets)}")
        offsets = arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        include_last_offset = False
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    elif input.dim() != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if offsets is None or offsets.dim() != 1:
        raise ValueError(f"offsets has to be a 1D Tensor{' but got None' if offsets is None else ''}")
    if mode not in MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        _embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                                  f"supported for mode='sum' (got mode='{mode}'). Please open a feature request on "
                                  "GitHub.")
    return _embedding_bag(weight, input, offsets, scale_grad_by_freq, MODES[mode], sparse, per_sample_weights,
                          include_last_offset, padding_idx)[0]
