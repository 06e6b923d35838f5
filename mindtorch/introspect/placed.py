"""Where the parts of a DTensor are: which rank of a mesh holds which part of the whole. No rank is asked for it."""
from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

DISTRIBUTED = f"{__package__.rpartition('.')[0]}.distributed"


class Part(NamedTuple):
    """The part of a rank: its ``place`` in the mesh, the shape of its part, and where that begins in the whole."""

    rank: int
    place: tuple[int, ...]
    shape: tuple[int, ...]
    offset: tuple[int, ...]


@dataclass(frozen=True)
class MeshFacts:
    """A mesh: the names of its dimensions, its ranks in their array, and this process's place (None: outside)."""

    device: str
    names: tuple[str, ...]
    ranks: np.ndarray
    here: tuple[int, ...] | None


@dataclass(frozen=True)
class PlacedFacts:
    """A DTensor: the shape of the whole, a placement for each dimension of the mesh, and the parts in rank order.

    ``divided`` are the dimensions of the tensor that the mesh divides, each with the dimensions of the mesh that
    divide it, in the order in which they do. ``op`` is by what the parts must still be reduced, '' if they are not.
    """

    mesh: MeshFacts
    shape: tuple[int, ...]
    placements: tuple[Any, ...]
    parts: tuple[Part, ...]
    divided: dict[int, tuple[int, ...]]
    op: str


def is_dtensor(value: Any) -> bool:
    """Return True if a value is a DTensor, without loading what makes them."""
    return isinstance(value, getattr(sys.modules.get(f"{DISTRIBUTED}.tensor._api"), "DTensor", ()))


def part_of(tensor: Any) -> Any:
    """Return the tensor whose memory a tensor has: of a DTensor, this rank's part; else itself."""
    return tensor._local_tensor if is_dtensor(tensor) else tensor


def is_mesh(value: Any) -> bool:
    """Return True if a value is a DeviceMesh, without loading what makes them."""
    return isinstance(value, getattr(sys.modules.get(f"{DISTRIBUTED}.device_mesh"), "DeviceMesh", ()))


def mesh_facts(mesh: Any) -> MeshFacts:
    """Describe a mesh."""
    names = mesh.mesh_dim_names or tuple(f"dim {i}" for i in range(mesh.ndim))
    return MeshFacts(mesh.device_type, tuple(names), mesh._ranks, mesh.get_coordinate())


def placement_text(tensor: Any) -> str:
    """Return a DTensor's placements in short, ``S(0) on dp, R on tp``; '' for other tensors."""
    if not is_dtensor(tensor):
        return ""
    names = tensor.device_mesh.mesh_dim_names
    places = tuple(map(str, tensor.placements))
    return ", ".join(places if names is None else map("{} on {}".format, places, names))


def placed_facts(tensor: Any) -> PlacedFacts:
    """Describe where the parts of a DTensor are."""
    from ..distributed.tensor._dtensor_spec import local_shape_and_offset, shard_order

    mesh, shape, placements = tensor.device_mesh, tuple(tensor.shape), tuple(tensor.placements)
    parts = [Part(int(mesh._ranks[place]), place, *local_shape_and_offset(shape, mesh, placements, place))
             for place in np.ndindex(*mesh.shape)]
    dims = sorted({placement.dim for placement in placements if placement.is_shard()})
    return PlacedFacts(mesh_facts(mesh), shape, placements, tuple(parts),
                       {dim: tuple(shard_order(placements, dim)) for dim in dims},
                       next((placement.reduce_op for placement in placements if placement.is_partial()), ""))
