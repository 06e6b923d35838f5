"""Distances between vectors; mirrors ``torch.nn.modules.distance``."""
from __future__ import annotations

from ..._tensor import Tensor
from .. import functional as F
from ..module import Module


class PairwiseDistance(Module):
    """Computes the p-norm of x1 - x2 + eps along the last dimension (``torch.nn.PairwiseDistance``)."""

    __constants__ = ("norm", "eps", "keepdim")

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """Computes the cosine of the angle between x1 and x2 along ``dim`` (``torch.nn.CosineSimilarity``)."""

    __constants__ = ("dim", "eps")

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
