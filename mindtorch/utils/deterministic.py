"""``torch.utils.deterministic``: whether new memory is filled while deterministic operators are asked for."""
from __future__ import annotations

import sys
from types import ModuleType

from .._base.determinism import Determinism


class _Settings(ModuleType):
    """A module with an attribute that checks what is assigned to it."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """True to fill uninitialised memory with NaN, True or the largest integer under
        ``torch.use_deterministic_algorithms`` (``torch.utils.deterministic.fill_uninitialized_memory``).
        """
        return Determinism.fill_uninitialized

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError("_set_deterministic_fill_uninitialized_memory(): argument 'mode' (position 1) must be "
                            f"bool, not {type(mode).__name__}")
        Determinism.fill_uninitialized = mode


sys.modules[__name__].__class__ = _Settings
