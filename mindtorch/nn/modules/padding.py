"""Padding; mirrors ``torch.nn.modules.padding``. A number pads all sides alike; of several, the last dimension's come
first, before and after.
"""
from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from .._sizes import ntuple
from ..module import Module


class _PadNd(Module):
    __constants__ = ("padding",)
    dims: int
    mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = ntuple(2 * self.dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(Module):
    __constants__ = _shown = ("padding", "value")
    dims: int

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__()
        self.padding, self.value = ntuple(2 * self.dims)(padding), value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_ConstantPadNd):
    """Pads the last dimension with ``value`` (``torch.nn.ConstantPad1d``)."""

    dims = 1


class ZeroPad1d(_ZeroPadNd, ConstantPad1d):
    """Pads the last dimension with zeros (``torch.nn.ZeroPad1d``)."""


class ConstantPad2d(_ConstantPadNd):
    """Pads the last two dimensions with ``value`` (``torch.nn.ConstantPad2d``)."""

    dims = 2


class ZeroPad2d(_ZeroPadNd, ConstantPad2d):
    """Pads the last two dimensions with zeros (``torch.nn.ZeroPad2d``)."""


class ConstantPad3d(_ConstantPadNd):
    """Pads the last three dimensions with ``value`` (``torch.nn.ConstantPad3d``)."""

    dims = 3


class ZeroPad3d(_ZeroPadNd, ConstantPad3d):
    """Pads the last three dimensions with zeros (``torch.nn.ZeroPad3d``)."""


class _CircularPadNd(_PadNd):
    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (self.dims + 1, self.dims + 2):
            raise ValueError(f"expected {self.dims + 1}D or {self.dims + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Pads the last dimension with what lies at the other end (``torch.nn.CircularPad1d``)."""

    dims = 1


class CircularPad2d(_CircularPadNd):
    """Pads the last two dimensions with what lies at the other end (``torch.nn.CircularPad2d``)."""

    dims = 2


class CircularPad3d(_CircularPadNd):
    """Pads the last three dimensions with what lies at the other end (``torch.nn.CircularPad3d``)."""

    dims = 3


class ReflectionPad1d(_PadNd):
    """Pads the last dimension with its mirror image (``torch.nn.ReflectionPad1d``)."""

    dims, mode = 1, "reflect"


class ReflectionPad2d(_PadNd):
    """Pads the last two dimensions with its mirror image (``torch.nn.ReflectionPad2d``)."""

    dims, mode = 2, "reflect"


class ReflectionPad3d(_PadNd):
    """Pads the last three dimensions with its mirror image (``torch.nn.ReflectionPad3d``)."""

    dims, mode = 3, "reflect"


class ReplicationPad1d(_PadNd):
    """Pads the last dimension with copies of its edge (``torch.nn.ReplicationPad1d``)."""

    dims, mode = 1, "replicate"


class ReplicationPad2d(_PadNd):
    """Pads the last two dimensions with copies of its edge (``torch.nn.ReplicationPad2d``)."""

    dims, mode = 2, "replicate"


class ReplicationPad3d(_PadNd):
    """Pads the last three dimensions with copies of its edge (``torch.nn.ReplicationPad3d``)."""

    dims, mode = 3, "replicate"
