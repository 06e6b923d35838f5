"""Norms and distances as PyTorch's functions give them."""
from __future__ import annotations

from typing import Any

from .._autograd.grad_mode import no_grad
from .._backends.common.pointwise import result_type
from .._base.errors import NAMES, check
from .._base.layout import broadcast_shapes
from .._dispatch.aten import (
    _cdist_forward as cdist_forward, _euclidean_dist, _pdist_forward as pdist_forward, clamp_min,
    linalg_matrix_norm_str_ord, linalg_vector_norm as vector_norm, norm_ScalarOpt_dim, scalar_tensor,
)
from .._dispatch.dispatcher import is_unseen
from .._dtype import FLOATING
from . import COMPOSITES

MODES = {"use_mm_for_euclid_dist_if_necessary": 0, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}


def norm(self: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """``torch.norm``: a vector norm, or for 'nuc' the nuclear norm of a matrix."""
    if p == "nuc":
        dim = (-2, -1) if dim is None else dim
        return linalg_matrix_norm_str_ord(self, "nuc", dim, keepdim, dtype)
    check(not isinstance(p, str) or p == "fro", lambda: f"only valid string values are 'fro' and 'nuc', found {p}")
    return vector_norm(self, 2 if p is None or p == "fro" else p, dim, keepdim, dtype)


def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """``torch.pairwise_distance``: the p-norm of the rows' differences, to which ``eps`` is added."""
    away = x1 - x2 + eps
    return norm_ScalarOpt_dim(away, p, (max(x1.ndim, x2.ndim) - 1,), keepdim)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """``torch.cosine_similarity``: the product of the vectors over their norms, each at least ``eps``."""
    dtype = result_type((x1, x2))
    check(dtype.category == FLOATING,
          lambda: f"expected common dtype to be floating point, yet common dtype is {NAMES[dtype.name]}")
    check(eps >= 0, lambda: f"eps must be non-negative, got: {eps:g}")
    if x1.shape == x2.shape and x1._dtype is x2._dtype and is_unseen(x1, x2):
        lengths = [clamp_min(vector_norm(x, 2, (dim,), True), eps) for x in (x1, x2)]
        return (x1 / lengths[0] * (x2 / lengths[1])).sum(dim)
    shape = broadcast_shapes(x1.shape, x2.shape)
    x1, x2 = (x if x.shape == shape else x.expand(shape) for x in (x1.to(dtype), x2.to(dtype)))
    norms = [vector_norm(x, 2, (dim,), True).clone() for x in (x1, x2)]
    with no_grad():
        least = scalar_tensor(eps, dtype, None, x1._device)
        for length in norms:
            length.clamp_min_(least)
    return (x1 / norms[0] * (x2 / norms[1])).sum(dim)


def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Any:
    """``torch.cdist``: the distances of all rows of ``x1`` from all rows of ``x2``."""
    check(compute_mode in MODES, lambda: f"{compute_mode} is not a valid value for compute_mode", ValueError)
    for name, x in (("X1", x1), ("X2", x2)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    check(x1.shape[-1] == x2.shape[-1],
          lambda: f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    for name, x in (("X1", x1), ("X2", x2)):
        if x._dtype.category != FLOATING:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {NAMES[x._dtype.name]}")
    check(p >= 0, "cdist only supports non-negative p values")
    mode, many = MODES[compute_mode], max(x1.shape[-2], x2.shape[-2]) > 25
    if p == 2 and (mode == 1 or (mode == 0 and many)) and x1.numel() and x2.numel():
        out = _euclidean_dist(x1, x2)
        return out.view(out.shape)
    return cdist_forward(x1, x2, p, None)


def pdist(self: Any, p: float = 2.0) -> Any:
    """``torch.pdist``: the distances of all pairs of rows."""
    check(self.ndim == 2, lambda: f"pdist only supports 2D tensors, got: {self.ndim}D")
    check(self._dtype.category == FLOATING, "pdist only supports floating-point dtypes")
    check(p >= 0, "pdist only supports non-negative p values")
    return pdist_forward(self.contiguous(), p)


COMPOSITES.add(pairwise_distance, cosine_similarity, cdist, pdist)
COMPOSITES.update({"norm.python": norm})
