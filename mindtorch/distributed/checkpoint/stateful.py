"""``torch.distributed.checkpoint.stateful``: objects that give and take their state."""
from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Stateful"]


@runtime_checkable
class Stateful(Protocol):
    """An object with a state (``torch.distributed.checkpoint.stateful.Stateful``): models, optimizers, schedules, and
    classes of users.
    """

    def state_dict(self) -> dict[str, Any]:
        """Return the state."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state."""
