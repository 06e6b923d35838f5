"""``torch.distributed.tensor``: tensors that lie on several processes.

``Shard``, ``Replicate`` and ``Partial`` say how, for each dimension of a mesh. ``_ops`` has a rule for each family of
operators; ``_redistribute`` communicates.
"""
from ..device_mesh import DeviceMesh as DeviceMesh, init_device_mesh as init_device_mesh
from ._api import DTensor, distribute_module, distribute_tensor, empty, full, ones, rand, randn, zeros
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor", "empty",
           "full", "ones", "rand", "randn", "zeros"]
