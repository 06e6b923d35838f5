"""Facts that a tensor of mindtorch has about its memory without making anything."""
from __future__ import annotations

from typing import Any


def known_storage(tensor: Any) -> Any:
    """Return a tensor's storage object if one has been made; None means that no other tensor shares the memory."""
    if tensor._storage is None and tensor._version_counter is not None:
        return tensor._version_counter[1]
    return tensor._storage
