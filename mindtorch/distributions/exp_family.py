"""``torch.distributions.exp_family``."""
from __future__ import annotations

from typing import Any

from .._autograd.engine import grad
from .._tensor import Tensor
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Distributions of the density exp(<natural parameters, statistics of x> - log normalizer + carrier measure)
    (``torch.distributions.ExponentialFamily``).

    Its entropy, and divergences within a family, come from derivatives of ``_log_normalizer`` at ``_natural_params``.
    """

    _mean_carrier_measure: Any = property(lambda self: _unknown())

    @property
    def _natural_params(self) -> Any:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        raise NotImplementedError

    def _normalizer_and_slopes(self) -> tuple[Any, list[tuple[Any, Any]]]:
        """Return the log normalizer; each natural parameter with its derivative, the mean of a statistic."""
        parameters = [p.detach().requires_grad_() for p in self._natural_params]
        value = self._log_normalizer(*parameters)
        return value, list(zip(parameters, grad(value.sum(), parameters, create_graph=True), strict=True))

    def entropy(self) -> Tensor:
        result = -self._mean_carrier_measure
        normalizer, slopes = self._normalizer_and_slopes()
        result = result + normalizer
        for parameter, slope in slopes:
            result = result - (parameter * slope).reshape((*self._batch_shape, -1)).sum(-1)
        return result


def _unknown() -> Any:
    raise NotImplementedError
