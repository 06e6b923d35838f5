"""``torch.distributed.checkpoint.metadata``: what a checkpoint holds, and where."""
from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ..._base.formats import contiguous_format, layout, memory_format, strided
from ..._base.size import Size
from ..._dtype import DType, float32
from ..._tensor import Tensor

__all__ = ["BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta",
           "TensorProperties", "TensorStorageMetadata"]


@dataclass
class ChunkStorageMetadata:
    """A part of a tensor: where it begins, and its sizes."""

    offsets: Size
    sizes: Size


class _MEM_FORMAT_ENCODING(Enum):
    """The memory formats as files have them."""

    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


@dataclass
class TensorProperties:
    """The dtype of a tensor; files hold the rest as well, which is no longer used."""

    dtype: DType = float32
    layout: layout = strided
    requires_grad: bool = False
    memory_format: memory_format = contiguous_format
    pin_memory: bool = False

    def __getstate__(self) -> Any:
        return self.dtype, self.layout, self.requires_grad, _MEM_FORMAT_ENCODING(0), self.pin_memory

    def __setstate__(self, state: Any) -> None:
        self.dtype, self.layout, self.requires_grad, _, self.pin_memory = state
        self.memory_format = contiguous_format

    @staticmethod
    def create_from_tensor(tensor: Tensor) -> TensorProperties:
        """Return the properties of a tensor."""
        return TensorProperties(dtype=tensor.dtype, requires_grad=tensor.requires_grad)


@dataclass
class TensorStorageMetadata:
    """A tensor of a checkpoint."""

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """An object of a checkpoint other than a tensor."""


@dataclass
class StorageMeta:
    """Where a checkpoint is."""

    checkpoint_id: str | os.PathLike[str] | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """The contents of a checkpoint by key, and additions of planner and storage."""

    state_dict_metadata: dict[str, Any]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """A key, and for a part of a tensor where it begins; ``index`` is a hint."""

    fqn: str
    offset: Size | None = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None):
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "index", index)
        object.__setattr__(self, "offset", None if offset is None else Size(offset))
