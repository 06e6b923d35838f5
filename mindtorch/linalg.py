"""Linear algebra under PyTorch's names: ``torch.linalg``."""
from __future__ import annotations

from ._dispatch.binding import make_function
from ._dispatch.schemas import registry
from ._linalg_error import LinAlgError as LinAlgError

PREFIX = "linalg_"
_functions = {packet.removeprefix(PREFIX): make_function(packet) for packet in registry.packets
              if packet.startswith(PREFIX)}
globals().update(_functions)
__all__ = [*sorted(_functions), "LinAlgError"]
__dir__ = __all__.copy
