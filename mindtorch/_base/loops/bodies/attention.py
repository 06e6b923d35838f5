"""Attention of few rows, head by head.

Heads may share keys and values. Keys are transposed, so that inner loops run along lines. A mask is added to the
scores; each of its sizes is that of the scores, or 1. With ``causal``, row ``i`` attends to the columns up to ``i``.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from .activation import exp
from .softmax import largest
from .writing import SUMS, f32, loop

BOX = "float32[:,:,:,:]"


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
