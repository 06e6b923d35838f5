"""``torch.distributed._tensor._utils``: the old name of ``torch.distributed.tensor._utils``."""
from ..tensor._utils import compute_local_shape_and_global_offset as compute_local_shape_and_global_offset
