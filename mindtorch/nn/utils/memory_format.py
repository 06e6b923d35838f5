"""Weights of convolutions in another memory format; mirrors ``torch.nn.utils.memory_format``."""
from __future__ import annotations

from typing import Any

from ..module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]
__dir__ = __all__.copy


def _convert(module: Module, memory_format: Any, classes: tuple[str, ...]) -> Module:
    for part in module.modules():
        if any(cls.__name__ in classes for cls in type(part).__mro__):
            weight: Any = part.weight
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Lay out the weights of 2-D convolutions in ``memory_format`` (``torch.nn.utils``). Returns the module."""
    return _convert(module, memory_format, ("Conv2d", "ConvTranspose2d"))


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Lay out the weights of 3-D convolutions in ``memory_format`` (``torch.nn.utils``). Returns the module."""
    return _convert(module, memory_format, ("Conv3d", "ConvTranspose3d"))
