"""Operators that tests define, and how they go again."""
from __future__ import annotations

import mindtorch


def forget(packet: str) -> None:
    """Take an operator out of the registry, and its names out of the library."""
    registry = mindtorch.registry
    for op in [*registry.packets.get(packet, ())]:
        registry.undefine(op)
    mindtorch._methods.api.FUNCTIONS.pop(packet, None)
    for space in (mindtorch, mindtorch.Tensor, mindtorch._methods.functions):
        if packet in vars(space):
            delattr(space, packet)
    if packet in mindtorch.__all__:
        mindtorch.__all__.remove(packet)
