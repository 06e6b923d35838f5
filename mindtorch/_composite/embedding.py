"""Embeddings in terms of other operators."""
from __future__ import annotations

from typing import Any

from .._base.errors import check
from .._dispatch.aten import (
    _embedding_bag, _embedding_bag_forward_only, aminmax, scatter__value as scatter_value_, zeros,
)
from .._dispatch.keys import AUTOGRAD
from .._dispatch.local import local
from .._dtype import int64
from . import COMPOSITES


def one_hot(self: Any, num_classes: int = -1) -> Any:
    """``nn.functional.one_hot``: class numbers as rows of zeros with a one.

    Raises:
        RuntimeError: unless the tensor is int64, and its values are classes.
    """
    check(self._dtype is int64, "one_hot is only applicable to index tensor of type LongTensor.", kind="index dtype")
    shape = tuple(self.shape)
    if not self.numel():
        check(num_classes > 0, "Can not infer total number of classes from empty tensor.")
        return self.new_zeros((*shape, num_classes))
    if not self.is_meta:
        least, most = (extreme.item() for extreme in aminmax(self))
        check(least >= 0, "Class values must be non-negative.", kind="one_hot classes")
        check(num_classes == -1 or num_classes > most,
              "Class values must be smaller than num_classes.", kind="one_hot classes")
        num_classes = most + 1 if num_classes == -1 else num_classes
    return scatter_value_(zeros((*shape, num_classes), self._dtype, None, self._device), -1, self.unsqueeze(-1), 1)


def embedding_bag(weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = 0,
                  sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> Any:
    """ATen's ``embedding_bag``, whose result says which elements were taken if it has a gradient.

    Raises:
        RuntimeError: if ``padding_idx`` is no row of the weight.
    """
    rows = weight.shape[0]
    check(padding_idx is None or -rows <= padding_idx < rows,
          lambda: f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got "
                  f"{padding_idx}")
    tracked = weight._keys | (0 if per_sample_weights is None else per_sample_weights._keys)
    look_up = _embedding_bag if tracked & AUTOGRAD and local.grad_enabled else _embedding_bag_forward_only
    return look_up(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
                   -1 if padding_idx is None else padding_idx % rows)


COMPOSITES.add(one_hot, embedding_bag)
COMPOSITES["embedding_bag.padding_idx"] = embedding_bag
