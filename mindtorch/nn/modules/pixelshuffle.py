"""Channels to pixels and back; mirrors ``torch.nn.modules.pixelshuffle``."""
from __future__ import annotations

from ..._tensor import Tensor
from .. import functional as F
from ..module import Module


class PixelShuffle(Module):
    """Moves channels to pixels: (*, C r^2, H, W) to (*, C, H r, W r), for r = ``upscale_factor`` (``torch.nn``)."""

    __constants__ = _shown = ("upscale_factor",)

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Module):
    """Moves pixels to channels: (*, C, H r, W r) to (*, C r^2, H, W), for r = ``downscale_factor`` (``torch.nn``)."""

    __constants__ = _shown = ("downscale_factor",)

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)
