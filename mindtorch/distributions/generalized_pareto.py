"""``torch.distributions.generalized_pareto``."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from .._creation import zeros_like
from .._creation.random import rand
from .._methods.functions import isclose, where
from .._tensor import Tensor
from . import constraints
from .distribution import Distribution

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution of excesses over ``loc``: its tail is exponential for ``concentration`` 0,
    heavier above, and bounded below (``torch.distributions.GeneralizedPareto``).
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive,
                                      "concentration": constraints.real}
    has_rsample = True
    _batched = ("loc", "scale", "concentration")

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None):
        self._broadcast(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        upper = where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)

    def _exponential(self) -> tuple[Any, Any]:
        """Return where the tail is exponential, and concentrations that are safe to divide by."""
        zero = isclose(self.concentration, zeros_like(self.concentration))
        return zero, self.concentration.masked_fill(zero, 1.0)

    def _moment(self, limit: float, inside: float, formula: Any) -> Tensor:
        """Return a formula of the concentration where it is below a limit, else nan."""
        valid = self.concentration < limit
        return where(valid, formula(where(valid, self.concentration, inside)), math.nan)

    mean = property(lambda self: self._moment(1, 0.5, lambda c: self.loc + self.scale / (1 - c)))
    mode = property(lambda self: self.loc)
    variance = property(lambda self: self._moment(
        0.5, 0.25, lambda c: self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c))))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        z, (zero, safe) = (value - self.loc) / self.scale, self._exponential()
        power = 1 / safe + 1
        return -self.scale.log() - where(zero, z, where(power == 0, power, power * (safe * z).log1p()))

    def log_survival_function(self, value: Tensor) -> Any:
        """Return the logarithm of the probability of values above ``value``."""
        self._check_sample(value)
        z, (zero, safe) = (value - self.loc) / self.scale, self._exponential()
        return where(zero, -z, -(safe * z).log1p() / safe)

    def log_cdf(self, value: Tensor) -> Any:
        """Return the logarithm of ``cdf``."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        (zero, safe), log_above = self._exponential(), (-value).log1p()
        return where(zero, self.loc - self.scale * log_above,
                     self.loc + self.scale / safe * (-safe * log_above).expm1())

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1
