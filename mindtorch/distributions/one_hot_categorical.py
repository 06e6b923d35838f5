"""``torch.distributions.one_hot_categorical``."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .._creation import eye
from .._tensor import Tensor
from ..nn.functional import one_hot
from . import constraints
from .categorical import Categorical, _OfCategorical
from .distribution import _enumerated

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(_OfCategorical):
    """The positions of a categorical distribution as vectors with a single 1 (``torch.distributions``)."""

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _batched = _OfCategorical._batched

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._of(Categorical(probs, logits), validate_args)

    mean = property(lambda self: self.probs)
    mode = property(lambda self: one_hot(self.probs.argmax(-1), self.probs.shape[-1]).to(self.probs))
    variance = property(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return one_hot(self._categorical.sample(sample_shape), self._categorical._num_events).to(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = eye(self.event_shape[0], dtype=self._param.dtype, device=self._param.device)
        return _enumerated(values, self.batch_shape, expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """A ``OneHotCategorical`` whose samples pass their gradient on to ``probs`` (``torch.distributions``)."""

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
