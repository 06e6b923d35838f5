"""``torch.jit.annotations``: types in the annotations of programs for TorchScript."""
from __future__ import annotations

from typing import Any, List as List  # noqa: UP035 -- timm imports it from here


class _BroadcastingList:
    """A list, or one number for all of its items; as an annotation only: ``BroadcastingList2[int]``."""

    def __getitem__(self, kind: Any) -> Any:
        return kind | list[kind]


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = _BroadcastingList()


class TensorType:
    """The type of tensors in the schemas of TorchScript (``torch.TensorType``), here for annotations."""
