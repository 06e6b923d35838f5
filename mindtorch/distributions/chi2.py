"""``torch.distributions.chi2``."""
from __future__ import annotations

from typing import Any, ClassVar

from .._tensor import Tensor
from . import constraints
from .gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The chi-square distribution of ``df`` degrees, gamma of df / 2 and rate 1/2 (``torch.distributions.Chi2``)."""

    arg_constraints: ClassVar[Any] = {"df": constraints.positive}
    _batched = Gamma._batched

    def __init__(self, df: Tensor | float, validate_args: bool | None = None):
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    df = property(lambda self: self.concentration * 2)
