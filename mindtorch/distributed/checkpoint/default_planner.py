"""``torch.distributed.checkpoint.default_planner``: parts of DTensors where they are, everything else once."""
from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from ..._tensor import Tensor
from ...serialization import load, save
from ._dedup_save_plans import dedup_save_plans
from ._nested_dict import flatten_state_dict
from ._traverse import Path, set_element
from .metadata import BytesStorageMetadata, Metadata, MetadataIndex, StorageMeta, TensorStorageMetadata
from .planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem, WriteItemType
from .planner_helpers import _create_read_items, _create_write_items
from .utils import find_state_dict_object

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]


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
        items = [item for name, value in self.state_dict.items() for item in _create_write_items(name, value)]
        self.plan = SavePlan(items, planner_data=self.mappings if self.flatten_state_dict else None)
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
        """Return the value that is saved under a key."""
        return find_state_dict_object(self.state_dict, index)

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """Return a tensor as it is, and another object as bytes."""
        if write_item.type is WriteItemType.BYTE_IO:
            out = io.BytesIO()
            save(object, out)
            return out
        return object


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
        items: list[ReadItem] = []
        for name, value in self.state_dict.items():
            stored = self.metadata.state_dict_metadata.get(name)
            if stored is None:
                if self.allow_partial_load:
                    continue
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
            if isinstance(stored, TensorStorageMetadata) and isinstance(value, Tensor) and stored.size != value.shape:
                raise ValueError(f"Size mismatch between saved {stored.size} and current: {value.shape} for {name}")
            items += _create_read_items(name, stored, value)
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
        return find_state_dict_object(self.state_dict, index)

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
