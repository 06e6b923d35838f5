"""Affine maps and distances of ``torch.nn.functional``."""
from ..._methods.functions import bilinear, cosine_similarity, div, linear, pairwise_distance, pdist
from ..._tensor import Tensor

__all__ = ["bilinear", "cosine_similarity", "linear", "normalize", "pairwise_distance", "pdist"]
__dir__ = __all__.copy


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Divide by the p-norm along ``dim``, or by ``eps`` where the norm is less (``torch.nn.functional.normalize``)."""
    norm = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return div(input, norm) if out is None else div(input, norm, out=out)
