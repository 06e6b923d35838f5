"""``torch.distributed.checkpoint.default_planner``: parts of DTensors where they are, everything else once."""
from __future__ import annotations

import dataclasses
import io
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ..._base.size import Size
from ..._tensor import Tensor
from ...serialization import load, save
from ..tensor._api import DTensor
from ..tensor._dtensor_spec import local_shape_and_offset
from ._nested_dict import flatten_state_dict
from ._traverse import Path, set_element
from .metadata import (
    BytesStorageMetadata, ChunkStorageMetadata, Metadata, MetadataIndex, StorageMeta, TensorProperties,
    TensorStorageMetadata,
)
from .planner import (
    LoadItemType, LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, TensorWriteData, WriteItem, WriteItemType,
)

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]


def chunk_of(tensor: Tensor) -> ChunkStorageMetadata:
    """Return the part of a tensor that this process has."""
    if isinstance(tensor, DTensor):
        sizes, offsets = local_shape_and_offset(tensor.shape, tensor.device_mesh, tensor.placements)
        return ChunkStorageMetadata(Size(offsets), Size(sizes))
    return ChunkStorageMetadata(Size([0] * tensor.dim()), Size(tensor.shape))


def write_item(name: str, value: Any) -> WriteItem | None:
    """Return what is written of a value; None if this process has no part of it."""
    if not isinstance(value, Tensor):
        return WriteItem(MetadataIndex(name), WriteItemType.BYTE_IO)
    if isinstance(value, DTensor):
        if any(placement.is_partial() for placement in value.placements):
            raise ValueError("Any checkpointing related operations are not supported for DTensor with partial "
                             f"placements! {name} has {value.placements}")
        if value.device_mesh.get_coordinate() is None:
            return None
    chunk = chunk_of(value)
    if 0 in chunk.sizes and 0 not in value.shape:
        return None
    kind = WriteItemType.SHARD if isinstance(value, DTensor) else WriteItemType.TENSOR
    return WriteItem(MetadataIndex(name, chunk.offsets), kind, tensor_data=TensorWriteData(
        chunk, TensorProperties.create_from_tensor(value), Size(value.shape)))


def dedup_save_plans(plans: Sequence[SavePlan], to_lowest_rank: bool = False) -> list[SavePlan]:
    """Return plans in which everything is written once: by the process that writes the fewest bytes so far."""
    owners: dict[MetadataIndex, list[int]] = defaultdict(list)
    items: dict[MetadataIndex, WriteItem] = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            owners[item.index].append(rank)
            items[item.index] = item
    kept: list[list[WriteItem]] = [[] for _ in plans]
    sizes = [0] * len(plans)
    for index, ranks in owners.items():
        chosen = min(ranks) if to_lowest_rank else min(ranks, key=lambda rank: sizes[rank])
        sizes[chosen] += items[index].tensor_storage_size() or 1
        kept[chosen].append(items[index])
    return [dataclasses.replace(plan, items=mine) for plan, mine in zip(plans, kept, strict=True)]


class DefaultSavePlanner(SavePlanner):
    """Writes parts of DTensors where they are, and everything else once
    (``torch.distributed.checkpoint.DefaultSavePlanner``).
    """

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
                 dedup_replicated_tensors: bool | None = None, dedup_save_to_lowest_rank: bool = False,
                 enable_plan_caching: bool = False):
        self.flatten_state_dict, self.dedup_save_to_lowest_rank = flatten_state_dict, dedup_save_to_lowest_rank
        self.mappings: dict[str, Path] = {}

    def set_up_planner(self, state_dict: dict[str, Any], storage_meta: StorageMeta | None = None,
                       is_coordinator: bool = False) -> None:
        """Take what is to be saved."""
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self) -> SavePlan:
        """Return all that this process has."""
        items = [write_item(name, value) for name, value in self.state_dict.items()]
        self.plan = SavePlan([item for item in items if item is not None],
                             planner_data=self.mappings if self.flatten_state_dict else None)
        return self.plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """Return plans in which everything is written once."""
        self.global_plan = dedup_save_plans(all_plans, self.dedup_save_to_lowest_rank)
        found: dict[str, Any] = {}
        for plan in self.global_plan:
            for item in plan.items:
                if item.tensor_data is None:
                    found[item.index.fqn] = BytesStorageMetadata()
                    continue
                data = item.tensor_data
                whole = found.setdefault(item.index.fqn, TensorStorageMetadata(data.properties, data.size, []))
                if whole.size != data.size:
                    raise ValueError(f"Failed to validate global plan: {item.index.fqn} has the size {whole.size} in "
                                     f"one process and {data.size} in another")
                whole.chunks.append(data.chunk)
        mappings = {name: path for plan in self.global_plan for name, path in (plan.planner_data or {}).items()}
        self.metadata = Metadata(found, planner_data=mappings if self.flatten_state_dict else None)
        return self.global_plan, self.metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """Take the coordinator's plan."""
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """Return this process's part of a tensor, or the bytes of another object."""
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index: MetadataIndex) -> Any:
        """Return what is saved under a key."""
        return local_part(self.state_dict[index.fqn])

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """Return a tensor as it is, and another object as bytes."""
        if write_item.type is WriteItemType.BYTE_IO:
            out = io.BytesIO()
            save(object, out)
            return out
        return object


def local_part(value: Any) -> Any:
    """Return this process's part of a DTensor; everything else as it is."""
    return value._local_tensor if isinstance(value, DTensor) else value


class DefaultLoadPlanner(LoadPlanner):
    """Reads the elements that this process's tensors have (``torch.distributed.checkpoint.DefaultLoadPlanner``).

    Args:
        allow_partial_load: leave what the checkpoint does not have as it is, which is else an error.
    """

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
                 allow_partial_load: bool = False):
        self.flatten_state_dict, self.allow_partial_load = flatten_state_dict, allow_partial_load
        self.mappings: dict[str, Path] = {}

    def set_up_planner(self, state_dict: dict[str, Any], metadata: Metadata | None = None,
                       is_coordinator: bool = False) -> None:
        """Take what is to be loaded into."""
        self.original_state_dict = self.state_dict = state_dict
        if self.flatten_state_dict:
            self.state_dict, self.mappings = flatten_state_dict(state_dict)
        self.metadata, self.is_coordinator = metadata, is_coordinator

    def create_local_plan(self) -> LoadPlan:
        """Return the boxes in which stored parts and this process's parts meet.

        Raises:
            RuntimeError: if the checkpoint lacks a key.
            ValueError: if a tensor has another size.
        """
        assert self.metadata is not None
        items = []
        for name, value in self.state_dict.items():
            stored = self.metadata.state_dict_metadata.get(name)
            if stored is None:
                if self.allow_partial_load:
                    continue
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
            if isinstance(stored, BytesStorageMetadata):
                items.append(ReadItem(LoadItemType.BYTE_IO, MetadataIndex(name), Size([0]), MetadataIndex(name),
                                      Size([0]), Size([0])))
            elif not isinstance(value, Tensor):
                raise ValueError(f"{name} is a tensor in the checkpoint, and {type(value).__name__} here")
            elif stored.size != value.shape:
                raise ValueError(f"Size mismatch between saved {stored.size} and current: {value.shape} for {name}")
            elif not isinstance(value, DTensor) or value.device_mesh.get_coordinate() is not None:
                items += boxes(name, stored.chunks, chunk_of(value))
        return LoadPlan(items)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """Return the plans."""
        return global_plan

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """Return the plan."""
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Put an object that is no tensor in its place. It is loaded with ``weights_only``: a planner of one's own may
        load what that refuses.
        """
        found = load(value, weights_only=True)
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[read_item.dest_index.fqn], found)
        else:
            self.state_dict[read_item.dest_index.fqn] = found

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """Return the box of this process's part."""
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """Do nothing: the tensor has its elements."""

    def lookup_tensor(self, index: MetadataIndex) -> Tensor:
        """Return this process's part of a tensor."""
        return local_part(self.state_dict[index.fqn])

    def transform_tensor(self, read_item: ReadItem, tensor: Tensor) -> Tensor:
        """Return the box of a part."""
        return box_of(tensor, read_item.dest_offsets, read_item.lengths)


def box_of(tensor: Tensor, offsets: Sequence[int], lengths: Sequence[int]) -> Tensor:
    """Return a box of a tensor's elements."""
    out = tensor.detach()
    for dim, (start, length) in enumerate(zip(offsets, lengths, strict=True)):
        if length != out.shape[dim]:
            out = out.narrow(dim, start, length)
    return out


def _minus(one: Sequence[int], other: Sequence[int]) -> Size:
    return Size([a - b for a, b in zip(one, other, strict=True)])


def boxes(name: str, stored: Sequence[ChunkStorageMetadata], here: ChunkStorageMetadata) -> list[ReadItem]:
    """Return the boxes in which stored parts meet a part of this process."""
    found = []
    for index, chunk in enumerate(stored):
        low = [max(a, b) for a, b in zip(chunk.offsets, here.offsets, strict=True)]
        high = [min(a + n, b + m) for a, n, b, m in zip(chunk.offsets, chunk.sizes, here.offsets, here.sizes,
                                                        strict=True)]
        if all(a < b for a, b in zip(low, high, strict=True)):
            found.append(ReadItem(
                LoadItemType.TENSOR, MetadataIndex(name, here.offsets), _minus(low, here.offsets),
                MetadataIndex(name, chunk.offsets, index), _minus(low, chunk.offsets), _minus(high, low)))
    return found
