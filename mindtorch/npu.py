"""``torch.npu``: devices, streams, events and memory of Ascend NPUs, and the simulator's controls."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._backends.npu.api import *  # noqa: F403
from ._backends.npu.api import __all__ as _api

if TYPE_CHECKING:
    from ._backends.npu import simulator as simulator
else:

    def __getattr__(name: str) -> Any:
        from ._backends import npu  # the simulator is loaded when it is asked for

        return getattr(npu, name)


__all__ = ["simulator", *_api]
__dir__ = __all__.copy
