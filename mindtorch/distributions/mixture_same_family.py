"""``torch.distributions.mixture_same_family``."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .._autograd.grad_mode import no_grad
from .._base.size import Size
from .._tensor import Tensor
from . import constraints
from .categorical import Categorical
from .constraints import MixtureSameFamilyConstraint
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last batch dimension of one, with the probabilities of a categorical one
    (``torch.distributions.MixtureSameFamily``). Raises ValueError for arguments that are not distributions, or do not
    fit.
    """

    arg_constraints: ClassVar[Any] = {}
    has_rsample = False
    _batched = ("_mixture_distribution", "_component_distribution")

    def __init__(self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        *batch, count = component_distribution.batch_shape
        batch_shape, mixture_shape = Size(batch), mixture_distribution.batch_shape
        sizes = zip(reversed(mixture_shape), reversed(batch_shape), strict=False)
        if any(i != 1 and j != 1 and i != j for i, j in sizes):
            raise ValueError(f"`mixture_distribution.batch_shape` ({mixture_shape}) is not compatible with "
                             f"`component_distribution.batch_shape`({batch_shape})")
        self._num_component = mixture_distribution.logits.shape[-1]
        if self._num_component != count:
            raise ValueError(f"`mixture_distribution component` ({self._num_component}) does not equal "
                             f"`component_distribution.batch_shape[-1]` ({count})")
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch_shape, component_distribution.event_shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)

    def _pad(self, value: Tensor) -> Any:
        """Return a value with a dimension for the components."""
        return value.unsqueeze(-1 - self._event_ndims)

    def _average(self, values: Tensor) -> Any:
        """Return the mean over the components, in the dimension before the event's."""
        probs = self.mixture_distribution.probs
        return (probs.reshape((*probs.shape, *[1] * self._event_ndims)) * values).sum(-1 - self._event_ndims)

    mean = property(lambda self: self._average(self.component_distribution.mean))

    @property
    def variance(self) -> Tensor:
        component = self.component_distribution
        return self._average(component.variance) + self._average((component.mean - self._pad(self.mean)).pow(2.0))

    def cdf(self, value: Tensor) -> Tensor:
        return (self.component_distribution.cdf(self._pad(value)) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        log_probs = self.component_distribution.log_prob(self._pad(value))
        return (log_probs + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            chosen = self.mixture_distribution.sample(sample_shape)
            samples = self.component_distribution.sample(sample_shape)
            dim = len(sample_shape) + len(self.batch_shape)
            chosen = chosen.reshape((*chosen.shape, *[1] * (self._event_ndims + 1)))
            return samples.gather(dim, chosen.repeat((*[1] * (dim + 1), *self.event_shape))).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
