"""``torch.distributed._tensor``: the old name of ``torch.distributed.tensor``."""
from ..device_mesh import DeviceMesh as DeviceMesh, init_device_mesh as init_device_mesh
from ..tensor import *  # noqa: F403
from ..tensor import __all__ as __all__
