"""Derivatives of norms and distances."""
from __future__ import annotations

from typing import Any

from ..._dispatch.aten import (
    _cdist_backward as cdist_backward, _pdist_backward as pdist_backward, linalg_vector_norm as vector_norm,
)
from ..derivative import derivative
from .reduction import norm_grad


def euclidean_grad(grad: Any, x1: Any, x2: Any, result: Any) -> tuple[Any, Any]:
    ratio = (grad / result).masked_fill(result == 0, 0)
    return (x1 * ratio.sum(-1, True) - ratio.matmul(x2),
            x2 * ratio.sum(-2).unsqueeze(-1) - ratio.transpose(-2, -1).matmul(x1))


def second_cdist_grad(grad: Any, x1: Any, x2: Any, p: float, result: Any) -> Any:
    result = result.transpose(-2, -1).contiguous()
    return cdist_backward(grad.transpose(-2, -1).contiguous(), x2, x1, p, result)


def renorm_grad(grad: Any, self: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    """The rows that were scaled down depend on their norm, too."""
    others = tuple(d for d in range(self.ndim) if d != dim % self.ndim)
    norm = vector_norm(self, p, others, True, None)
    product = (self.conj() * grad).sum(others, True)
    through_norm = norm_grad(product.real if product.is_complex() else product, self, p, norm, others, True)
    inverse = (norm + 1e-7).reciprocal()
    return (maxnorm * inverse * (grad - inverse * through_norm)).where(norm > maxnorm, grad)


derivative("norm.ScalarOpt_dim", "NormBackward1", self=lambda grad, self, p, result, dim, keepdim: (
    norm_grad(grad, self, 2 if p is None else p, result, dim, keepdim)))
derivative("dist", self=lambda grad, self, other, p, result: norm_grad(grad, self - other, p, result),
           other=lambda grad, self, other, p, result: -norm_grad(grad, self - other, p, result))
derivative("_cdist_forward", "CdistBackward0",
           x1=lambda grad, x1, x2, p, result: cdist_backward(grad.contiguous(), x1, x2, p, result),
           x2=second_cdist_grad)
derivative("_euclidean_dist", **{"x1, x2": euclidean_grad})
derivative("_pdist_forward", "PdistBackward0", self=lambda grad, self, p, result: pdist_backward(grad, self, p, result))
derivative("renorm", self=renorm_grad)
