"""``torch.distributed.checkpoint.planner``: which process writes and reads what."""
from __future__ import annotations

import io
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ..._base.size import Size
from ..._tensor import Tensor
from .metadata import ChunkStorageMetadata, Metadata, MetadataIndex, StorageMeta, TensorProperties

__all__ = ["BytesIOWriteData", "LoadItemType", "LoadPlan", "LoadPlanner", "ReadItem", "SavePlan", "SavePlanner",
           "TensorWriteData", "WriteItem", "WriteItemType"]


class WriteItemType(Enum):
    """The kind of an item to write: a whole tensor, a part of one, or bytes."""

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """The kind of an item to read."""

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """The size of bytes."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """A part of a tensor, and the whole's properties and size."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Size


@dataclass(frozen=True)
class WriteItem:
    """Something that a process writes."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """Return the bytes of a tensor's part; None for bytes."""
        if self.tensor_data is None:
            return None
        return self.tensor_data.chunk.sizes.numel() * self.tensor_data.properties.dtype.itemsize


@dataclass(frozen=True)
class ReadItem:
    """A box of elements: from a stored part to a part of this process."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Size
    storage_index: MetadataIndex
    storage_offsets: Size
    lengths: Size


@dataclass(frozen=True)
class SavePlan:
    """The items that a process writes."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """The items that a process reads."""

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(ABC):
    """Decides what processes write (``torch.distributed.checkpoint.SavePlanner``). All processes call its methods in
    this order; ``create_global_plan`` only the coordinator.
    """

    @abstractmethod
    def set_up_planner(self, state_dict: dict[str, Any], storage_meta: StorageMeta | None = None,
                       is_coordinator: bool = False) -> None:
        """Take what is to be saved."""

    @abstractmethod
    def create_local_plan(self) -> SavePlan:
        """Return the plan of what this process would write."""

    @abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """Return each process's plan of writing, and the checkpoint's metadata."""

    @abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """Return this process's final plan of writing."""

    @abstractmethod
    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """Return the tensor or the bytes of an item."""


class LoadPlanner(ABC):
    """Decides what processes read (``torch.distributed.checkpoint.LoadPlanner``)."""

    @abstractmethod
    def set_up_planner(self, state_dict: dict[str, Any], metadata: Metadata | None = None,
                       is_coordinator: bool = False) -> None:
        """Take what is to be loaded into."""

    @abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """Return the plan of what this process would read."""

    @abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """Return each process's plan of reading."""

    @abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """Return this process's final plan of reading."""

    @abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Put an object other than a tensor in its place."""

    @abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """Return the tensor that an item is copied to."""

    @abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """Take notice that the tensor has been copied to."""
