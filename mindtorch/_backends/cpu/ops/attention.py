"""CPU kernels of attention: block by block, so that the scores of a block stay in the cache (FlashAttention).

What would be a pass over the scores of its own is a column of a product: with a column of ones beside the values, the
weighted sums bring the sums of the weights along, and with a column beside the queries, every row of scores is shifted.
"""
from __future__ import annotations

from collections.abc import Iterator
from math import prod, sqrt
from typing import Any, NamedTuple

import numpy as np

from . import CPU_KERNELS
from .reduction import to_opmath

Array = np.ndarray
#: Scores of a block: 1 MiB of float32; of a block under the diagonal, so many rows.
BLOCK, ROWS = 1 << 18, 128
#: No exponential of a number up to this one overflows in float32, and none of its negative is zero.
SAFE = 60.0


class Heads(NamedTuple):
    """One call's arguments by heads of keys: queries (n, rows, width) of all heads that share the keys (n, columns,
    width); the mask, if any, broadcast to (n, rows, columns).
    """

    query: Array
    key: Array
    value: Array
    mask: Any
    causal: bool
    scale: float

    def blocks(self) -> Iterator[tuple[slice, slice, int]]:
        """For each block its heads, its rows, and how many columns its rows reach."""
        n, rows, columns = len(self.query), self.query.shape[1], self.key.shape[1]
        height = min(rows, ROWS) if self.causal else rows
        heads = max(BLOCK // max(height * columns, 1), 1)
        for first in range(0, n, heads):
            for top in range(0, rows, height):
                bottom = min(top + height, rows)
                yield slice(first, first + heads), slice(top, bottom), min(bottom, columns) if self.causal else columns

    def masked(self, scores: Array, part: slice, rows: slice, columns: int) -> None:
        """Add the mask to a block of scores; nothing follows a query that is causal."""
        if self.mask is not None:
            scores += self.mask[part, rows, :columns]
        if self.causal and columns > rows.start:
            square = scores[:, :, rows.start:]
            square += np.triu(np.full(square.shape[1:], -np.inf, scores.dtype), 1)


def by_heads(query: Array, key: Array, value: Array, causal: bool, mask: Any, scale: float | None) -> Heads:
    batch, heads, rows, width = query.shape
    shared, columns = key.shape[1:3]
    each = heads // shared
    n, together = batch * shared, each * rows
    if causal and each > 1:  # the rows of several heads follow each other: they need a mask that says which are which
        tril = np.triu(np.full((rows, columns), -np.inf, to_opmath(query).dtype), 1)
        mask, causal = tril if mask is None else to_opmath(mask) + tril, False
    if mask is not None:
        mask = to_opmath(mask)
        if each > 1 or (mask.ndim == 4 and prod(mask.shape[:2]) > 1):
            mask = np.broadcast_to(mask, (batch, heads, rows, columns)).reshape(n, together, columns)
        else:
            mask = np.broadcast_to(mask.reshape(mask.shape[-2:]), (n, rows, columns))
    query, key, value = map(to_opmath, (query, key, value))
    return Heads(query.reshape(n, together, width), key.reshape(n, columns, width), value.reshape(n, columns, width),
                 mask, causal, 1 / sqrt(width) if scale is None else scale)


def beside(array: Array, column: Any, factor: float = 1) -> Array:
    """An array times a factor, with one more column."""
    out = np.empty((*array.shape[:-1], array.shape[-1] + 1), array.dtype)
    np.multiply(array, array.dtype.type(factor), out=out[..., :-1])
    out[..., -1] = column
    return out


def length(array: Array) -> Any:
    """The length of the longest row."""
    return np.sqrt(np.einsum("nij,nij->ni", array, array).max(initial=0))


def flash(query: Array, key: Array, value: Array, dropout_p: float = 0.0, is_causal: bool = False,
          attn_mask: Any = None, scale: float | None = None) -> tuple[Array, Array]:
    """The attention, and the logarithm of the sum of exponentials for each query.

    The largest score of a row is taken away only where the lengths of queries and keys do not rule out an overflow.
    """
    heads = by_heads(query, key, value, is_causal, attn_mask, scale)
    keys, values = heads.key.swapaxes(1, 2), beside(heads.value, 1)
    queries = heads.query * heads.query.dtype.type(heads.scale)
    largest = length(queries) * length(heads.key)
    if heads.mask is not None:
        largest = largest + np.maximum(heads.mask, -SAFE).max(initial=0)  # what is masked out is minus infinity
    safe = bool(largest <= SAFE) and (heads.mask is None or not np.any((heads.mask < -SAFE) & (heads.mask > -np.inf)))
    sums = np.empty((*queries.shape[:2], values.shape[2]), queries.dtype)
    shift = np.zeros(queries.shape[:2], queries.dtype)
    for part, rows, columns in heads.blocks():
        scores = np.matmul(queries[part, rows], keys[part, :, :columns])
        heads.masked(scores, part, rows, columns)
        if not safe:
            top = np.maximum.reduce(scores, 2)
            top[top == -np.inf] = 0
            scores -= top[..., None]
            shift[part, rows] = top
        np.exp(scores, out=scores)
        np.matmul(scores, values[part, :columns], out=sums[part, rows])
    weight = sums[..., -1]
    empty = weight == 0
    weight[empty] = 1
    logsumexp = np.log(weight) + shift
    logsumexp[empty] = 0
    out = sums[..., :-1] / weight[..., None]
    return out.reshape(query.shape), logsumexp.reshape(query.shape[:3])


def flash_backward(grad: Array, query: Array, key: Array, value: Array, out: Array, logsumexp: Array, dropout_p: float,
                   is_causal: bool, attn_mask: Any = None, scale: float | None = None) -> tuple[Array, ...]:
    """The weights are computed anew from the sums that were kept, and of their gradient the part along them is taken
    away, both as a column of a product.
    """
    heads = by_heads(query, key, value, is_causal, attn_mask, scale)
    grad = np.ascontiguousarray(to_opmath(grad).reshape(heads.query.shape))  # BLAS takes nothing that is broadcast
    along = np.einsum("nij,nij->ni", grad, to_opmath(out).reshape(grad.shape))
    shift = -logsumexp.reshape(along.shape)
    exact = np.abs(shift).max(initial=0) < SAFE**2  # else the logarithms of the sums got lost in what was added to them
    queries = beside(heads.query, shift if exact else 0, heads.scale)
    keys, values = beside(heads.key, 1), beside(heads.value, 1)
    grads = beside(grad, -along)
    of_query, of_key, of_value = np.empty_like(grad), np.zeros_like(heads.key), np.zeros_like(heads.value)
    for part, rows, columns in heads.blocks():
        weights = np.matmul(queries[part, rows], keys[part, :columns].swapaxes(1, 2))
        heads.masked(weights, part, rows, columns)
        if not exact:
            weights -= np.maximum(np.maximum.reduce(weights, 2, keepdims=True), np.finfo(weights.dtype).min)
        np.exp(weights, out=weights)
        if not exact:
            weights /= np.maximum(np.add.reduce(weights, 2, keepdims=True), 1)
        of_value[part, :columns] += np.matmul(weights.swapaxes(1, 2), grad[part, rows])
        weights *= np.matmul(grads[part, rows], values[part, :columns].swapaxes(1, 2))
        np.matmul(weights, heads.key[part, :columns], out=of_query[part, rows])
        of_key[part, :columns] += np.matmul(weights.swapaxes(1, 2), queries[part, rows, :-1])
    of_query *= of_query.dtype.type(heads.scale)
    return of_query.reshape(query.shape), of_key.reshape(key.shape), of_value.reshape(value.shape)


CPU_KERNELS.update({
    "_scaled_dot_product_flash_attention_for_cpu": flash,
    "_scaled_dot_product_flash_attention_for_cpu_backward": flash_backward,
})
