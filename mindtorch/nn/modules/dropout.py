"""Dropout modules; mirrors ``torch.nn.modules.dropout``. They act in training mode only."""
from __future__ import annotations

from collections.abc import Callable

from ..._tensor import Tensor
from .. import functional as F
from ..module import Module


class _DropoutNd(Module):
    __constants__ = _shown = ("p", "inplace")
    function: Callable[..., Tensor]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        return self.function(input, self.p, self.training, self.inplace)


class Dropout(_DropoutNd):
    """Sets elements to zero with probability p, and scales the others by 1 / (1 - p) (``torch.nn.Dropout``)."""

    function = staticmethod(F.dropout)


class Dropout1d(_DropoutNd):
    """Drops whole channels of (N, C, L) or (C, L) (``torch.nn.Dropout1d``)."""

    function = staticmethod(F.dropout1d)


class Dropout2d(_DropoutNd):
    """Drops whole channels of (N, C, H, W) (``torch.nn.Dropout2d``)."""

    function = staticmethod(F.dropout2d)


class Dropout3d(_DropoutNd):
    """Drops whole channels of (N, C, D, H, W) or (C, D, H, W) (``torch.nn.Dropout3d``)."""

    function = staticmethod(F.dropout3d)


class AlphaDropout(_DropoutNd):
    """Drops elements of an output of ``SELU``, and keeps its mean and variance (``torch.nn.AlphaDropout``). As in
    PyTorch, ``inplace`` is kept, but not used.
    """

    function = staticmethod(lambda input, p, training, inplace: F.alpha_dropout(input, p, training))


class FeatureAlphaDropout(_DropoutNd):
    """Applies ``AlphaDropout`` to whole channels of (N, C, ...) (``torch.nn.FeatureAlphaDropout``)."""

    function = staticmethod(lambda input, p, training, inplace: F.feature_alpha_dropout(input, p, training))
