"""Derivatives of embeddings: gradients of rows go where the rows came from."""
from __future__ import annotations

from typing import Any

from ..._base.errors import check
from ..._dispatch.aten import (
    _embedding_bag_backward, _embedding_bag_per_sample_weights_backward, embedding_dense_backward,
)
from ..derivative import derivative


def dense(name: str, sparse: bool) -> None:
    check(not sparse, lambda: f"{name}(): sparse gradients need the sparse layout, which mindtorch does not have")


def embedding_grad(grad: Any, indices: Any, weight_shape: Any, padding_idx: int, scale_grad_by_freq: bool,
                   sparse: bool) -> Any:
    dense("embedding", sparse)
    return embedding_dense_backward(grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq)


def embedding_double_grad(grad: Any, indices: Any, padding_idx: int) -> Any:
    rows = grad.index_select(0, indices.reshape(-1))
    if padding_idx >= 0:
        rows = rows.masked_fill((indices == padding_idx).reshape(-1, 1), 0)
    return rows.view((*indices.shape, grad.shape[1]))


def embedding_bag_grad(grad: Any, indices: Any, offsets: Any, result1: Any, result2: Any, result3: Any,
                       weight_shape: Any, scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Any,
                       padding_idx: int) -> Any:
    dense("embedding_bag", sparse)
    return _embedding_bag_backward(grad, indices, offsets, result1, result2, result3, weight_shape[0],
                                   scale_grad_by_freq, mode, sparse, per_sample_weights, padding_idx)


derivative("embedding", weight=embedding_grad)
derivative("embedding_dense_backward", grad_output=embedding_double_grad)
derivative("_embedding_bag", "EmbeddingBagBackward0", (0,),
           weight=embedding_bag_grad,
           per_sample_weights=lambda grad, weight, indices, offsets, result1, mode, padding_idx:
           _embedding_bag_per_sample_weights_backward(grad, weight, indices, offsets, result1, mode, padding_idx))
