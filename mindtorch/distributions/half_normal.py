"""``torch.distributions.half_normal``."""
from __future__ import annotations

import math

from .._tensor import Tensor
from ._half import Half
from .normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """The absolute values of a normal distribution of mean 0 (``torch.distributions.HalfNormal``)."""

    _batched = Half._batched

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None):
        self._of(Normal(0, scale, validate_args=False), validate_args)

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))
