"""Memory for composites."""
from __future__ import annotations

from typing import Any

from .._creation import fresh as fresh
from .._dispatch.dispatcher import call_on
from .._dispatch.schemas import registry
from .._layout import Ints
from . import COMPOSITES


def new_empty_strided(self: Any, size: Ints, stride: Ints) -> Any:
    """Uninitialised memory of a layout, of this tensor's dtype and on its device."""
    return call_on(registry["empty_strided"], self._device.type, size, stride, self._dtype, None, self._device)


COMPOSITES.update({"new_empty_strided": new_empty_strided})
