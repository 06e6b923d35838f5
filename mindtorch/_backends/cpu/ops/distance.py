"""CPU kernels of norms and distances."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.layout import wrap_dims
from ...._storage import allocate
from ...common.blocks import SMALL
from ..precision import is_half, to_opmath
from ..rows import Prepared
from . import AT_ONCE, CPU_KERNELS
from .norms import linalg_vector_norm, vector_norm
from .sums import total

vecdot: Any = np.vecdot
#: Elements of the differences computed together.
BLOCK = 1 << 20


def norm(x: np.ndarray, p: Any, dim: Any, keepdim: bool = False) -> Any:
    return vector_norm(to_opmath(x), 2 if p is None else p, wrap_dims(dim, x.ndim), keepdim)


def dist(x: np.ndarray, y: np.ndarray, p: Any = 2) -> Any:
    away = to_opmath(np.asarray(x - y))
    return vector_norm(away, p, tuple(range(away.ndim)))


def differences(x1: np.ndarray, x2: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the differences of all pairs of rows, a few rows of ``x1`` at a time."""
    rows = x1.shape[-2]
    step = max(BLOCK // max(x1[..., :1, :].size * x2.shape[-2], 1), 1)
    for start in range(0, rows, step):
        part = slice(start, start + step)
        yield part, x1[..., part, None, :] - x2[..., None, :, :]


#: How the loops number the norms, and how a norm adds up the absolute differences of a feature.
NORMS: dict[float, tuple[int, Callable[[np.ndarray], np.ndarray], np.ufunc]] = {
    0: (0, lambda away: np.minimum(np.ceil(np.abs(away)), 1), np.add), 1: (1, np.abs, np.add),
    2: (2, np.square, np.add), inf: (-1, np.abs, np.maximum)}
#: FEATURES: how many are summed up before the sums are. LEAST: pairs of rows that repay a step for each feature.
#: MANY: differences from which on a batch of matrices is computed one by one.
FEATURES, LEAST, MANY = 32, 1 << 6, 1 << 12


def of_few(x: np.ndarray, y: np.ndarray, p: float) -> np.ndarray:
    """Return the distances of all pairs of rows of two matrices, or of batches that broadcast, at once."""
    away = x[..., :, None, :] - y[..., None, :, :]
    axis = away.ndim - 1,
    return np.asarray(vector_norm(away, p, axis) if p else total(NORMS[0][1](away), axis))


def of_matrices(x: np.ndarray, y: np.ndarray, p: float, triangle: bool) -> np.ndarray:
    """Return the distances of rows of two matrices: of all pairs, or those behind the diagonal."""
    if x.dtype.kind != "f" or p not in NORMS or len(y) < LEAST:
        found = of_few(x, y, p)
        return found.take(pairs(len(x))) if triangle else found
    number, of_feature, add = NORMS[p]
    columns = np.ascontiguousarray(y.T)
    if (loop := loops.distances.compiled(2 * x.size * len(y), np.ascontiguousarray(x), columns)) is not None:
        count = len(x) * (len(x) - 1) // 2 if triangle else len(x) * len(y)
        out = allocate((count,), x.dtype)
        loop(np.ascontiguousarray(x), columns, number, triangle, FEATURES, out)
        return out if triangle else out.reshape(len(x), len(y))
    out = np.zeros((len(x), len(y)), x.dtype)
    step = max(SMALL // len(y), 1)
    for rows in range(0, len(x), step):
        target = out[rows:rows + step]
        for start in range(0, x.shape[1], FEATURES):
            sums = np.zeros_like(target)
            for k in range(start, min(start + FEATURES, x.shape[1])):
                add(sums, of_feature(x[rows:rows + step, k, None] - columns[k]), out=sums)
            add(target, sums, out=target)
    if p == 2:
        np.sqrt(out, out=out)
    return out.take(pairs(len(x))) if triangle else out


def cdist(x1: np.ndarray, x2: np.ndarray, p: float, compute_mode: int | None = None) -> np.ndarray:
    if x1.ndim == x2.ndim == 2 and x1.shape[1]:
        return of_matrices(x1, x2, p, False)
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    out = np.zeros((*batch, x1.shape[-2], x2.shape[-2]), x1.dtype)
    if not x1.shape[-1]:
        return out
    if batch and out.size * x1.shape[-1] <= MANY and x2.shape[-2] < LEAST:
        return of_few(x1, x2, p)
    first, second = (np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (x1, x2))
    for at in np.ndindex(batch):
        out[at] = of_matrices(first[at], second[at], p, False)
    return out


def norm_grad(grad: np.ndarray, away: np.ndarray, p: float, norm: np.ndarray) -> Any:
    """Return the gradient of the p-norm of differences; 0 where the norm is 0, unless signs make the gradient."""
    if p in (1, inf):
        signs = np.sign(away)
        return grad * (signs if p == 1 else signs * (np.abs(away) == norm))
    scale = away if p == 2 else np.where(away == 0, 0, np.sign(away) * np.abs(away) ** (p - 1))
    return np.where((norm == 0) | ((away == 0) & (p < 1)), 0, scale * grad / norm ** (p - 1))


def weights_of(grad: np.ndarray, p: float, norm: np.ndarray) -> np.ndarray:
    """Return the factor of the gradient by which differences, or their signs, are multiplied; 0 where the norm is 0."""
    return np.divide(grad, norm, out=np.zeros_like(grad), where=norm != 0) if p == 2 else np.ascontiguousarray(grad)


def cdist_backward(grad: np.ndarray, x1: np.ndarray, x2: np.ndarray, p: float, cdist: np.ndarray) -> np.ndarray:
    if not p:
        return np.zeros_like(x1)
    out = np.zeros((*grad.shape[:-1], x1.shape[-1]), x1.dtype)
    if p in (1, 2, inf) and grad.ndim == x1.ndim == x2.ndim and x1.shape[:-2] == x2.shape[:-2] and (
            loop := loops.distances_backward.compiled(cdist.size * x1.shape[-1], out)) is not None:
        weights, arrays = weights_of(grad, p, cdist), (np.ascontiguousarray(cdist), np.ascontiguousarray(x1),
                                                       np.ascontiguousarray(x2.swapaxes(-1, -2)))
        for at in np.ndindex(grad.shape[:-2]):
            loop(weights[at], *[array[at] for array in arrays], NORMS[p][0], out[at])
        return out
    for part, away in differences(x1, x2):
        each = norm_grad(grad[..., part, :, None], away, p, cdist[..., part, :, None])
        out[..., part, :] = total(each, (each.ndim - 2,))
    extra = out.ndim - x1.ndim
    repeated = [d + extra for d, n in enumerate(x1.shape) if n != out.shape[d + extra]]
    return total(out, (*range(extra), *repeated), True).reshape(x1.shape)


def euclidean_dist(x1: np.ndarray, x2: np.ndarray) -> np.ndarray:
    """Compute distances by one matrix product: fast, but inexact for close rows far from 0, so their middle is moved
    there, unless that moves a row away from it.
    """
    x1, x2 = to_opmath(x1), to_opmath(x2)
    first, second = of_both = [total(np.square(x), (x.ndim - 1,)) for x in (x1, x2)]
    if x1.size and np.isfinite(middle := x1.mean(-2, keepdims=True)).all():
        moved = [x - middle for x in (x1, x2)]
        squares = [total(np.square(x), (x.ndim - 1,)) for x in moved]
        if all((now <= 2 * before).all() for now, before in zip(squares, of_both, strict=True)):
            (x1, x2), (first, second) = moved, squares
    out = x1 @ np.swapaxes(-2 * x2, -1, -2)
    out += first[..., :, None]
    out += second[..., None, :]
    np.maximum(out, 0, out=out)
    return np.sqrt(out, out=out)


@lru_cache(4)
def pairs(count: int) -> np.ndarray:
    """Return the flat places of all pairs of rows in a matrix, those behind its diagonal. Not to be written to."""
    return np.flatnonzero(np.tri(count, dtype=bool).T & ~np.eye(count, dtype=bool))


def pdist(x: np.ndarray, p: float = 2.0) -> np.ndarray:
    return of_matrices(x, x, p, True) if x.shape[1] else np.zeros(len(pairs(len(x))), x.dtype)


def square(values: np.ndarray, count: int) -> np.ndarray:
    """Return the symmetric matrix of values of pairs."""
    out = np.zeros((count, count), values.dtype)
    out.put(pairs(count), values)
    return out + out.T


def pdist_backward(grad: np.ndarray, x: np.ndarray, p: float, pdist: np.ndarray) -> np.ndarray:
    return cdist_backward(square(grad, len(x)), x, x, p, square(pdist, len(x)))


def renorm(x: np.ndarray, p: Any, dim: int, maxnorm: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Prepare slices whose norms are at most a number."""
    others, half, narrow = tuple([d for d in range(x.ndim) if d != dim % x.ndim]), is_half(x), x.dtype
    like = to_opmath(x)
    norm: Any = linalg_vector_norm.prepare(like, p, others, True)
    kind = like.real.dtype
    most, least, one = (np.asarray(value, kind) for value in (maxnorm, 1e-7, 1))

    def run(x: np.ndarray) -> np.ndarray:
        wide = to_opmath(x) if half else x
        norms = np.asarray(norm(wide))
        factor = np.where(norms > maxnorm, most / (norms + least), one)
        return (wide * factor).astype(narrow) if half else wide * factor

    return run


def cosine_similarity(x1: np.ndarray, x2: np.ndarray, dim: int = 1, eps: float = 1e-8) -> Callable[..., Any] | None:
    """Prepare products of few vectors over their lengths."""
    dtype = x1.dtype
    if not (dtype.char in "fd" and 0 < x1.size <= SMALL >> 4 and x1.shape == x2.shape and x2.dtype == dtype
            and -x1.ndim <= dim < x1.ndim and x1.shape[dim] > 1 and eps >= 0):  # the length of one is its size
        return None
    least, shape = np.asarray(eps, dtype), [n if d != dim % x1.ndim else 1 for d, n in enumerate(x1.shape)]

    def over_length(x: np.ndarray) -> np.ndarray:
        length = np.sqrt(vecdot(x, x, axis=dim))
        divided: np.ndarray = x / np.maximum(length, least).reshape(shape)
        return divided

    return lambda x1, x2: vecdot(over_length(x1), over_length(x2), axis=dim)


AT_ONCE.add(Prepared(cosine_similarity, 2))
CPU_KERNELS.add(dist)
CPU_KERNELS.update({
    "norm.ScalarOpt_dim": norm,
    "renorm": Prepared(renorm),
    "_cdist_forward": cdist,
    "_cdist_backward": cdist_backward,
    "_euclidean_dist": euclidean_dist,
    "_pdist_forward": pdist,
    "_pdist_backward": pdist_backward,
})
