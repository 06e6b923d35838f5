"""``torch.distributed._tensor.api``: the old name of the module that makes DTensors."""
from ..tensor._api import (
    DTensor as DTensor, distribute_module as distribute_module, distribute_tensor as distribute_tensor,
)
