"""``torch.distributions.half_cauchy``."""
from __future__ import annotations

import math

from .._creation import as_tensor, full_like
from .._tensor import Tensor
from ._half import Half
from .cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """The absolute values of a Cauchy distribution of median 0 (``torch.distributions.HalfCauchy``)."""

    _batched = Half._batched

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None):
        self._of(Cauchy(0, scale, validate_args=False), validate_args)

    mean = property(lambda self: full_like(self.scale, math.inf))
    variance = property(lambda self: self.base_dist.variance)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return super().log_prob(as_tensor(value, dtype=self.scale.dtype, device=self.scale.device))
