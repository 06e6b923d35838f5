"""Sliding windows as columns, and back; mirrors ``torch.nn.modules.fold``."""
from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from ..module import Module


class Fold(Module):
    """Adds up columns of ``Unfold`` where they came from, (N, C·kh·kw, L) to (N, C, *output_size) (``torch.nn``)."""

    __constants__ = _shown = ("output_size", "kernel_size", "dilation", "padding", "stride")

    def __init__(self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
                 stride: Any = 1) -> None:
        super().__init__()
        self.output_size, self.kernel_size, self.dilation = output_size, kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)


class Unfold(Module):
    """Turns sliding windows of images into columns, (N, C, H, W) to (N, C·kh·kw, L) (``torch.nn.Unfold``)."""

    __constants__ = _shown = ("kernel_size", "dilation", "padding", "stride")

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)
