"""Marks in a model where tensors are quantised and dequantised (``torch.ao.quantization.stubs``)."""
from __future__ import annotations

from typing import Any

from ...nn.module import Module


class QuantStub(Module):
    """Returns its input; conversion would put quantisation here (``torch.ao.quantization.QuantStub``)."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        """Return the tensor."""
        return x


class DeQuantStub(QuantStub):
    """Returns its input; conversion would put dequantisation here (``torch.ao.quantization.DeQuantStub``)."""


class QuantWrapper(Module):
    """A module between a ``QuantStub`` and a ``DeQuantStub`` (``torch.ao.quantization.QuantWrapper``)."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.quant, self.dequant, self.module = QuantStub(qconfig), DeQuantStub(qconfig), module
        self.train(module.training)

    def forward(self, X: Any) -> Any:
        """Apply the module."""
        return self.dequant(self.module(self.quant(X)))
