"""``torch.memory_format``, ``torch.layout`` and the named constants of the namespace."""
from __future__ import annotations

import math


class _Named:
    """A constant that is its name."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class memory_format(_Named):
    """In which order a tensor's elements lie (``torch.memory_format``)."""

    __module__ = "mindtorch"  # where pickles find its constants


class layout(_Named):
    """A tensor's kind of storage (``torch.layout``); mindtorch has strided tensors only."""

    __module__ = "mindtorch"


contiguous_format, preserve_format, channels_last, channels_last_3d = map(
    memory_format, ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
)
strided, sparse_coo = layout("strided"), layout("sparse_coo")
pi, e, inf, nan = math.pi, math.e, math.inf, math.nan
newaxis = None
