"""``torch.distributions.multinomial``."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from .._creation import ones_like, zeros
from .._tensor import Tensor
from . import constraints
from .binomial import Binomial
from .categorical import Categorical, _OfCategorical
from .utils import broadcast_all, lazy_property

__all__ = ["Multinomial"]


class Multinomial(_OfCategorical):
    """The counts of each category in ``total_count`` draws, an int, of a categorical distribution
    (``torch.distributions.Multinomial``). Raises NotImplementedError for a ``total_count`` that is not an int.
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int
    _batched = _OfCategorical._batched

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._of(Categorical(probs, logits), validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @lazy_property
    def _binomial(self) -> Any:
        return Binomial(self.total_count, probs=self.probs)

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        positions = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = zeros(self._extended_shape(sample_shape), dtype=positions.dtype, device=positions.device)
        return counts.scatter_add_(-1, positions, ones_like(positions)).type_as(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        counts = self._binomial.enumerate_support(expand=False)[1:]
        log_factorials = (self._binomial.log_prob(counts).exp() * (counts + 1).lgamma()).sum((0, -1))
        return self.total_count * self._categorical.entropy() - math.lgamma(self.total_count + 1) + log_factorials
