"""Attention, head by head: of few rows, and of many in blocks of scores that stay in the cache (FlashAttention).

With ``causal``, row ``i`` attends to the columns up to ``i``. A mask is added to the scores. Heads of few rows may
share keys and values, and each size of their mask is that of the scores, or 1; keys are transposed, so that inner loops
run along lines. Many rows are given by key heads, with a mask of all scores or of none.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from .activation import exp
from .product import product, product_transposed
from .softmax import largest
from .writing import SUMS, f32, loop

BOX, CUBE, LINES = "float32[:,:,:,:]", "float32[:,:,:]", "float32[:,:,::1]"
ROWS, COLUMNS = 64, 512  #: of a block of scores
multiply, multiply_transposed = njit(product), njit(product_transposed)


@njit
def weigh(query: Any, keys: Any, mask: Any, scale: Any, weights: Any) -> Any:
    """Write the powers of a row's scores, and return their sum, and the largest score, or 0 if all are masked out."""
    weights[:] = f32(0)
    for d in range(len(query)):
        factor, line = query[d] * scale, keys[d]
        for j in range(len(weights)):
            weights[j] += factor * line[j]
    for j in range(len(weights)):
        weights[j] += mask[j if len(mask) > 1 else 0]
    top, total = largest(weights), f32(0)
    if top == f32(-np.inf):
        weights[:] = f32(0)
        return f32(1), f32(0)
    for j in range(len(weights)):
        power = exp(weights[j] - top)
        weights[j] = power
        total += power
    return total, top


@loop(BOX, BOX, BOX, BOX, "float32", "int64", "float32[:,:,:,::1]", "float32[:,:,::1]", fastmath=SUMS)
def attention(query: Any, key: Any, value: Any, mask: Any, scale: Any, causal: Any, out: Any, logs: Any) -> None:
    columns, width, each = key.shape[2], key.shape[3], query.shape[1] // key.shape[1]
    keys, values, scores = np.empty((width, columns), f32), np.empty((columns, width), f32), np.empty(columns, f32)
    for b in range(len(query)):
        for h in range(query.shape[1]):
            if h % each == 0:
                for j in range(columns):
                    for d in range(width):
                        keys[d, j], values[j, d] = key[b, h // each, j, d], value[b, h // each, j, d]
            for row in range(query.shape[2]):
                weights, result = scores[:min(row + 1, columns) if causal else columns], out[b, h, row]
                term = mask[min(b, len(mask) - 1), min(h, mask.shape[1] - 1), min(row, mask.shape[2] - 1)]
                total, top = weigh(query[b, h, row], keys, term, scale, weights)
                logs[b, h, row] = top + f32(math.log(total))
                result[:] = f32(0)
                for j in range(len(weights)):
                    weight, line = weights[j] / total, values[j]
                    for d in range(len(result)):
                        result[d] += weight * line[d]


@njit
def height_of(rows: Any, causal: Any) -> Any:
    """Return how many rows a block has. Fewer rows waste less above a causal diagonal."""
    return ROWS // 2 if causal and rows < 32 * ROWS else ROWS


@njit
def score(queries: Any, keys: Any, mask: Any, row: Any, column: Any, scores: Any) -> None:
    """Write a block of scores, with the mask of their head, given the numbers of the first row and column."""
    multiply_transposed(queries, keys, scores)
    for i in range(len(scores)):
        line = scores[i]
        if len(mask):
            term = mask[row + i, column:column + len(line)]
            for j in range(len(line)):
                line[j] += term[j]


@njit
def scale_rows(source: Any, factor: Any, out: Any) -> None:
    for i in range(len(source)):
        for d in range(source.shape[1]):
            out[i, d] = source[i, d] * factor


@njit
def add_rows(source: Any, out: Any) -> None:
    for i in range(len(source)):
        for d in range(source.shape[1]):
            out[i, d] += source[i, d]


@loop(CUBE, LINES, LINES, CUBE, "float32", "int64", LINES, "float32[:,::1]", fastmath=SUMS)
def attention_blocks(query: Any, key: Any, value: Any, mask: Any, scale: Any, causal: Any, out: Any, logs: Any) -> None:
    _, rows, width = query.shape
    columns, scores, height = key.shape[1], np.empty((ROWS, COLUMNS), f32), height_of(rows, causal)
    queries, part, tops, totals = np.empty((ROWS, width), f32), np.empty((ROWS, width), f32), np.empty(ROWS, f32), (
        np.empty(ROWS, f32))
    for h in range(len(query)):
        term = mask[h] if len(mask) else mask[:, 0]
        for row in range(0, rows, height):
            count = min(height, rows - row)
            scale_rows(query[h, row:row + count], scale, queries)
            results, end = out[h, row:row + count], min(row + count, columns) if causal else columns
            results[:], tops[:], totals[:] = f32(0), f32(-np.inf), f32(0)
            for column in range(0, end, COLUMNS):
                size = min(COLUMNS, end - column)
                block = scores[:count, :size]
                score(queries[:count], key[h, column:column + size], term, row, column, block)
                for i in range(count):
                    seen = min(size, max(row + i + 1 - column, 0)) if causal else size
                    scores[i, seen:size] = f32(0)
                    line, result, before, total = scores[i, :seen], results[i], tops[i], f32(0)
                    top = largest(line)
                    top = before if top <= before else top  # in this order NaN stays
                    if top == f32(-np.inf):
                        line[:] = f32(0)
                        continue
                    for j in range(seen):
                        power = exp(line[j] - top)
                        line[j] = power
                        total += power
                    if column:
                        factor = exp(before - top)
                        total += totals[i] * factor
                        for d in range(width):
                            result[d] *= factor
                    tops[i], totals[i] = top, total
                multiply(block, value[h, column:column + size], part[:count])
                add_rows(part[:count], results)
            for i in range(count):
                logs[h, row + i] = f32(0)
                if tops[i] != f32(-np.inf):
                    logs[h, row + i] = tops[i] + f32(math.log(totals[i]))
                    for d in range(width):
                        results[i, d] /= totals[i]


@loop(CUBE, LINES, LINES, CUBE, "float32", "int64", CUBE, CUBE, "float32[:,:]", LINES, LINES, LINES, fastmath=SUMS)
def attention_blocks_backward(query: Any, key: Any, value: Any, mask: Any, scale: Any, causal: Any, grad: Any, out: Any,
                              logs: Any, of_query: Any, of_key: Any, of_value: Any) -> None:
    """Compute the gradients. Weights are recomputed from the logarithms of the sums."""
    _, rows, width = query.shape
    columns, height = key.shape[1], height_of(rows, causal)
    scores, through = np.empty((ROWS, COLUMNS), f32), np.empty((ROWS, COLUMNS), f32)
    queries, grads, part = np.empty((ROWS, width), f32), np.empty((ROWS, width), f32), np.empty((COLUMNS, width), f32)
    for h in range(len(query)):
        term = mask[h] if len(mask) else mask[:, 0]
        of_query[h], of_key[h], of_value[h] = f32(0), f32(0), f32(0)
        for row in range(0, rows, height):
            count, sums = min(height, rows - row), of_query[h, row:row + height]
            scale_rows(query[h, row:row + count], scale, queries)
            scale_rows(grad[h, row:row + count], f32(1), grads)
            end = min(row + count, columns) if causal else columns
            for column in range(0, end, COLUMNS):
                size = min(COLUMNS, end - column)
                block, given, keys = scores[:count, :size], through[:count, :size], key[h, column:column + size]
                score(queries[:count], keys, term, row, column, block)
                for i in range(count):
                    seen = min(size, max(row + i + 1 - column, 0)) if causal else size
                    scores[i, seen:size] = f32(0)
                    line, shift = scores[i, :seen], logs[h, row + i]
                    for j in range(seen):
                        line[j] = exp(line[j] - shift)
                multiply(block.T, grads[:count], part[:size])
                add_rows(part[:size], of_value[h, column:column + size])
                multiply_transposed(grads[:count], value[h, column:column + size], given)
                for i in range(count):
                    line, factors, along = scores[i, :size], through[i, :size], f32(0)
                    for d in range(width):
                        along += grads[i, d] * out[h, row + i, d]
                    for j in range(size):
                        line[j] *= factors[j] - along
                multiply(block, keys, part[:count])
                add_rows(part[:count], sums)
                multiply(block.T, queries[:count], part[:size])
                add_rows(part[:size], of_key[h, column:column + size])
            scale_rows(sums, scale, sums)
