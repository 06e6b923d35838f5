"""Linear algebra under PyTorch's names: ``torch.linalg``."""
from __future__ import annotations

from ._base.errors import LinAlgError as LinAlgError
from ._dispatch.binding import make_namespace
from ._dispatch.schemas import registry

PREFIX = "linalg_"
_functions = make_namespace(__name__, {packet.removeprefix(PREFIX): packet for packet in registry.packets
                                       if packet.startswith(PREFIX)})
globals().update(_functions)
__all__ = [*sorted(_functions), "LinAlgError"]
__dir__ = __all__.copy
