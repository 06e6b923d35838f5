"""Channels of groups in turn; mirrors ``torch.nn.modules.channelshuffle``."""
from __future__ import annotations

from ..._tensor import Tensor
from .. import functional as F
from ..module import Module


class ChannelShuffle(Module):
    """Takes the channels of all ``groups`` in turn (``torch.nn.ChannelShuffle``)."""

    __constants__ = _shown = ("groups",)

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)
