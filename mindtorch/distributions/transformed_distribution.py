"""``torch.distributions.transformed_distribution``."""
from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul
from typing import Any, ClassVar

from .._autograd.grad_mode import no_grad
from .._tensor import Tensor
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of another's samples after transforms (``torch.distributions.TransformedDistribution``). Raises
    ValueError for anything but transforms, or ones that do not fit the distribution's shape.
    """

    arg_constraints: ClassVar[Any] = {}
    _batched: ClassVar[tuple[str, ...]] = ("base_dist",)

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None):
        if not isinstance(transforms, (Transform, list)):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        transform, event_dim = ComposeTransform(self.transforms), len(base_distribution.event_shape)
        domain, codomain = transform.domain.event_dim, transform.codomain.event_dim
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(base_shape) < domain:
            raise ValueError("base_distribution needs to have shape with size at least "
                             f"{domain}, but got {base_shape}.")
        shape = transform.forward_shape(base_shape)
        expanded = transform.inverse_shape(shape)
        if base_shape != expanded:
            base_distribution = base_distribution.expand(expanded[: len(expanded) - event_dim])
        if domain > event_dim:
            base_distribution = Independent(base_distribution, domain - event_dim)
        self.base_dist = base_distribution
        cut = len(shape) - max(codomain, event_dim + codomain - domain)
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    def _transformed(self, value: Tensor) -> Any:
        return reduce(lambda x, transform: transform(x), self.transforms, value)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        event_dim, log_det, y = len(self.event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            log_det = log_det - _sum_rightmost(transform.log_abs_det_jacobian(x, y),
                                               event_dim - transform.domain.event_dim)
            y = x
        return log_det + _sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _of_increasing(self, value: Tensor) -> Any:
        """Convert probabilities of smaller numbers to greater ones where the transforms decrease."""
        sign = reduce(mul, (transform.sign for transform in self.transforms), 1)
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._of_increasing(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._of_increasing(value)))
