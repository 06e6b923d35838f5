"""``torch.distributed.tensor._collective_utils``: collectives along a dimension of a mesh, and tensors of one size."""
from __future__ import annotations

from ..._tensor import Tensor
from .._collectives.engine import Work
from .._collectives.groups import get_rank
from .._collectives.operations import broadcast, scatter
from ..device_mesh import DeviceMesh
from .placement_types import padded

__all__ = ["mesh_broadcast", "mesh_scatter", "pad_tensor", "unpad_tensor"]


def mesh_scatter(output: Tensor, scatter_list: list[Tensor], mesh: DeviceMesh, mesh_dim: int = 0,
                 async_op: bool = False, *, group_src: int = 0) -> Work | None:
    """Give each process along a dimension of the mesh one of the tensors of the first (or ``group_src``), in place."""
    group = mesh.get_group(mesh_dim)
    given = scatter_list if get_rank(group) == group_src else None
    return scatter(output, given, group=group, async_op=async_op, group_src=group_src)


def mesh_broadcast(tensor: Tensor, mesh: DeviceMesh, mesh_dim: int = 0, async_op: bool = False, *,
                   group_src: int = 0) -> Work | None:
    """Give all processes along a dimension of the mesh the tensor of the first (or ``group_src``), in place."""
    return broadcast(tensor, group=mesh.get_group(mesh_dim), async_op=async_op, group_src=group_src)


def pad_tensor(tensor: Tensor, pad_dim: int, pad_size: int) -> Tensor:
    """Return a tensor with so many rows of zeros behind it."""
    return padded(tensor, pad_dim, tensor.shape[pad_dim] + pad_size)


def unpad_tensor(tensor: Tensor, pad_dim: int, pad_size: int) -> Tensor:
    """Return a view of a tensor without its last rows."""
    return tensor.narrow(pad_dim, 0, tensor.shape[pad_dim] - pad_size) if pad_size else tensor
