"""``torch.distributions.continuous_bernoulli``."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from .._creation.random import rand
from .._methods.functions import where
from .._tensor import Tensor
from ..nn.functional import binary_cross_entropy_with_logits
from . import constraints
from ._odds import Odds
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Odds, ExponentialFamily):
    """Numbers x of [0, 1] of a density in proportion to probs^x (1 - probs)^(1 - x)
    (``torch.distributions.ContinuousBernoulli``).

    The formulas are singular at probs = 1/2; between ``lims`` Taylor polynomials stand for them.
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = ("probs", "logits", "_param")

    def __init__(self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
                 validate_args: bool | None = None):
        self._given(probs, logits)
        self._lims = lims
        if probs is not None:
            if validate_args is not None and not self.arg_constraints["probs"].check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = self._param = clamp_probs(self.probs)
        super().__init__(self._param.shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self) -> Any:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """Return the probabilities, moved off the unstable region."""
        return where(self._outside_unstable_region(), self.probs, self._lims[0])

    def _stable(self, formula: Any, taylor: Any) -> Any:
        return where(self._outside_unstable_region(), formula, taylor)

    def _cont_bern_log_norm(self) -> Tensor:
        """Return the logarithm of the factor that makes the integral of the density 1."""
        p = self._cut_probs()
        below = (-2.0 * where(p <= 0.5, p, 0.0)).log1p()
        above = (2.0 * where(p >= 0.5, p, 1.0) - 1.0).log()
        log_norm = ((-p).log1p() - p.log()).abs().log() - where(p <= 0.5, below, above)
        x = (self.probs - 0.5).pow(2)
        return self._stable(log_norm, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        p, x = self._cut_probs(), self.probs - 0.5
        return self._stable(p / (2.0 * p - 1.0) + 1.0 / ((-p).log1p() - p.log()),
                            0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def variance(self) -> Tensor:
        p, x = self._cut_probs(), (self.probs - 0.5).pow(2)
        return self._stable(p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + 1.0 / ((-p).log1p() - p.log()).pow(2),
                            1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        p = self._cut_probs()
        inside = self._stable((p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0), value)
        return where(value <= 0.0, 0.0, where(value >= 1.0, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut_probs()
        return self._stable(((-p + value * (2.0 * p - 1.0)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p()), value)

    def entropy(self) -> Tensor:
        log_probs0 = (-self.probs).log1p()
        return self.mean * (log_probs0 - self.probs.log()) - self._cont_bern_log_norm() - log_probs0

    @property
    def _natural_params(self) -> Any:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        low, high = self._lims[0] - 0.5, self._lims[1] - 0.5
        stable = (x <= low) | (x > high)
        cut = where(stable, x, low)
        return where(stable, cut.expm1().abs().log() - cut.abs().log(), 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
