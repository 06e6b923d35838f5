"""Activation functions that are special cases of others, or choose among them."""
from __future__ import annotations

from typing import Any

from .._base.errors import NAMES, check
from .._dispatch.aten import (
    _prelu_kernel as prelu_kernel, elu, elu_, hardtanh, log_sigmoid_forward, rrelu_with_noise, rrelu_with_noise_,
    zeros_like,
)
from . import COMPOSITES

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def prelu(self: Any, weight: Any) -> Any:
    """``torch.prelu``: negative elements times the weight of their channel, which is dimension 1.

    Raises:
        RuntimeError: if the weights are not one or as many as channels, or of another dtype.
    """
    check(self._dtype is weight._dtype,
          lambda: f"prelu: Type promoting not supported. Got {NAMES[self._dtype.name]} and {NAMES[weight._dtype.name]}")
    if weight.numel() != 1:
        check(self.ndim > 0, "Not allow zero-dim input tensor.")
        channels = self.shape[1] if self.ndim >= 2 else 1
        check(channels == weight.numel(), lambda: "Mismatch of parameter numbers and input channel size. Found "
              f"parameter numbers = {weight.numel()} and channel size = {channels}.")
    check(weight.ndim <= 1,
          lambda: f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if self.ndim != weight.ndim:
        weight = weight.reshape([weight.numel() if d == 1 else 1 for d in range(self.ndim)])
    return prelu_kernel(self, weight)


def rrelu(self: Any, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False, generator: Any = None) -> Any:
    """``torch.rrelu``: leaky, with random slopes in training."""
    return rrelu_with_noise(self, zeros_like(self), lower, upper, training, generator)


def rrelu_(self: Any, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False, generator: Any = None) -> Any:
    """``torch.rrelu_``."""
    return rrelu_with_noise_(self, zeros_like(self), lower, upper, training, generator)


COMPOSITES.add(prelu, rrelu, rrelu_)
COMPOSITES.update({
    "relu6": lambda self: hardtanh(self, 0, 6),
    "selu": lambda self: elu(self, SELU_ALPHA, SELU_SCALE),
    "selu_": lambda self: elu_(self, SELU_ALPHA, SELU_SCALE),
    "log_sigmoid": lambda self: log_sigmoid_forward(self)[0],
})
