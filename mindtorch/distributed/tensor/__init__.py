"""``torch.distributed.tensor``: tensors that lie on several processes.

``Shard``, ``Replicate`` and ``Partial`` say how, for each dimension of a mesh. ``_ops`` has a rule for each family of
operators; ``_redistribute`` communicates.
"""
from ...serialization import add_safe_globals
from .. import device_mesh
from ..device_mesh import DeviceMesh as DeviceMesh, init_device_mesh as init_device_mesh
from . import _api
from ._api import DTensor, distribute_module, distribute_tensor, empty, full, ones, rand, randn, zeros
from ._dtensor_spec import DTensorSpec, TensorMeta
from .placement_types import Partial, Placement, Replicate, Shard, _NormPartial, _StridedShard

__all__ = ["DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor", "empty",
           "full", "ones", "rand", "randn", "zeros"]

add_safe_globals([  # a DTensor in a file is a tensor, and where its parts are
    _api._rebuilt, device_mesh._rebuilt, DTensorSpec, TensorMeta, Partial, Replicate, Shard, _NormPartial,
    _StridedShard])
