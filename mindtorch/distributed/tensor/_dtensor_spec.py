"""Specifications of DTensors: the whole tensor's shape, the mesh, and a placement for each dimension of the mesh."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..._base.size import Size
from ..._dtype import DType
from ..device_mesh import DeviceMesh
from .placement_types import Placement, Shard, _StridedShard, local_size_and_offset


class TensorMeta(NamedTuple):
    """The shape, strides and dtype of a whole tensor."""

    shape: Size
    stride: tuple[int, ...]
    dtype: DType


@dataclass(frozen=True)
class DTensorSpec:
    """Where the parts of a tensor are."""

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    tensor_meta: TensorMeta = field(compare=True)

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh."""
        return self.mesh

    @property
    def shape(self) -> Size:
        """The shape of the whole tensor."""
        return self.tensor_meta.shape

    @property
    def ndim(self) -> int:
        """The number of the tensor's dimensions."""
        return len(self.tensor_meta.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of the whole tensor."""
        return math.prod(self.shape) * self.tensor_meta.dtype.itemsize

    def __str__(self) -> str:
        return f"Spec({''.join(map(str, self.placements))} on {tuple(self.shape)})"

    def is_replicated(self) -> bool:
        """Return True if every process has all of it."""
        return all(placement.is_replicate() for placement in self.placements)

    def is_sharded(self) -> bool:
        """Return True if some dimension of the mesh divides it."""
        return any(placement.is_shard() for placement in self.placements)

    def with_placements(self, placements: Sequence[Placement]) -> DTensorSpec:
        """Return the same tensor with other placements."""
        return DTensorSpec(self.mesh, tuple(placements), self.tensor_meta)

    def parts(self, dim: int) -> int:
        """Return the number of parts in which a dimension is divided."""
        return math.prod(self.mesh.size(i) for i, placement in enumerate(self.placements) if placement.is_shard(dim))

    def local_shape(self) -> tuple[int, ...]:
        """Return the shape of this process's part."""
        return local_shape_and_offset(self.shape, self.mesh, self.placements)[0]


def shard_order(placements: Sequence[Placement], dim: int) -> list[int]:
    """Return the dimensions of the mesh that divide a tensor's dimension, in the order in which they do."""
    mine = [i for i, placement in enumerate(placements) if placement.is_shard(dim)]
    return [*(i for i in mine if not isinstance(placements[i], _StridedShard)),
            *(i for i in mine if isinstance(placements[i], _StridedShard))]


def local_shape_and_offset(shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement],
                           coordinate: Sequence[int] | None = None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape of a part, and where it begins in the whole: this process's, or that of another coordinate."""
    place = mesh.get_coordinate() if coordinate is None else coordinate
    if place is None:
        return (0,), ()
    sizes, offsets = list(shape), [0] * len(shape)
    for dim in {placement.dim for placement in placements if isinstance(placement, Shard)}:
        for i in shard_order(placements, dim):
            sizes[dim], start = local_size_and_offset(sizes[dim], mesh.size(i), place[i])
            offsets[dim] += start
    return tuple(sizes), tuple(offsets)


def local_strides(spec: DTensorSpec, shape: Sequence[int]) -> tuple[int, ...]:
    """Return strides of a part in the order of the whole's strides."""
    order = sorted(range(spec.ndim), key=lambda dim: (spec.tensor_meta.stride[dim], -dim))
    strides, step = [0] * spec.ndim, 1
    for dim in order:
        strides[dim], step = step, step * max(shape[dim], 1)
    return tuple(strides)
