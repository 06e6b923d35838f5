"""``torch.distributions.lkj_cholesky``."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from .._base.size import Size
from .._creation import arange
from .._creation.random import randn
from .._dtype import finfo
from .._methods.functions import cat
from .._tensor import Tensor
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices, whose density is in proportion to determinant^(concentration - 1): of
    Lewandowski, Kurowicka and Joe (2009), sampled by their onion method (``torch.distributions.LKJCholesky``). Raises
    ValueError for fewer than 2 dimensions.
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _batched = ("concentration", "_beta")

    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        offset = arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        offset = cat([offset.new_zeros((1,)), offset])
        self._beta = Beta(offset + 0.5, (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.shape, Size((dim, dim)), validate_args)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        # each row: a direction, and how much of its squared length is off the diagonal
        share = self._beta.sample(sample_shape).unsqueeze(-1)
        direction = randn(self._extended_shape(sample_shape), dtype=share.dtype, device=share.device).tril(-1)
        direction = direction / direction.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)
        factor = share.sqrt() * direction
        return factor + (1 - (factor**2).sum(-1)).clamp(min=finfo(factor.dtype).tiny).sqrt().diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        place = arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - place
        count = self.dim - 1
        alpha = self.concentration + 0.5 * count
        log_normalizer = 0.5 * count * math.log(math.pi) + (alpha - 0.5).mvlgamma(count) - alpha.lgamma() * count
        return (order * diagonal.log()).sum(-1) - log_normalizer
