"""``torch.distributions.von_mises``."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from .._autograd.grad_mode import no_grad
from .._creation import zeros
from .._creation.random import rand
from .._dtype import bool_, float64
from .._methods.functions import where
from .._tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import lazy_property

__all__ = ["VonMises"]


# Abramowitz and Stegun 9.8.1 to 9.8.4: the modified Bessel functions of order 0 and 1, for small and large arguments
SMALL = ((1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813),
         (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411))
LARGE = ((0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537, -0.01647633,
          0.00392377),
         (0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555, 0.02282967, -0.02895312, 0.01787654,
          -0.00420059))


def _polynomial(x: Tensor, coefficients: tuple[float, ...]) -> Any:
    total: Any = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = coefficient + x * total
    return total


def _log_modified_bessel_fn(x: Tensor, order: int = 0) -> Any:
    """Return the logarithm of the modified Bessel function of the first kind of a positive number."""
    small = _polynomial((x / 3.75).pow(2), SMALL[order]).log() + (x.log() if order else 0)
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, LARGE[order]).log()
    return where(x < 3.75, small, large)


class VonMises(Distribution):
    """The von Mises distribution of angles around ``loc``, in radians (``torch.distributions.VonMises``)."""

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _batched = ("loc", "concentration")

    def __init__(self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None):
        self._broadcast(validate_args, loc=loc, concentration=concentration)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self) -> Tensor:
        """Compute the circular variance: 1 less the mean of the cosine of the distance to ``loc``."""
        return 1 - (_log_modified_bessel_fn(self.concentration, 1) - _log_modified_bessel_fn(self.concentration)).exp()

    @lazy_property
    def _proposal_r(self) -> Any:
        kappa = self.concentration.to(float64)
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    @no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw samples by Best and Fisher's rejection (1979), in float64."""
        shape = self._extended_shape(sample_shape)
        loc, kappa, r = self.loc.to(float64), self.concentration.to(float64), self._proposal_r
        x = zeros(shape, dtype=float64, device=loc.device)
        done = zeros(shape, dtype=bool_, device=loc.device)
        while not done.all():
            u1, u2, u3 = rand((3, *shape), dtype=float64, device=loc.device).unbind()
            z = (math.pi * u1).cos()
            f = (1 + r * z) / (r + z)
            c = kappa * (r - f)
            accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
            x = where(accept, (u3 - 0.5).sign() * f.acos(), x)
            done = done | accept
        return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return (self.concentration * (value - self.loc).cos() - math.log(2 * math.pi)
                - _log_modified_bessel_fn(self.concentration))
