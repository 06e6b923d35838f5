"""``torch.distributed.checkpoint.planner_helpers``: what a value's parts are, and where stored parts meet them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._base.size import Size
from ..._tensor import Tensor
from ..tensor._api import DTensor
from ..tensor._dtensor_spec import local_shape_and_offset
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, MetadataIndex, TensorProperties, TensorStorageMetadata
from .planner import LoadItemType, ReadItem, TensorWriteData, WriteItem, WriteItemType

__all__ = ["create_read_items_for_chunk_list"]


def _create_chunk_list(tensor: Tensor) -> list[ChunkStorageMetadata]:
    """Return the parts of a tensor that this process has: one, or none outside of the mesh."""
    if not isinstance(tensor, DTensor):
        return [ChunkStorageMetadata(Size([0] * tensor.dim()), Size(tensor.shape))]
    if tensor.device_mesh.get_coordinate() is None:
        return []
    sizes, offsets = local_shape_and_offset(tensor.shape, tensor.device_mesh, tensor.placements)
    return [ChunkStorageMetadata(Size(offsets), Size(sizes))]


def _create_write_item_for_tensor(fqn: str, tensor: Tensor) -> WriteItem:
    """Return the items to write for this process's part of a tensor."""
    chunk, = _create_chunk_list(tensor)
    kind = WriteItemType.SHARD if isinstance(tensor, DTensor) else WriteItemType.TENSOR
    return WriteItem(MetadataIndex(fqn, chunk.offsets), kind, tensor_data=TensorWriteData(
        chunk, TensorProperties.create_from_tensor(tensor), Size(tensor.shape)))


def _create_write_items(fqn: str, object: Any) -> list[WriteItem]:
    """Return the items to write of a value; none if this process has no part of it."""
    if not isinstance(object, Tensor):
        return [WriteItem(MetadataIndex(fqn), WriteItemType.BYTE_IO)]
    if isinstance(object, DTensor) and any(placement.is_partial() for placement in object.placements):
        raise ValueError("Any checkpointing related operations are not supported for DTensor with partial "
                         f"placements! {fqn} has {object.placements}")
    return [_create_write_item_for_tensor(fqn, object) for chunk in _create_chunk_list(object)
            if 0 not in chunk.sizes or 0 in object.shape]


def _minus(one: Sequence[int], other: Sequence[int]) -> Size:
    return Size([a - b for a, b in zip(one, other, strict=True)])


def create_read_items_for_chunk_list(fqn: str, checkpoint_md: TensorStorageMetadata,
                                     local_chunks: list[ChunkStorageMetadata]) -> list[ReadItem]:
    """Return the boxes in which stored parts meet parts of this process
    (``torch.distributed.checkpoint.planner_helpers.create_read_items_for_chunk_list``).
    """
    found = []
    for place, here in enumerate(local_chunks):
        for index, chunk in enumerate(checkpoint_md.chunks):
            low = [max(a, b) for a, b in zip(chunk.offsets, here.offsets, strict=True)]
            high = [min(a + n, b + m) for a, n, b, m in zip(chunk.offsets, chunk.sizes, here.offsets, here.sizes,
                                                            strict=True)]
            if all(a < b for a, b in zip(low, high, strict=True)):
                found.append(ReadItem(
                    LoadItemType.TENSOR, MetadataIndex(fqn, here.offsets, place), _minus(low, here.offsets),
                    MetadataIndex(fqn, chunk.offsets, index), _minus(low, chunk.offsets), _minus(high, low)))
    return found


def _create_read_items(fqn: str, md: TensorStorageMetadata | BytesStorageMetadata, obj: Any) -> list[ReadItem]:
    """Return the items to read for a value."""
    if isinstance(md, BytesStorageMetadata):
        return [ReadItem(LoadItemType.BYTE_IO, MetadataIndex(fqn), Size([0]), MetadataIndex(fqn), Size([0]),
                         Size([0]))]
    if not isinstance(obj, Tensor):
        raise ValueError(f"{fqn} is a tensor in the checkpoint, and {type(obj).__name__} here")
    return create_read_items_for_chunk_list(fqn, md, _create_chunk_list(obj))
