"""Simulated kernels of products of matrices and vectors, norms, distances, and attention over whole matrices."""
from __future__ import annotations

from typing import Any

import numpy as np

from ....cpu.precision import to_opmath
from .forms import CPU, Array, Kernel, named, number, pointwise, row_of, store, whole


def product(row: Any) -> Kernel:
    """Make an operator whose last parameter, cubeMathType, makes no difference here."""
    row = row_of(row)
    return lambda *args: store(args[-2], row(*map(number, args[:-2])))


def addmv(self: Any, mat: Any, vec: Any, alpha: Any, beta: Any) -> Any:
    """ACLNN's order of the two factors is not ATen's."""
    return CPU["addmv"](self, mat, vec, beta, alpha)


def addr(self: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any) -> Any:
    return CPU["addr"](self, vec1, vec2, 1 if beta is None else beta, 1 if alpha is None else alpha)


CAUSAL = 2


def heads_of(query: Array, shared: Array) -> Array:
    """Repeat keys or values for each of the heads of queries that share them."""
    return np.repeat(shared, query.shape[1] // shared.shape[1], 1)


def scores(query: Array, key: Array, hidden: Any, scale: float, mode: int) -> Array:
    """Return the scores, minus infinity where they are masked."""
    found = query @ heads_of(query, key).swapaxes(-1, -2) * scale
    if mode == CAUSAL:
        hidden = np.triu(np.ones(found.shape[-2:], bool), 1)
    if hidden is not None:
        found[np.broadcast_to(hidden != 0, found.shape)] = -np.inf
    return found


def forward(query: Array, key: Array, value: Array, shift: None, kept: None, padding: None, hidden: Any, prefix: Any,
            scale: float, keep: float, before: int, after: int, heads: int, layout: str, precise: int, mode: int,
            most: Array, total: Array, weights: Array, out: Array) -> None:
    """Compute attention. A row in which everything is hidden has zero output and zero weights."""
    query, key, value = map(to_opmath, (query, key, value))
    found = scores(query, key, hidden, scale, mode)
    top = found.max(-1, keepdims=True)
    top[top == -np.inf] = 0
    exponentials = np.exp(found - top)
    sums = exponentials.sum(-1, keepdims=True)
    sums[sums == 0] = 1
    store(out, exponentials @ heads_of(query, value) / sums)
    most[...], total[...] = top, sums


def backward(query: Array, key: Array, value: Array, grad: Array, shift: None, kept: None, padding: None, hidden: Any,
             most: Array, total: Array, weights: Any, out: Array, prefix: Any, scale: float, keep: float, before: int,
             after: int, heads: int, layout: str, precise: int, mode: int, of_query: Array, of_key: Array,
             of_value: Array, of_shift: Any) -> None:
    query, key, value, grad, out = map(to_opmath, (query, key, value, grad, out))
    weight = np.exp(scores(query, key, hidden, scale, mode) - most[..., :1]) / total[..., :1]
    through = weight * (grad @ heads_of(query, value).swapaxes(-1, -2) - (grad * out).sum(-1, keepdims=True))
    store(of_query, through @ heads_of(query, key) * scale)
    to_key, to_value = through.swapaxes(-1, -2) @ query * scale, weight.swapaxes(-1, -2) @ grad
    for place, gradient in ((of_key, to_key), (of_value, to_value)):
        batch, own, *rest = place.shape
        store(place, gradient.reshape(batch, own, -1, *rest).sum(2))


KERNELS: dict[str, Kernel] = {
    **named(product, """
        Mm mm                                 Matmul mm                             BatchMatMul bmm
        Addmm addmm                           Baddbmm baddbmm                       Addbmm addbmm
        Mv mv
    """),
    **named(whole, "Dot dot   LinalgCross linalg_cross   PdistForward _pdist_forward   Renorm renorm"),
    "aclnnAddmv": product(addmv),
    "aclnnAddr": pointwise(addr),
    "aclnnTrace": whole(lambda self: np.trace(self, dtype=np.int64 if self.dtype.kind in "biu" else None)),
    "aclnnFlashAttentionScore": forward, "aclnnFlashAttentionScoreGrad": backward,
}
