"""``torch.distributions.negative_binomial``."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .._autograd.grad_mode import no_grad
from .._methods.functions import poisson, sigmoid
from .._tensor import Tensor
from ..nn.functional import logsigmoid
from . import constraints
from ._odds import Odds
from .gamma import Gamma
from .utils import lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Odds):
    """The number of successes before ``total_count`` failures, each trial with success probability ``probs`` or log
    odds ``logits`` (``torch.distributions.NegativeBinomial``).
    """

    arg_constraints: ClassVar[Any] = {"total_count": constraints.greater_than_eq(0),
                                      "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real}
    support = constraints.nonnegative_integer
    _batched = ("total_count", "probs", "logits", "_param")

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        (self.total_count,) = self._given(probs, logits, total_count)
        super().__init__(self._param.shape, validate_args=validate_args)

    mean = property(lambda self: self.total_count * self.logits.exp())
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / sigmoid(-self.logits))

    @lazy_property
    def _gamma(self) -> Any:
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        log_coefficient = (self.total_count + value).lgamma() - (1.0 + value).lgamma() - self.total_count.lgamma()
        log_coefficient = log_coefficient.masked_fill(self.total_count + value == 0.0, 0.0)
        return self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits) + log_coefficient
