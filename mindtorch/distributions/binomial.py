"""``torch.distributions.binomial``."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .._autograd.grad_mode import no_grad
from .._creation import arange
from .._methods.functions import binomial
from .._tensor import Tensor
from . import constraints
from ._odds import Odds
from .distribution import _enumerated

__all__ = ["Binomial"]


class Binomial(Odds):
    """Successes in ``total_count`` trials of ``probs`` or log odds ``logits`` (``torch.distributions.Binomial``)."""

    arg_constraints: ClassVar[Any] = {"total_count": constraints.nonnegative_integer,
                                      "probs": constraints.unit_interval, "logits": constraints.real}
    has_enumerate_support = True
    _batched = ("total_count", "probs", "logits", "_param")

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        (self.total_count,) = self._given(probs, logits, total_count)
        super().__init__(self._param.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        # log(1 + exp(logits)), stable, and with half the gradient at 0 from either side
        softplus = _positive_part(self.logits) + (-self.logits.abs()).exp().log1p()
        return (value * self.logits - (value + 1).lgamma() - (self.total_count - value + 1).lgamma()
                - (self.total_count * softplus - (self.total_count + 1).lgamma()))

    def _one_count(self, what: str) -> int:
        total_count = int(self.total_count.max())
        if self.total_count.min() != total_count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{what}`.")
        return total_count

    def entropy(self) -> Tensor:
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = arange(1 + self._one_count("enumerate_support"), dtype=self._param.dtype, device=self._param.device)
        return _enumerated(values, self._batch_shape, expand)


def _positive_part(x: Tensor) -> Tensor:
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2
