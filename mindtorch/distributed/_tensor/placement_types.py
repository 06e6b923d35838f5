"""``torch.distributed._tensor.placement_types``: the old name of ``torch.distributed.tensor.placement_types``."""
from ..tensor._dtensor_spec import DTensorSpec as DTensorSpec, TensorMeta as TensorMeta
from ..tensor.placement_types import Partial, Placement, Replicate, Shard

_Partial = Partial
__all__ = ["Partial", "Placement", "Replicate", "Shard"]
