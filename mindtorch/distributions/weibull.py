"""``torch.distributions.weibull``."""
from __future__ import annotations

from typing import Any, ClassVar

from .._creation import ones_like
from .._tensor import Tensor
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """The Weibull distribution, of the probability exp(-(x / scale)^concentration) of numbers above x
    (``torch.distributions.Weibull``).
    """

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _batched = ("scale", "concentration", "concentration_reciprocal", "base_dist")

    def __init__(self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        super().__init__(Exponential(ones_like(self.scale), validate_args=validate_args),
                         [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)],
                         validate_args=validate_args)

    def _log_moment(self, n: int) -> Any:
        """Return the logarithm of the mean of (x / scale)^n."""
        return (1 + n * self.concentration_reciprocal).lgamma()

    mean = property(lambda self: self.scale * self._log_moment(1).exp())
    mode = property(lambda self: self.scale * ((self.concentration - 1) / self.concentration)
                    ** self.concentration.reciprocal())
    variance = property(lambda self: self.scale.pow(2) * (self._log_moment(2).exp() - (2 * self._log_moment(1)).exp()))

    def entropy(self) -> Tensor:
        return (euler_constant * (1 - self.concentration_reciprocal)
                + (self.scale * self.concentration_reciprocal).log() + 1)
