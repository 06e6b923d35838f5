"""``torch.jit.annotations``: types in the annotations of programs for TorchScript."""
from __future__ import annotations

from typing import Any


class _BroadcastingList:
    """A list, or one number for all of its items; as an annotation only: ``BroadcastingList2[int]``."""

    def __getitem__(self, kind: Any) -> Any:
        return kind | list[kind]


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = _BroadcastingList()
