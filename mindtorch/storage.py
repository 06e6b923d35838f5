"""``torch.storage``: storages, and how pickles of tensors hold them."""
from __future__ import annotations

import io
from typing import Any

from ._storage import NAMES, TypedStorage, UntypedStorage
from ._storage.typed import Removal
from .serialization import load

__all__ = ["TypedStorage", "UntypedStorage"]
__dir__ = __all__.copy


def _load_from_bytes(b: bytes) -> Any:
    """Rebuild a storage from a plain pickle of PyTorch's."""
    return load(io.BytesIO(b), weights_only=False)


def _dtype_to_storage_type_map() -> dict[Any, str]:
    """Return the names of storages in files, by their dtype."""
    return dict(NAMES)


def _get_always_warn_typed_storage_removal() -> bool:
    return Removal.always


def _set_always_warn_typed_storage_removal(always_warn: bool) -> None:
    """Have every typed storage that is made warn that they are deprecated, not only the first."""
    Removal.always = always_warn
