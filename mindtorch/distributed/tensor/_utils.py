"""``torch.distributed.tensor._utils``: the part of a tensor that a process holds."""
from __future__ import annotations

from collections.abc import Sequence

from ..device_mesh import DeviceMesh
from ._dtensor_spec import local_shape_and_offset
from .placement_types import Placement


def compute_local_shape_and_global_offset(
        global_shape: Sequence[int], mesh: DeviceMesh,
        placements: Sequence[Placement]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape of this process's part, and the place of its first element in the whole
    (``torch.distributed.tensor._utils.compute_local_shape_and_global_offset``).
    """
    return local_shape_and_offset(global_shape, mesh, placements)
