"""CPU kernels of attention, block by block, so that a block's scores stay in the cache (FlashAttention).

Passes over the scores are folded into matrix products: a vector of ones sums the weights, and an extra column beside
the queries shifts each row of scores.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from math import prod, sqrt
from typing import Any, NamedTuple

import numpy as np

from ...._base import loops
from ...._base.backend import FLASH, attention_kernels
from ...._base.layout import Ints
from ...._storage import allocate
from ...common.blocks import BLOCK, each_block
from ..precision import to_opmath
from ..rows import Prepared
from . import AT_ONCE, CPU_KERNELS
from .reduction import FEW, maximum, minimum
from .sums import ONES

Array = np.ndarray
dense: Any = np.ascontiguousarray
#: Least rows computed at a time with a causal mask; half the scores make up a block there.
ROWS = 32
#: Least number of passes over the scores.
PASSES = 4
#: Neither the exponential of this number nor of its negative overflows or underflows in float32.
SAFE = 60.0


#: Up to this many elements and scores, everything is computed at once, and checks of all elements are nearly free.
SHORT = 1 << 10
#: Up to this many products of an element of a query and one of a key, calls of BLAS take longer than a compiled loop.
PRODUCTS = 1 << 14
#: Up to this many elements of the queries, and scores, BLAS is called once for all heads.
TOGETHER = 1 << 15
NO_MASK, NO_MASKS = np.zeros((1, 1, 1, 1), np.float32), np.zeros((0, 1, 1), np.float32)


class Heads(NamedTuple):
    """The arguments of a call by key heads: queries (n, rows, width) of all heads that share keys (n, columns, width),
    and an optional mask broadcast to (n, rows, columns).
    """

    query: Array
    key: Array
    value: Array
    mask: Any
    causal: bool
    scale: float

    def by_loop(self, loop: loops.Loop, *arrays: Array) -> bool:
        """Return whether a compiled loop has computed the attention or its gradients, given further arrays by heads."""
        n, rows, columns = len(self.query), self.query.shape[1], self.key.shape[1]
        compiled = loop.compiled(self.query.size * columns) if self.query.dtype == loops.SINGLE else None
        if compiled is None:
            return False
        by_heads = self.query, *map(np.ascontiguousarray, (self.key, self.value)), (
            NO_MASKS if self.mask is None else self.mask)

        def of_heads(part: slice) -> None:
            compiled(*[array[part] for array in by_heads], self.scale, self.causal, *[array[part] for array in arrays])

        each_block(of_heads, n, max(BLOCK // max(rows * columns, 1), 1), n * rows * columns * PASSES)
        return True

    def each_block(self, work: Callable[[Heads, slice], None]) -> None:
        """Call ``work`` with blocks of heads and their slice."""
        n, rows, columns = len(self.query), self.query.shape[1], self.key.shape[1]

        def of_heads(part: slice) -> None:
            mask = None if self.mask is None else self.mask[part]
            work(self._replace(query=self.query[part], key=self.key[part], value=self.value[part], mask=mask), part)

        size = BLOCK // 2 if self.causal else BLOCK
        each_block(of_heads, n, max(size // max(self.height() * columns, 1), 1), n * rows * columns * PASSES)

    def height(self) -> int:
        """Return how many rows are computed at a time: as many as stay in the cache. Fewer waste less above a causal
        diagonal.
        """
        rows = self.query.shape[1]
        fit = max(ROWS, BLOCK // max(self.key.shape[1], 1))
        return min(rows, fit, max(ROWS, rows // 8)) if self.causal else min(rows, fit)

    def rows(self) -> Iterator[tuple[slice, int]]:
        """Yield slices of rows with the number of columns they attend to."""
        rows, columns, height = self.query.shape[1], self.key.shape[1], self.height()
        for top in range(0, rows, max(height, 1)):
            bottom = min(top + height, rows)
            yield slice(top, bottom), min(bottom, columns) if self.causal else columns

    def masked(self, scores: Array, rows: slice, columns: int) -> None:
        """Add the mask to the scores of some rows, and minus infinity above a causal diagonal."""
        if self.mask is not None:
            scores += self.mask[:, rows, :columns]
        if self.causal and columns > rows.start:
            scores[:, :, rows.start:] += above_diagonal(scores.shape[1], columns - rows.start, scores.dtype)


@lru_cache(16)
def above_diagonal(rows: int, columns: int, dtype: np.dtype) -> Array:
    """Return minus infinity above the diagonal and 0 elsewhere, cached: not to be written to."""
    return np.triu(np.full((rows, columns), -np.inf, dtype), 1)


def factor_of(query: Array, scale: float | None) -> float:
    return 1 / sqrt(query.shape[-1] or 1) if scale is None else float(scale)


def by_heads(query: Array, key: Array, value: Array, causal: bool, mask: Any, scale: float | None) -> Heads:
    batch, heads, rows, width = query.shape
    shared, columns = key.shape[1:3]
    each = heads // shared
    n, together = batch * shared, each * rows
    scale = factor_of(query, scale)
    if causal and each > 1:  # rows of several heads follow each other, so the diagonal becomes a mask
        above = above_diagonal(rows, columns, to_opmath(query).dtype)
        mask, causal = above if mask is None else to_opmath(mask) + above, False
    if mask is not None:
        mask = to_opmath(mask)
        if each > 1 or (mask.ndim == 4 and prod(mask.shape[:2]) > 1):
            mask = np.broadcast_to(mask, (batch, heads, rows, columns)).reshape(n, together, columns)
        else:
            mask = np.broadcast_to(mask.reshape(mask.shape[-2:]), (n, rows, columns))
    query, key, value = map(to_opmath, (query, key, value))
    return Heads(query.reshape(n, together, width), key.reshape(n, columns, width), value.reshape(n, columns, width),
                 mask, causal, scale)


def beside(array: Array, column: Any, factor: float = 1) -> Array:
    """Return a scaled array with an extra column."""
    out = np.empty((*array.shape[:-1], array.shape[-1] + 1), array.dtype)
    np.multiply(array, array.dtype.type(factor), out=out[..., :-1])
    out[..., -1] = column
    return out


def above(array: Array, row: Any) -> Array:
    """Return transposed arrays with an extra row, contiguous: BLAS then takes half the time for small matrices."""
    out = np.empty((len(array), array.shape[2] + 1, array.shape[1]), array.dtype)
    out[:, :-1] = array.swapaxes(1, 2)
    out[:, -1] = row
    return out


def length(array: Array) -> Any:
    """Return the length of the longest row."""
    return np.sqrt(np.einsum("nij,nij->ni", array, array).max(initial=0))


def all_squares(array: Array) -> Any:
    """Return the sum of squares of all elements."""
    line = array.reshape(-1)
    return line.dot(line)


def is_safe(heads: Heads, queries: Array) -> bool:
    """Return True if the lengths of queries and keys rule out that the exponential of a score overflows."""
    mask = heads.mask
    if mask is None and queries.size <= SHORT and all_squares(queries) * all_squares(heads.key) <= SAFE**2:
        return True  # the bound for all rows as one
    largest = length(queries) * length(heads.key)
    if mask is None:
        return bool(largest <= SAFE)
    largest = largest + np.maximum(mask, -SAFE).max(initial=0)  # a masked-out score is minus infinity
    return bool(largest <= SAFE) and not np.any((mask < -SAFE) & (mask > -np.inf))


def of_few_heads(loop: loops.Loop, *arrays: Array, mask: Any) -> tuple[Callable[..., None], list[Ints]] | None:
    """Return the loop of blocks for few heads with keys of their own, and its arrays' shapes; None for others."""
    query, key, *_ = arrays
    heads, scores = query.shape[0] * query.shape[1], prod(query.shape[:3]) * key.shape[2]
    if mask is not None or query.shape[1] != key.shape[1] or not 0 < scores * PASSES < BLOCK or any(
            array.dtype is not loops.SINGLE for array in arrays):
        return None
    compiled = loop.compiled(scores * query.shape[3])
    return compiled and (compiled, [(heads, *array.shape[2:]) for array in arrays])


def flash(query: Array, key: Array, value: Array, dropout_p: float = 0.0, is_causal: bool = False,
          attn_mask: Any = None, scale: float | None = None) -> Callable[..., tuple[Array, Array]]:
    """Prepare the attention, and the log-sum-exp of each query's scores: by a loop for few, else by BLAS."""
    shape, dtype, factor = query.shape, query.dtype, factor_of(query, scale)
    if found := of_few_heads(loops.attention_blocks, query, key, value, mask=attn_mask):
        blocks, (of_query, of_key, of_value) = found

        def by_blocks(query: Array, key: Array, value: Array, dropout_p: float = 0.0, is_causal: bool = False,
                      attn_mask: None = None) -> tuple[Array, Array]:
            out, logsumexp = np.empty(of_query, dtype), np.empty(of_query[:2], dtype)
            blocks(dense(query).reshape(of_query), dense(key).reshape(of_key), dense(value).reshape(of_value), NO_MASKS,
                   factor, is_causal, out, logsumexp)
            return out.reshape(shape), logsumexp.reshape(shape[:3])

        return by_blocks
    products, given = query.size * key.shape[2], (query, key, value, NO_MASK if attn_mask is None else attn_mask)
    loop = None
    if products <= PRODUCTS and all(array.dtype is loops.SINGLE for array in given):
        loop = loops.attention.compiled(products)
    if loop is None:
        together = is_together(query, key) and (attn_mask is None or attn_mask.dtype is query.dtype)
        return partial(at_once if together else in_blocks, scale)
    broadcast = (1,) * (4 - given[3].ndim) + given[3].shape

    def by_loop(query: Array, key: Array, value: Array, dropout_p: float = 0.0, is_causal: bool = False,
                attn_mask: Any = None) -> tuple[Array, Array]:
        out, logsumexp = np.empty(shape, dtype), np.empty(shape[:3], dtype)
        mask = NO_MASK if attn_mask is None else attn_mask.reshape(broadcast)
        loop(query, key, value, mask, factor, is_causal, out, logsumexp)
        return out, logsumexp

    return by_loop


@partial(Prepared, count=4)
def scaled_dot_product_attention(query: Array, key: Array, value: Array, attn_mask: Any = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False) -> Callable[..., Array | None] | None:
    """Prepare attention by ``flash``, as the composite chooses it, of one dtype, without or with an additive mask."""
    shape, of_keys = query.shape, key.shape
    if (len(shape) != 4 or len(of_keys) != 4 or value.shape != of_keys or 0 in shape or 0 in of_keys or dropout_p != 0
            or query.dtype.char not in "fd" or key.dtype is not query.dtype or value.dtype is not query.dtype
            or shape[0] != of_keys[0] or shape[3] != of_keys[3]
            or (shape[1] != of_keys[1] and not (enable_gqa and not shape[1] % of_keys[1]))
            or any(array.strides[3] != array.itemsize for array in (query, key, value))):
        return None
    if attn_mask is not None and (attn_mask.dtype is not query.dtype or attn_mask.ndim not in (2, 4) or any(
            size not in (1, whole) for size, whole in zip(
                attn_mask.shape[::-1], (of_keys[2], shape[2], shape[1], shape[0]), strict=False))):
        return None
    run = flash(query, key, value, dropout_p, is_causal, attn_mask, scale)

    def attend(query: Array, key: Array, value: Array, attn_mask: Any = None) -> Array | None:
        if FLASH not in attention_kernels.enabled:
            return None
        return run(query, key, value, dropout_p, is_causal, attn_mask)[0]

    return attend


def is_together(query: Array, key: Array) -> bool:
    """Return True if all scores are computed at once, on arrays of any strides in float32 or float64."""
    return (query.dtype.char in "fd" and 0 < query.size <= TOGETHER
            and 0 < query.shape[0] * query.shape[1] * query.shape[2] * key.shape[2] <= TOGETHER)


def by_keys(array: Array, key: Array) -> Array:
    """Return a contiguous array of rows by the heads of keys: rows of all heads that share keys follow each other."""
    batch, heads, rows, width = array.shape
    shared = key.shape[1]
    return array if heads == shared else array.reshape(batch, shared, heads // shared * rows, width)


def by_position(shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Return new memory, in which heads follow positions, as the operator describes sums and gradients."""
    batch, heads, rows, *rest = shape
    return np.empty((batch, rows, heads, *rest), dtype).swapaxes(1, 2)


def scores_of(scale: float | None, query: Array, key: Array, attn_mask: Any) -> tuple[Array, Array]:
    """Return the scaled queries by heads of keys, and the scores, with the mask."""
    queries = by_keys(np.multiply(query, query.dtype.type(factor_of(query, scale)), order="C"), key)
    scores = np.matmul(queries, key.swapaxes(2, 3), order="C").reshape(*query.shape[:3], key.shape[2])
    if attn_mask is not None:
        scores += attn_mask
    return queries, scores


def at_once(scale: float | None, query: Array, key: Array, value: Array, dropout_p: float = 0.0,
            is_causal: bool = False, attn_mask: Any = None) -> tuple[Array, Array]:
    """Compute ``flash`` of few heads as a whole. The largest score of a row is subtracted only if an overflow is
    possible.
    """
    _, scores = scores_of(scale, query, key, attn_mask)
    safe = maximum(scores, None) <= SAFE and minimum(scores, None) >= -SAFE  # False for NaN
    if is_causal:
        scores += above_diagonal(*scores.shape[2:], scores.dtype)
    top = None
    if not safe:
        top = maximum(scores, 3)
        top[top == -np.inf] = 0
        scores -= top[..., None]
    np.exp(scores, scores)
    columns = scores.shape[3]
    ones = ONES[scores.dtype.char][:columns] if columns <= FEW else np.ones(columns, scores.dtype)
    weight = np.matmul(scores, ones, out=by_position(scores.shape[:3], scores.dtype))
    empty = None if safe else weight == 0
    if empty is not None:
        weight[empty] = 1
    out = np.matmul(by_keys(scores, key), value, order="C").reshape(query.shape)
    out = np.divide(out, weight[..., None], np.empty_like(query))
    np.log(weight, weight)
    if top is not None:
        weight += top
        weight[empty] = 0
    return out, weight


def in_blocks(scale: float | None, query: Array, key: Array, value: Array, dropout_p: float = 0.0,
              is_causal: bool = False, attn_mask: Any = None) -> tuple[Array, Array]:
    """Compute ``flash`` by products of matrices. The largest score of a row is subtracted only if an overflow is
    possible.
    """
    whole = by_heads(query, key, value, is_causal, attn_mask, scale)
    out = allocate(whole.query.shape, whole.query.dtype)
    logsumexp = np.empty(out.shape[:2], out.dtype)
    if whole.by_loop(loops.attention_blocks, out, logsumexp):
        return out.reshape(query.shape), logsumexp.reshape(query.shape[:3])

    def work(heads: Heads, part: slice) -> None:
        queries = heads.query * heads.query.dtype.type(heads.scale)
        keys, safe = above(heads.key, 0)[:, :-1], is_safe(heads, queries)
        found, weight = out[part], logsumexp[part]
        top = None if safe else np.zeros(queries.shape[:2], queries.dtype)
        for rows, columns in heads.rows():
            scores = np.matmul(queries[:, rows], keys[:, :, :columns])
            heads.masked(scores, rows, columns)
            if top is not None:
                largest = np.maximum.reduce(scores, 2, out=top[:, rows])
                largest[largest == -np.inf] = 0
                scores -= largest[..., None]
            np.exp(scores, out=scores)
            ones = ONES[scores.dtype.char][:columns] if columns <= FEW else np.ones(columns, scores.dtype)
            np.matmul(scores, ones, out=weight[:, rows])  # faster than an extra column
            np.matmul(scores, heads.value[:, :columns], out=found[:, rows])
        empty = None if safe and heads.mask is None else weight == 0  # no row of safe, unmasked scores is empty
        if empty is not None:
            weight[empty] = 1
        if found.size <= SHORT:
            found *= (1 / weight)[..., None]
        else:  # for many rows, faster than broadcasting along them
            found *= np.repeat(1 / weight, found.shape[2]).reshape(found.shape)
        np.log(weight, out=weight)
        if top is not None:
            weight += top
        if empty is not None:
            weight[empty] = 0

    if out.size <= SHORT and len(out) * out.shape[1] * whole.key.shape[1] <= SHORT:
        work(whole, slice(None))
    else:
        whole.each_block(work)
    return out.reshape(query.shape), logsumexp.reshape(query.shape[:3])


def flash_backward(grad: Array, query: Array, key: Array, value: Array, out: Array, logsumexp: Array, dropout_p: float,
                   is_causal: bool, attn_mask: Any = None, scale: float | None = None) -> tuple[Array, ...]:
    """Compute the gradients. Weights are recomputed from the saved log-sum-exp, and the softmax correction is
    subtracted, both as an extra column of a product.
    """
    if is_together(query, key) and (attn_mask is None or attn_mask.dtype is query.dtype) and (
            np.abs(logsumexp).max() < SAFE**2):  # otherwise a large shift has rounded the logarithm away
        return gradients_at_once(grad, query, key, value, logsumexp, is_causal, attn_mask, scale)
    whole = by_heads(query, key, value, is_causal, attn_mask, scale)
    dtype, shape = whole.query.dtype, whole.query.shape
    grad, out, logsumexp = grad.reshape(shape), out.reshape(shape), logsumexp.reshape(shape[:2])
    of_query, of_key, of_value = (allocate(x.shape, dtype) for x in (whole.query, whole.key, whole.value))
    if np.abs(logsumexp).max(initial=0) < SAFE**2 and whole.by_loop(  # otherwise a large shift has rounded the sum away
            loops.attention_blocks_backward, to_opmath(grad), to_opmath(out), logsumexp, of_query, of_key, of_value):
        return of_query.reshape(query.shape), of_key.reshape(key.shape), of_value.reshape(value.shape)

    def work(heads: Heads, part: slice) -> None:
        through = np.ascontiguousarray(to_opmath(grad[part]))  # BLAS rejects broadcast arrays
        along, shift = np.einsum("nij,nij->ni", through, to_opmath(out[part])), -logsumexp[part]
        exact = np.abs(shift).max(initial=0) < SAFE**2  # otherwise a large shift has rounded the logarithm away
        queries = beside(heads.query, shift if exact else 0, heads.scale)
        keys, values, grads = above(heads.key, 1), above(heads.value, 1), beside(through, -along)
        of_key[part] = of_value[part] = 0
        for rows, columns in heads.rows():
            weights = np.matmul(queries[:, rows], keys[:, :, :columns])
            heads.masked(weights, rows, columns)
            if not exact:
                weights -= np.maximum(np.maximum.reduce(weights, 2, keepdims=True), np.finfo(dtype).min)
            np.exp(weights, out=weights)
            if not exact:
                weights /= np.maximum(np.add.reduce(weights, 2, keepdims=True), 1)
            of_value[part, :columns] += np.matmul(weights.swapaxes(1, 2), through[:, rows])
            weights *= np.matmul(grads[:, rows], values[:, :, :columns])
            np.matmul(weights, heads.key[:, :columns], out=of_query[part, rows])
            of_key[part, :columns] += np.matmul(weights.swapaxes(1, 2), queries[:, rows, :-1])

    whole.each_block(work)
    of_query *= dtype.type(whole.scale)
    return of_query.reshape(query.shape), of_key.reshape(key.shape), of_value.reshape(value.shape)


def flash_gradients(grad: Array, query: Array, key: Array, value: Array, out: Array, logsumexp: Array, dropout_p: float,
                    is_causal: bool, attn_mask: Any = None,
                    scale: float | None = None) -> Callable[..., tuple[Array, ...]] | None:
    """Prepare ``flash_backward`` of few heads by a loop."""
    found = of_few_heads(loops.attention_blocks_backward, query, key, value, grad, out, logsumexp, mask=attn_mask)
    if found is None:
        return None
    loop, (of_query, of_key, of_value, of_grad, of_out, of_sums) = found
    dtype, shapes, factor = query.dtype, (query.shape, key.shape, value.shape), factor_of(query, scale)

    def by_loop(grad: Array, query: Array, key: Array, value: Array, out: Array, logsumexp: Array, dropout_p: float,
                is_causal: bool, attn_mask: None = None) -> tuple[Array, ...]:
        sums = dense(logsumexp).reshape(of_sums)
        if not (line := sums.ravel()).dot(line) < SAFE**4:
            return flash_backward(grad, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask, scale)
        made = [np.empty(shape, dtype) for shape in (of_query, of_key, of_value)]
        loop(dense(query).reshape(of_query), dense(key).reshape(of_key), dense(value).reshape(of_value), NO_MASKS,
             factor, is_causal, dense(grad).reshape(of_grad), dense(out).reshape(of_out), sums, *made)
        return tuple([array.reshape(shape) for array, shape in zip(made, shapes, strict=True)])

    return by_loop


def gradients_at_once(grad: Array, query: Array, key: Array, value: Array, logsumexp: Array, is_causal: bool,
                      attn_mask: Any, scale: float | None) -> tuple[Array, ...]:
    """Compute the gradients of ``at_once``."""
    queries, weights = scores_of(scale, query, key, attn_mask)
    weights -= logsumexp[..., None]
    if is_causal:
        weights += above_diagonal(*weights.shape[2:], weights.dtype)
    np.exp(weights, weights)
    total = np.add.reduce(weights, 3, keepdims=True)
    weights /= np.where(total > 0, total, 1)  # the forward pass, if by a loop, has rounded large scores otherwise
    grad = np.ascontiguousarray(grad)  # BLAS rejects broadcast arrays
    grad, weights = by_keys(grad, key), by_keys(weights, key)
    of_query, of_key, of_value = [by_position(array.shape, array.dtype) for array in (query, key, value)]
    np.matmul(weights.swapaxes(2, 3), grad, of_value)
    through = np.matmul(grad, value.swapaxes(2, 3), order="C")
    through -= np.vecdot(through, weights)[..., None]
    through *= weights
    np.matmul(through.swapaxes(2, 3), queries, of_key)
    product = np.matmul(through, key, order="C").reshape(query.shape)
    np.multiply(product, query.dtype.type(factor_of(query, scale)), of_query)
    return of_query, of_key, of_value


def additive(mask: Any, query: Array) -> Any:
    """Convert a boolean mask to one that is added to scores."""
    return mask if mask is None or mask.dtype != bool else np.where(mask, 0, -np.inf).astype(to_opmath(query).dtype)


def fused(query: Array, key: Array, value: Array, attn_bias: Any = None, dropout_p: float = 0.0,
          is_causal: bool = False, return_debug_mask: bool = False, scale: float | None = None) -> tuple[Any, ...]:
    """Compute the operator that devices with fused attention use. PyTorch has no CPU kernel of it."""
    given = query, key, value, 0.0, is_causal, additive(attn_bias, query)
    out, logsumexp = flash(*given, scale)(*given)
    return out, logsumexp, None, None, query.shape[2], key.shape[2], None, None, None


def fused_backward(grad_out: Array, query: Array, key: Array, value: Array, attn_bias: Any, grad_input_mask: Any,
                   out: Array, logsumexp: Array, cum_seq_q: None, cum_seq_k: None, max_q: int, max_k: int,
                   dropout_p: float, is_causal: bool, philox_seed: None, philox_offset: None,
                   scale: float | None = None) -> tuple[Any, ...]:
    return (*flash_backward(grad_out, query, key, value, out, logsumexp, 0.0, is_causal, additive(attn_bias, query),
                            scale), None)


AT_ONCE.add(scaled_dot_product_attention)
CPU_KERNELS.update({
    "_scaled_dot_product_fused_attention_overrideable": fused,
    "_scaled_dot_product_fused_attention_overrideable_backward": fused_backward,
    "_scaled_dot_product_flash_attention_for_cpu": Prepared(flash, 6),
    "_scaled_dot_product_flash_attention_for_cpu_backward": Prepared(flash_gradients, 9, flash_backward),
})
