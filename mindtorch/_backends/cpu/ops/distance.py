"""CPU kernels of norms and distances."""
from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np

from ...._base.layout import wrap_dims
from . import CPU_KERNELS
from .reduction import to_opmath, total, vector_norm

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


def cdist(x1: np.ndarray, x2: np.ndarray, p: float, compute_mode: int | None = None) -> np.ndarray:
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    out = np.zeros((*batch, x1.shape[-2], x2.shape[-2]), x1.dtype)
    if x1.shape[-1]:
        for part, away in differences(x1, x2):
            out[..., part, :] = vector_norm(away, p, (away.ndim - 1,))
    return out


def norm_grad(away: np.ndarray, p: float, norm: np.ndarray) -> Any:
    """Return the gradient of the p-norm of differences; 0 where the norm or the difference is 0."""
    if p == 0:
        return np.zeros_like(away)
    if p == 1:
        return np.sign(away)
    if p == inf:
        return np.sign(away) * (np.abs(away) == norm)
    scale = np.where((norm == 0) | (away == 0), 0, away if p == 2 else np.sign(away) * np.abs(away) ** (p - 1))
    return np.where(norm == 0, 0, scale / norm ** (p - 1))


def cdist_backward(grad: np.ndarray, x1: np.ndarray, x2: np.ndarray, p: float, cdist: np.ndarray) -> np.ndarray:
    out = np.zeros((*grad.shape[:-1], x1.shape[-1]), x1.dtype)
    for part, away in differences(x1, x2):
        each = grad[..., part, :, None] * norm_grad(away, p, cdist[..., part, :, None])
        out[..., part, :] = total(each, (each.ndim - 2,))
    extra = out.ndim - x1.ndim
    repeated = [d + extra for d, n in enumerate(x1.shape) if n != out.shape[d + extra]]
    return total(out, (*range(extra), *repeated), True).reshape(x1.shape)


def euclidean_dist(x1: np.ndarray, x2: np.ndarray) -> np.ndarray:
    """Compute distances by one matrix product: fast, but less accurate for close rows."""
    first, second = (total(np.square(x), (x.ndim - 1,)) for x in (x1, x2))
    out = x1 @ np.swapaxes(-2 * x2, -1, -2)
    out += first[..., :, None]
    out += second[..., None, :]
    np.maximum(out, 0, out=out)
    return np.sqrt(out, out=out)


def pairs(x: np.ndarray) -> tuple[Any, Any]:
    return np.triu_indices(len(x), 1)


def pdist(x: np.ndarray, p: float = 2.0) -> np.ndarray:
    return cdist(x, x, p)[pairs(x)]


def pdist_backward(grad: np.ndarray, x: np.ndarray, p: float, pdist: np.ndarray) -> np.ndarray:
    grads, norms = np.zeros((2, len(x), len(x)), x.dtype)
    grads[pairs(x)], norms[pairs(x)] = grad, pdist
    return cdist_backward(grads + grads.T, x, x, p, norms + norms.T)


def renorm(x: np.ndarray, p: Any, dim: int, maxnorm: Any) -> np.ndarray:
    wide, axis = to_opmath(x), dim % x.ndim
    norms = np.asarray(vector_norm(wide, p, tuple(d for d in range(x.ndim) if d != axis), True))
    return wide * np.where(norms > maxnorm, maxnorm / (norms + norms.dtype.type(1e-7)), 1).astype(norms.dtype)


CPU_KERNELS.add(dist, renorm)
CPU_KERNELS.update({
    "norm.ScalarOpt_dim": norm,
    "_cdist_forward": cdist,
    "_cdist_backward": cdist_backward,
    "_euclidean_dist": euclidean_dist,
    "_pdist_forward": pdist,
    "_pdist_backward": pdist_backward,
})
